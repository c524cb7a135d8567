"""From rows to leaderboards: replicates, then scenarios, then groups, then all groups (paper B.1).

Means are macro means and spreads are sample standard deviations (ddof = 1) over scenarios, as in the paper's
Table 2. A cell without a score stays missing: it is counted, and nothing is put in its place.
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from arena.errors import RunError
from methods.base import Status

if TYPE_CHECKING:
    import pandas as pd

# Leaderboard column -> row column, in the order of printing.
MEANS = {
    "f1": "f1",
    "precision": "precision",
    "recall": "recall",
    "shd": "shd",
    "nshd": "nshd",
    "reachability_distance": "reachability_distance",
    "sid": "sid",
    "auroc": "auroc",
    "ap": "average_precision",
    "cpdag_shd": "cpdag_shd",
    "seconds": "seconds_fit",
}
SPREADS = {"f1_sd": "f1", "shd_sd": "shd"}
VALUES = (
    *("f1", "f1_sd", "precision", "recall", "shd", "shd_sd", "nshd", "reachability_distance", "sid"),
    *("auroc", "ap", "cpdag_shd", "seconds"),
)
TALLIES = ("n", "missing", "reduced", "sid_missing", "auroc_missing")
ALL, AVERAGE = "all", "avg"


def leaderboard(rows: "pd.DataFrame", by: Sequence[str] = ("family",)) -> "pd.DataFrame":
    """Mean scores per group, split and method.

    Args:
        rows: As `Run.rows()` gives them.
        by: What groups are cut by: columns of `rows` or factors of the scenarios.

    Returns:
        Columns: those of `by`, `split`, `method`; `control` (a floor, no competitor); `complete` (a score for every
        table of the group that any method has a row for: only such lines can be compared); `n` (scenarios with a
        completed replicate), `missing` (replicates not completed), `reduced` (completed, but fitted with the method's
        reduced configuration), `sid_missing` (completed, but cyclic),
        `auroc_missing` (completed without an AUROC, of a method that gives edge scores elsewhere); `f1`, `f1_sd`,
        `precision`, `recall`, `shd`, `shd_sd`, `nshd`, `reachability_distance`, `sid`, `auroc`, `ap`, `cpdag_shd`,
        `seconds` (of a fit, loading apart).
        Within a group the floors come last, complete lines come first, then the best F1.

        The groups `all` are plain means of the available groups above them, spreads included (Table 2, Avg): one per
        split, and one over all cells as split `avg`, whose `n` counts a scenario once per split.

    Raises:
        RunError: If an entry of `by` is neither a column nor a factor.
    """
    import pandas as pd

    by = [by] if isinstance(by, str) else list(by)
    cell = [*by, "split", "method"]
    if len(set(cell)) < len(cell):
        raise RunError(f"cannot group by {', '.join(by)}; each once, and every board has lines for split and method")
    table: Any = _with_factors(rows, by)  # pandas' own types know too little of its group-by results
    for name in {"d", "edges"} & set(by):  # of the scenario, though a row without a table does not say them
        table[name] = table.groupby("scenario")[name].transform("max")
    floors = set(table.loc[table["control"] == 1, "method"])
    done = table[table["status"] == Status.completed]
    scenarios = done.groupby([*cell, "scenario"])[list(MEANS.values())].mean().groupby(cell)
    means = scenarios.mean().rename(columns={column: name for name, column in MEANS.items()})
    spreads = scenarios[list(SPREADS.values())].std(ddof=1).rename(columns={"f1": "f1_sd", "shd": "shd_sd"})
    groups = _tallies(table, cell).join(means).join(spreads).reset_index()
    tables = table.drop_duplicates([*cell[:-1], "scenario", "replicate"]).groupby(cell[:-1]).size()
    groups["complete"] = groups["scored"] == groups.join(tables.rename("tables"), on=cell[:-1])["tables"]

    overall = groups.assign(**dict.fromkeys(by, ALL))
    parts = [groups, _plain_means(overall, cell), _plain_means(overall.assign(split=AVERAGE), cell)]
    parts = [part.assign(control=part["method"].isin(floors)) for part in parts]
    board = pd.concat([_ordered(part, by) for part in parts], ignore_index=True)
    return board.loc[:, [*cell, "control", "complete", *TALLIES, *VALUES]]


def _tallies(table: Any, cell: list[str]) -> Any:
    """Per cell `TALLIES` and `scored`, the number of completed rows."""
    done, unranked = table["status"] == Status.completed, table["auroc"].isna()
    scoring = table["method"].isin(set(table.loc[~unranked, "method"]))
    counted = table.assign(
        n=table["scenario"].where(done),
        scored=done,
        missing=~done,
        reduced=done & (table["reduced"] == 1),
        sid_missing=done & table["sid"].isna(),
        auroc_missing=done & unranked & scoring,
    )
    how = {"n": "nunique", **dict.fromkeys(("scored", *TALLIES[1:]), "sum")}
    return counted.groupby(cell).agg(how).astype(int)


def failures(rows: "pd.DataFrame") -> "pd.DataFrame":
    """The cells without a score: `family`, `split`, `method`, `status`, `reason`, `count`, one `example`."""
    lost: Any = rows[rows["status"] != Status.completed]
    keys = ["family", "split", "method", "status", "reason"]
    table = lost.groupby(keys)["scenario"].agg(count="size", example="min").reset_index()
    return table.sort_values(["family", "split", "method", "count"], ascending=[True, True, True, False]).reset_index(
        drop=True
    )


def scenario_means(rows: "pd.DataFrame") -> "pd.DataFrame":
    """One line per scenario, split and method: replicate means of counts and scores, `missing` and the
    statuses.

    Columns: `family`, `scenario`, `split`, `method`, `control`, `d`, `edges`, `completed`, `missing`, the mean `tp`,
    `fp`, `fn`, `reversed`, `f1`, `shd`, `reachability_distance` over completed replicates, and `status` (all
    that occurred).
    """
    keys = ["family", "scenario", "split", "method", "control"]
    measured = ["tp", "fp", "fn", "reversed", "f1", "shd", "reachability_distance"]
    done: Any = rows["status"] == Status.completed
    grouped: Any = rows.assign(completed=done.astype(int), missing=(~done).astype(int)).groupby(keys)
    sizes = grouped[["d", "edges"]].max()
    counts = grouped[["completed", "missing"]].sum()
    status = grouped["status"].agg(lambda found: ", ".join(sorted(set(found)))).rename("status")
    scored: Any = rows[done]
    means = scored.astype(dict.fromkeys(measured, "float64")).groupby(keys)[measured].mean()
    return sizes.join(counts).join(means).join(status).reset_index()


def _plain_means(groups: "pd.DataFrame", cell: list[str]) -> "pd.DataFrame":
    grouped: Any = groups.groupby(cell)
    cells = grouped.size()
    board = grouped[list(TALLIES)].sum().join(grouped[list(VALUES)].mean())
    board["complete"] = grouped["complete"].all() & (cells == cells.groupby(cell[:-1]).transform("max"))
    return board.reset_index()


def _ordered(board: "pd.DataFrame", by: list[str]) -> "pd.DataFrame":
    order = [*by, "split", "control", "complete", "f1", "method"]
    falling = ("complete", "f1")
    return board.sort_values(order, ascending=[name not in falling for name in order], na_position="last")


def _with_factors(rows: "pd.DataFrame", by: list[str]) -> "pd.DataFrame":
    wanted = [name for name in by if name not in rows.columns]
    if not wanted:
        return rows.copy()
    factors = [json.loads(text) for text in rows["factors"]]
    for name in wanted:
        if not any(name in found for found in factors):
            known = sorted({key for found in factors for key in found})
            raise RunError(f"cannot group by '{name}'; scenarios have the factors {', '.join(known) or '(none)'}")
        rows = rows.assign(**{name: [_label(found.get(name)) for found in factors]})
    return rows


def _label(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(sorted({str(part) for part in value}))
    return "none" if value is None else str(value)
