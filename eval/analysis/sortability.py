"""Scores against what the order of variances, or of R2, gives away (Reisach et al. 2021, 2023)."""

from typing import Any

import numpy as np
import pandas as pd

from arena.errors import RunError
from eval.analysis.frame import Source, as_rows, unit_scores
from eval.analysis.intervals import ROUNDS, summarise

#: Which sortability -> column of the rows.
WHICH = {"var": "var_sortability", "r2": "r2_sortability"}
EDGES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def sortability(source: Source, *, which: str | None = None, rounds: int = ROUNDS, seed: int = 0) -> pd.DataFrame:
    """F1 by how sortable the tables of a scenario are: 0.5 is no information, 1 an order that is causal.

    Args:
        source: A run or its rows, with the columns `var_sortability` and `r2_sortability`.
        which: `var`, `r2`, or both when None.

    Returns:
        `which`, `bin` (0 to 4), `low`, `high` (its ends; the last bin holds 1), `family`, `split`, `method`, `control`,
        `f1` with `_low` and `_high`, `n` (scenarios with a score), `correlation` (Spearman's, of F1 and
        sortability over all scenarios of the method in the family and split; nan below three scenarios or without
        variation).

    Raises:
        RunError: If the rows have no sortability, or `which` is unknown.
    """
    rows: Any = as_rows(source)
    if which is not None and which not in WHICH:
        raise RunError(f"unknown sortability '{which}'; it is {' or '.join(WHICH)}")
    if not any(column in rows.columns and rows[column].notna().any() for column in WHICH.values()):
        raise RunError("the rows say nothing of sortability; run again, so that it is recorded")
    units: Any = unit_scores(rows).drop(columns="factors")
    parts, cell = [], ["family", "split", "method"]
    for name in [which] if which else list(WHICH):
        # A property of the table: also rows without a score know it.
        tables = rows.dropna(subset=[WHICH[name]]).drop_duplicates(["scenario", "split", "replicate"])
        known = tables.groupby(["scenario", "split"])[WHICH[name]].mean().rename("sorted")
        table = units.join(known, on=["scenario", "split"]).dropna(subset=["sorted", "f1"])
        related = {key: _spearman(part["sorted"], part["f1"]) for key, part in table.groupby(cell)}
        place = np.clip(np.searchsorted(EDGES, table["sorted"], side="right") - 1, 0, len(EDGES) - 2)
        by = ["bin", "family", "split"]
        lines: Any = summarise(table.assign(bin=place), by, ["f1"], rounds=rounds, seed=seed)
        lines["which"], lines["low"] = name, np.asarray(EDGES)[lines["bin"]]
        lines["high"] = np.asarray(EDGES)[lines["bin"] + 1]
        lines["correlation"] = [related[key] for key in lines[cell].itertuples(index=False, name=None)]
        parts.append(lines)
    columns = ["which", "bin", "low", "high", *cell, "control", "f1", "f1_low", "f1_high", "n", "correlation"]
    return pd.concat(parts, ignore_index=True).loc[:, columns]


def _spearman(x: Any, y: Any) -> float:
    if len(x) < 3 or x.nunique() < 2 or y.nunique() < 2:
        return np.nan
    return float(x.rank().corr(y.rank()))
