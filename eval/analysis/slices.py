"""Slice scores (equation 6): the scores of every category of every factor in phi(S)."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from eval.analysis.frame import Source, factor_names, unit_scores, with_levels
from eval.analysis.intervals import ROUNDS, summarise


def slices(
    source: Source, *, factor: str | Sequence[str] | None = None, rounds: int = ROUNDS, seed: int = 0
) -> pd.DataFrame:
    """Mean scores of the scenarios that have a category; one with several categories counts in each.

    Args:
        source: A run or its rows.
        factor: One or several factors; every one that takes two values or more when None.

    Returns:
        `factor`, `level`, `family`, `split`, `method`, `control`, `f1`, `shd` (each with `_low`, `_high`),
        `precision`, `recall`, `n`, `missing`.

    Raises:
        RunError: If no scenario has the factor.
    """
    units = unit_scores(source)
    names = [factor] if isinstance(factor, str) else list(factor or factor_names(units))
    parts = []
    for name in names:
        table: Any = with_levels(units, name)
        if factor is None and table["level"].nunique() < 2:
            continue
        by = ["factor", "level", "family", "split"]
        lines = summarise(table, by, means=("precision", "recall"), rounds=rounds, seed=seed)
        parts.append(lines.assign(level=lines["level"].astype(str)))
    columns = [*("factor", "level", "family", "split", "method", "control", "f1", "f1_low", "f1_high")]
    columns += ["shd", "shd_low", "shd_high", "precision", "recall", "n", "missing"]
    return pd.concat(parts, ignore_index=True).loc[:, columns] if parts else pd.DataFrame(columns=columns)
