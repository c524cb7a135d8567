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
TALLIES = ("n", "missing", "sid_missing")
ALL, AVERAGE = "all", "avg"


def leaderboard(rows: "pd.DataFrame", by: Sequence[str] = ("family",)) -> "pd.DataFrame":
    """Mean scores per group, split and method.

    Args:
        rows: As `Run.rows()` gives them.
        by: What groups are cut by: columns of `rows` or factors of the scenarios.

    Returns:
        Columns: those of `by`, `split`, `method`; `n` (scenarios with a completed replicate), `missing`
        (replicates not completed), `sid_missing` (completed, but cyclic); `f1`, `f1_sd`, `precision`,
        `recall`, `shd`, `shd_sd`, `nshd`, `reachability_distance`, `sid`, `auroc`, `ap`, `cpdag_shd`,
        `seconds` (of a fit, loading apart). Within a group the best F1 comes first. The groups `all` are
        plain means of the available groups above them, spreads included (Table 2, Avg): one per split, and
        one over all cells as split `avg`.

    Raises:
        RunError: If an entry of `by` is neither a column nor a factor.
    """
    import pandas as pd

    by, cell = list(by), [*by, "split", "method"]
    table: Any = _with_factors(rows, by)  # pandas' own types know too little of its group-by results
    done = table[table["status"] == Status.completed]
    scenarios = done.groupby([*cell, "scenario"])[list(MEANS.values())].mean().groupby(cell)
    means = scenarios.mean().rename(columns={column: name for name, column in MEANS.items()})
    spreads = scenarios[list(SPREADS.values())].std(ddof=1)
    tallies = pd.DataFrame(
        {
            "n": scenarios.size(),
            "missing": (table["status"] != Status.completed).groupby([table[name] for name in cell]).sum(),
            "sid_missing": done["sid"].isna().groupby([done[name] for name in cell]).sum(),
        }
    )
    tallies = tallies.fillna(0).astype(int)
    groups = tallies.join(means).join(spreads.rename(columns={"f1": "f1_sd", "shd": "shd_sd"})).reset_index()

    overall = groups.assign(**dict.fromkeys(by, ALL))
    parts = [groups, _plain_means(overall, cell), _plain_means(overall.assign(split=AVERAGE), cell)]
    board = pd.concat([_ordered(part, by) for part in parts], ignore_index=True)
    return board.loc[:, [*cell, *TALLIES, *VALUES]]


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

    Columns: `family`, `scenario`, `split`, `method`, `d`, `edges`, `completed`, `missing`, the mean `tp`,
    `fp`, `fn`, `reversed`, `f1`, `shd`, `reachability_distance` over completed replicates, and `status` (all
    that occurred).
    """
    keys = ["family", "scenario", "split", "method"]
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
    return grouped[list(TALLIES)].sum().join(grouped[list(VALUES)].mean()).reset_index()


def _ordered(board: "pd.DataFrame", by: list[str]) -> "pd.DataFrame":
    order = [*by, "split", "f1", "method"]
    return board.sort_values(order, ascending=[name != "f1" for name in order], na_position="last")


def _with_factors(rows: "pd.DataFrame", by: list[str]) -> "pd.DataFrame":
    wanted = [name for name in by if name not in rows.columns]
    if not wanted:
        return rows
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
