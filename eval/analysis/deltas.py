"""What changed between two runs: the leaderboard of one against that of another, on the scenarios that both have."""

from typing import Any

import pandas as pd

from arena.errors import RunError
from eval.analysis.frame import Source, as_rows, competitors, unit_scores
from methods.base import Status

TABLE = ["scenario", "split", "replicate"]
COLUMNS = ["family", "split", "method", "f1_before", "f1_after", "delta", "rank_before", "rank_after", "units"]


def deltas(source: Source, *, other: Source) -> pd.DataFrame:
    """From one run to another: means and ranks over the tables that both runs have.

    A table is the same if scenario, split, replicate and content hash are (the hash where both runs have one). Methods
    are matched by their label; one that only one run has, and floors, are left out. A table counts for a method where
    both runs have a score of it.

    Args:
        source: The run before.
        other: The run after.

    Returns:
        `family`, `split`, `method`, `f1_before`, `f1_after`, `delta` (after - before), `rank_before`, `rank_after` (by
        F1, among these lines of the family and split, 1 is best), `units` (scenarios).

    Raises:
        RunError: If the runs have no table, or no scored method on one, in common.
    """
    before, after = as_rows(source), as_rows(other)
    key = TABLE + (["data_hash"] if {"data_hash"} <= set(before.columns) & set(after.columns) else [])
    both: Any = pd.merge(before[key].drop_duplicates(), after[key].drop_duplicates(), on=key)
    if not len(both):
        raise RunError("the two runs have no table in common: same scenario, split, replicate and content")
    cell = ["family", "split", "method", "scenario"]
    # Replicates that only one of the runs has a score of would be other tables.
    scored = [_scored(pd.merge(rows, both, on=key)) for rows in (before, after)]
    fits: Any = pd.merge(scored[0][[*TABLE, "method"]], scored[1][[*TABLE, "method"]])
    if not len(fits):
        raise RunError("the two runs have no method with a score on the same table in common")
    one, two = (competitors(unit_scores(pd.merge(rows, fits)))[[*cell, "f1"]] for rows in scored)
    pairs: Any = pd.merge(one, two, on=cell, suffixes=("_before", "_after")).dropna()
    if not len(pairs):
        raise RunError("the two runs have no method with a score on the same table in common")
    grouped = pairs.groupby(["family", "split", "method"])
    lines = grouped[["f1_before", "f1_after"]].mean().join(grouped.size().rename("units")).reset_index()
    lines["delta"] = lines["f1_after"] - lines["f1_before"]
    for when in ("before", "after"):
        ranks = lines.groupby(["family", "split"])[f"f1_{when}"].rank(ascending=False, method="min")
        lines[f"rank_{when}"] = ranks.astype(int)
    return lines.sort_values(["family", "split", "rank_after", "method"], ignore_index=True).loc[:, COLUMNS]


def _scored(rows: Any) -> pd.DataFrame:
    return rows[rows["status"] == Status.completed] if "status" in rows.columns else rows.dropna(subset=["f1"])
