"""The accuracy-cost frontier (figure 9)."""

from typing import Any

import numpy as np
import pandas as pd

from eval.analysis.frame import Source, unit_scores
from eval.analysis.runtime import runtime, seconds_per_graph
from eval.analysis.summary import average_f1


def frontier(source: Source, *, split: str = "obs") -> pd.DataFrame:
    """Average F1 against seconds a graph, and which methods no other beats on both.

    Args:
        source: A run or its rows.
        split: The split whose times are taken.

    Returns:
        `method`, `control`, `seconds` (as from `seconds_per_graph`), `f1` (mean over the family-split cells of the
        run, as in Table 2, Avg), `pareto` (floors never are), `timing`; fastest first.

    Raises:
        RunError: If no row of the split has a time.
    """
    units: Any = unit_scores(source)
    times: Any = runtime(source, split=split)
    lines: Any = seconds_per_graph(times[times["d"].isna()])
    lines["f1"] = lines["method"].map(average_f1(units))
    lines["control"] = lines["method"].map(units.groupby("method")["control"].max())
    lines = lines.dropna(subset=["seconds", "f1"]).reset_index(drop=True)
    ranked = (lines["control"] == 0).to_numpy()
    best = np.zeros(len(lines), bool)
    best[ranked] = pareto(lines["seconds"].to_numpy(float)[ranked], lines["f1"].to_numpy(float)[ranked])
    return lines.assign(pareto=best).loc[:, ["method", "control", "seconds", "f1", "pareto", "timing"]]


def pareto(cost: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """`[m]` bool: no other point costs no more and gains no less, and is better in one of the two."""
    no_worse = (cost[:, None] <= cost[None, :]) & (gain[:, None] >= gain[None, :])
    better = (cost[:, None] < cost[None, :]) | (gain[:, None] > gain[None, :])
    return np.asarray(~(no_worse & better).any(axis=0))
