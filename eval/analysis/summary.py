"""Complete metrics (Tables 7 and 14 to 16) and the plain mean over family-split cells (Table 2, Avg)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from eval.analysis.frame import METRICS, Source, unit_scores
from eval.analysis.intervals import ROUNDS, bootstrap_means

CELL = ["family", "split", "method"]


def summary(source: Source, *, rounds: int = ROUNDS, seed: int = 0) -> pd.DataFrame:
    """Mean and spread of every metric over the scenarios of a family and split.

    Returns:
        `family`, `split`, `method`, `control`, `metric`, `mean`, `sd` (sample standard deviation, ddof = 1), `low`,
        `high` (bootstrap interval of the mean), `n` (scenarios that have the metric; one without it is left out, as
        Sachs is of the nSHD in Table 16), `missing` (replicates not completed).
    """
    units: Any = unit_scores(source)
    parts = []
    for (family, split), part in units.groupby(["family", "split"]):
        about = part.groupby("method").agg({"control": "max", "missing": "sum"})
        for metric in METRICS:
            wide = part.pivot(index="scenario", columns="method", values=metric)
            if metric != "f1" and not wide.notna().to_numpy().any():  # a metric that nobody has; of F1 all is told
                continue
            low, high = bootstrap_means(wide.to_numpy(), rounds, seed)
            lines = pd.DataFrame({"mean": wide.mean(), "sd": wide.std(ddof=1), "n": wide.notna().sum()})
            lines = lines.assign(family=family, split=split, metric=metric, low=low, high=high).join(about)
            parts.append(lines.reset_index())
    columns = [*CELL, "control", "metric", "mean", "sd", "low", "high", "n", "missing"]
    if not parts:
        return pd.DataFrame(columns=columns)
    return pd.concat(parts, ignore_index=True).loc[:, columns]


def cell_means(cells: pd.DataFrame, values: Sequence[str]) -> pd.DataFrame:
    """Plain means over the family-split cells that a method has, spreads included (Table 2, Avg).

    A method without interventions is averaged over its observational cells only, as in the paper.

    Args:
        cells: `family`, `split`, `method` and the columns of `values`; a cell of nan is no cell.

    Returns:
        `method`, `values`, `cells`.

    Raises:
        ValueError: If a method has a cell twice.
    """
    if cells.duplicated(CELL).any():
        raise ValueError("a method has two lines of the same family and split")
    table: Any = cells.dropna(subset=list(values), how="all")
    means = table.groupby("method", sort=False)[list(values)].mean()
    return means.join(table.groupby("method").size().rename("cells")).reset_index()


def average_f1(units: pd.DataFrame) -> pd.Series:
    """The F1 of Table 2's Avg for each method: scenarios are averaged within a family and split, then those cells."""
    table: Any = units
    cells = table.groupby(CELL)["f1"].mean().reset_index()
    found: Any = cell_means(cells, ["f1"]).set_index("method")["f1"]
    return found.astype(np.float64)
