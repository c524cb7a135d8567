"""The leaderboard as a table for the terminal."""

from typing import TYPE_CHECKING, Any

from eval.report.numbers import (
    PUBLISHED,
    TITLES,
    best_cells,
    has_gap,
    labels,
    records,
    says_something,
    show,
)

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Group

# Terminal lines are short: brief titles, and the columns to keep when there is no room for all.
_SHORT = TITLES | {
    "method": "Method",
    "precision": "Prec.",
    "reachability_distance": "Reach.",
    "cpdag_shd": "CPDAG",
    "seconds": "Sec.",
    "missing": "Lost",
    "f1_paper": "Paper",
    "shd_paper": "Paper",
}
_ALWAYS = ("n", "missing")
_BY_IMPORTANCE = (
    *(
        *_ALWAYS,
        "reduced",
        "f1",
        "f1_paper",
        "shd",
        "shd_paper",
        "reachability_distance",
        "seconds",
        "precision",
        "recall",
    ),
    *("sid", "auroc", "ap", "cpdag_shd", "nshd"),
)
_PRINTED = (
    *(
        "n",
        "missing",
        "reduced",
        "f1",
        "f1_paper",
        "precision",
        "recall",
        "shd",
        "shd_paper",
        "nshd",
        "reachability_distance",
    ),
    *("sid", "auroc", "ap", "cpdag_shd", "seconds"),
)
_STAR = "*"
_LEGEND = (
    "n: scenarios with a score, in split avg once per split. Lost: fits without one. Bold: best of the methods that "
    "have a score for every table."
)
_FLOORS = "Floors: what artefacts alone score."
_STARRED = "* over fewer tables than were scored: SID needs an acyclic answer, AUROC and AP need edge scores."
_REDUCED = "Reduced: fits with the method's reduced configuration, for a table where its full one is impractical."
_PUBLISHED = "Paper: what it prints for F1 and SHD (Tables 2 and 13-15), over its own SCMs of all sizes."


def render_table(board: "pd.DataFrame", missing: "pd.DataFrame", width: int = 120) -> "Group":
    """A leaderboard for the terminal, best values bold, and below it what has no score and why.

    Floors come last in their group, under a line that says so.

    A method without any score in a group is a line of dashes there. A mean of SID, AUROC or AP over fewer tables than
    were scored has an asterisk.

    Args:
        board: From `Run.leaderboard()`.
        missing: From `Run.failures()`.
        width: Characters to a line; the least important columns are left out where they do not fit, but never how
            many scenarios and losses a line stands for.
    """
    from rich.box import SIMPLE
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    lines = [(line, best) for line, best in zip(records(board), best_cells(board), strict=True)]
    groups = [" / ".join(str(line[name]) for name in labels(board)[:-1]) for line, _ in lines]
    columns = {"method": [line["method"] for line, _ in lines]}
    room = width - 1 - _width([*columns["method"], *groups])
    for name in (name for name in _BY_IMPORTANCE if name in board.columns and says_something(board, name)):
        cells = [show(name, line[name]) + _spread(name, line) + _mark(name, line) for line, _ in lines]
        needed = _width([_SHORT[name], *cells])
        if name in _ALWAYS or needed <= room:
            columns[name], room = cells, room - needed

    # Text, not str: a name in square brackets is no markup.
    shown = ["method", *(name for name in _PRINTED if name in columns)]
    title = "Leaderboard: means (and SDs) over scenarios; rows 'all': means of the groups above, spreads included"
    table = Table(title=title, title_justify="left", box=SIMPLE)
    for name in shown:
        table.add_column(_SHORT[name], justify="left" if name == "method" else "right", no_wrap=True)
    # A long name gives way to how many scenarios and losses there are.
    table.columns[0].max_width = max(8, width - 4 - sum(_width([_SHORT[name], *columns[name]]) for name in _ALWAYS))
    for index, (_, best) in enumerate(lines):
        same = index > 0 and groups[index] == groups[index - 1]
        if not same:
            table.add_section()
            table.add_row(Text(groups[index], style="italic"))
        if lines[index][0]["control"] and not (same and lines[index - 1][0]["control"]):
            table.add_row(Text("-- floors", style="dim"))
        table.add_row(*(Text(columns[name][index], style="bold" if name in best else "") for name in shown))
    below: list[Any] = [Text(_LEGEND)]
    if any(line["control"] for line, _ in lines):
        below.append(Text(_FLOORS))
    if any(cell.endswith(_STAR) for cells in columns.values() for cell in cells):
        below.append(Text(_STARRED))
    if "reduced" in columns:
        below.append(Text(_REDUCED))
    if any(name in columns for name in PUBLISHED):
        below.append(Text(_PUBLISHED))
    if missing.empty:
        return Group(table, *below)

    lost = Table(title="Cells without a score", title_justify="left", box=SIMPLE)
    for name in missing.columns:
        lost.add_column(Text(name), justify="right" if name == "count" else "left")
    for line in records(missing):
        lost.add_row(*(Text(str(value)) for value in line.values()))
    return Group(table, *below, lost)


def _width(cells: list[str]) -> int:
    return max(map(len, cells), default=0) + 3  # two of padding and one between columns


def _spread(name: str, line: dict[str, Any]) -> str:
    spread = line.get(f"{name}_sd")
    return "" if spread is None else f" ({show(f'{name}_sd', spread)})"


def _mark(name: str, line: dict[str, Any]) -> str:
    return _STAR if line.get(name) is not None and has_gap(name, line) else ""
