"""How a number of the leaderboard is printed, and which of its cells are best: the same in every format."""

from typing import TYPE_CHECKING, Any

from eval.aggregate import SPREADS, TALLIES, VALUES

if TYPE_CHECKING:
    import pandas as pd

TITLES = {
    "f1": "F1",
    "f1_sd": "F1 SD",
    "precision": "Precision",
    "recall": "Recall",
    "shd": "SHD",
    "shd_sd": "SHD SD",
    "nshd": "nSHD",
    "reachability_distance": "Reach. dist.",
    "sid": "SID",
    "auroc": "AUROC",
    "ap": "AP",
    "cpdag_shd": "CPDAG-SHD",
    "seconds": "Seconds",
    "n": "n",
    "missing": "Missing",
    "reduced": "Reduced",
    "control": "Floor",
    "complete": "Complete",
    "sid_missing": "No SID",
    "auroc_missing": "No AUROC",
    "f1_paper": "F1, paper",
    "shd_paper": "SHD, paper",
}
#: Of values in files and papers; the paper's stand beside ours.
ORDER = (
    *("f1", "f1_sd", "f1_paper", "shd", "shd_sd", "shd_paper", "precision", "recall", "nshd", "reachability_distance"),
    *("sid", "auroc", "ap", "cpdag_shd", "seconds", *TALLIES, "complete", "control"),
)
MISSING = "\N{EN DASH}"
#: Tallies that say nothing where they are zero throughout.
EXCEPTIONS = ("reduced", "sid_missing", "auroc_missing")
#: Columns that the paper's tables have beside ours, where they were asked for.
PUBLISHED = ("f1_paper", "shd_paper")
_ONE_DIGIT = {"shd", "shd_sd", "reachability_distance", "sid", "cpdag_shd", "shd_paper"}
_TWO_DIGITS = {"f1_paper"}
#: Means that not every scored table has a part in, and the tally of those that have none.
PARTIAL = {"sid": "sid_missing", "auroc": "auroc_missing", "ap": "auroc_missing"}
LARGER_IS_BETTER = {"f1", "precision", "recall", "auroc", "ap"}


def show(column: str, value: Any) -> str:
    """A value of the leaderboard as printed everywhere; a missing one (None or nan) as a dash."""
    if value is None or value != value:
        return MISSING
    if column in ("complete", "control"):
        return "yes" if value else "no"
    if column not in VALUES and column not in PUBLISHED:
        return str(value)
    if column == "seconds":
        return f"{value:.3g}"
    return f"{value:.1f}" if column in _ONE_DIGIT else f"{value:.2f}" if column in _TWO_DIGITS else f"{value:.3f}"


def places(board: "pd.DataFrame") -> list[dict[str, int]]:
    """For each line the columns in which it is, as printed, the best (1) or second (2) of its group and split.

    Compared are means over the same tables only: of complete lines, and of SID, AUROC and AP without a gap. Where
    fewer than two are left nothing is best, and of spreads and floors nothing ever is.
    """
    lines, by = records(board), labels(board)[:-1]
    groups: dict[tuple[Any, ...], list[int]] = {}
    for index, line in enumerate(lines):
        if line["complete"] and not line["control"]:
            groups.setdefault(tuple(line[name] for name in by), []).append(index)
    found: list[dict[str, int]] = [{} for _ in lines]
    for members in groups.values():
        for column in set(VALUES) - set(SPREADS):
            known = [i for i in members if lines[i][column] is not None and not has_gap(column, lines[i])]
            if len(known) < 2:
                continue
            known.sort(key=lambda index: lines[index][column], reverse=column in LARGER_IS_BETTER)
            printed = [show(column, lines[index][column]) for index in known]
            order = list(dict.fromkeys(printed))
            for index, text in zip(known, printed, strict=True):
                if order.index(text) < 2:
                    found[index][column] = order.index(text) + 1
    return found


def best_cells(board: "pd.DataFrame") -> list[set[str]]:
    """For each line the columns in which it is the best of its group and split; see `places`."""
    return [{column for column, place in line.items() if place == 1} for line in places(board)]


def has_gap(column: str, line: dict[str, Any]) -> bool:
    """Whether the mean rests on fewer tables than were scored."""
    return column in PARTIAL and line[PARTIAL[column]] > 0


def labels(board: "pd.DataFrame") -> list[str]:
    """The columns that name a line: those it was grouped by, `split` and `method`."""
    names = [str(name) for name in board.columns]
    return names[: names.index("method") + 1]


def values(board: "pd.DataFrame") -> list[str]:
    """The other columns as papers have them: scores, then how much they stand for, then whatever else there is."""
    present, named = [str(name) for name in board.columns], labels(board)
    known = [name for name in ORDER if name in present]
    return known + [name for name in present if name not in known and name not in named]


def says_something(board: "pd.DataFrame", name: str) -> bool:
    """Whether a column has a value anywhere, and if it counts exceptions, one that is not zero."""
    return bool((board[name] != 0).any() if name in EXCEPTIONS else board[name].notna().any())


def records(table: "pd.DataFrame") -> list[dict[str, Any]]:
    """The lines as plain Python values, None where missing."""
    plain = table.astype(object).where(table.notna(), None)
    return [{str(name): _native(value) for name, value in row.items()} for row in plain.to_dict("records")]


def _native(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
