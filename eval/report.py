"""A run as a terminal table, CSV, Markdown, JSON or one HTML file; all from the same aggregated tables."""

import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arena.errors import RunError
from eval.aggregate import SPREADS, TALLIES, VALUES, failures, scenario_means
from eval.run import Run
from eval.store import KEY, Key

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Group

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
    "control": "Floor",
    "complete": "Complete",
    "sid_missing": "No SID",
    "auroc_missing": "No AUROC",
}
_ONE_DIGIT = {"shd", "shd_sd", "reachability_distance", "sid", "cpdag_shd"}
# Means that not every scored table has a part in, and the tally of those that have none.
_PARTIAL = {"sid": "sid_missing", "auroc": "auroc_missing", "ap": "auroc_missing"}
_LARGER_IS_BETTER = {"f1", "precision", "recall", "auroc", "ap"}
# Terminal lines are short: brief titles, and the columns to keep when there is no room for all.
_SHORT = TITLES | {
    "method": "Method",
    "precision": "Prec.",
    "reachability_distance": "Reach.",
    "cpdag_shd": "CPDAG",
    "seconds": "Sec.",
    "missing": "Lost",
}
_ALWAYS = ("n", "missing")
_BY_IMPORTANCE = (
    *(*_ALWAYS, "f1", "shd", "reachability_distance", "seconds", "precision", "recall"),
    *("sid", "auroc", "ap", "cpdag_shd", "nshd"),
)
_DRILL_DOWN = (
    *("method", "status", "f1", "shd", "reachability_distance"),
    *("tp", "fp", "fn", "reversed", "missing"),
)
MISSING = "\N{EN DASH}"
_STAR = "*"
_LEGEND = (
    "n: scenarios with a score, in split avg once per split. Lost: fits without one. Bold: best of the methods that "
    "have a score for every table."
)
_FLOORS = "floors: what artefacts alone score"
_STARRED = "* over fewer tables than were scored: SID needs an acyclic answer, AUROC and AP need edge scores."


def show(column: str, value: Any) -> str:
    """A value of the leaderboard as printed everywhere; a missing one (None or nan) as a dash."""
    if value is None or value != value:
        return MISSING
    if column in ("complete", "control"):
        return "yes" if value else "no"
    if column not in VALUES:
        return str(value)
    if column == "seconds":
        return f"{value:.3g}"
    return f"{value:.1f}" if column in _ONE_DIGIT else f"{value:.3f}"


def best_cells(board: "pd.DataFrame") -> list[set[str]]:
    """For each line the columns in which it is, as printed, the best of its group and split.

    Compared are means over the same tables only: of complete lines, and of SID, AUROC and AP without a gap. Where
    fewer than two are left nothing is best, and of spreads and floors nothing ever is.
    """
    lines, labels = _records(board), _labels(board)[:-1]
    groups: dict[tuple[Any, ...], list[int]] = {}
    for index, line in enumerate(lines):
        if line["complete"] and not line["control"]:
            groups.setdefault(tuple(line[name] for name in labels), []).append(index)
    best: list[set[str]] = [set() for _ in lines]
    for members in groups.values():
        for column in set(VALUES) - set(SPREADS):
            known = [i for i in members if lines[i][column] is not None and not _gap(column, lines[i])]
            if len(known) < 2:
                continue
            top = (max if column in _LARGER_IS_BETTER else min)(lines[index][column] for index in known)
            for index in known:
                if show(column, lines[index][column]) == show(column, top):
                    best[index].add(column)
    return best


def _gap(column: str, line: dict[str, Any]) -> bool:
    """Whether the mean rests on fewer tables than were scored."""
    return column in _PARTIAL and line[_PARTIAL[column]] > 0


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

    lines = [(line, best) for line, best in zip(_records(board), best_cells(board), strict=True)]
    groups = [" / ".join(str(line[name]) for name in _labels(board)[:-1]) for line, _ in lines]
    columns = {"method": [line["method"] for line, _ in lines]}
    room = width - 1 - _width([*columns["method"], *groups])
    for name in _BY_IMPORTANCE:
        cells = [show(name, line[name]) + _spread(name, line) + _mark(name, line) for line, _ in lines]
        needed = _width([_SHORT[name], *cells])
        if name in _ALWAYS or (any(cell != MISSING for cell in cells) and needed <= room):
            columns[name], room = cells, room - needed

    # Text, not str: a name in square brackets is no markup.
    shown = ["method", *(name for name in (*TALLIES, *VALUES) if name in columns)]
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
            table.add_row(Text(f"-- {_FLOORS}", style="dim"))
        table.add_row(*(Text(columns[name][index], style="bold" if name in best else "") for name in shown))
    below: list[Any] = [Text(_LEGEND)]
    if any(cell.endswith(_STAR) for cells in columns.values() for cell in cells):
        below.append(Text(_STARRED))
    if missing.empty:
        return Group(table, *below)

    lost = Table(title="Cells without a score", title_justify="left", box=SIMPLE)
    for name in missing.columns:
        lost.add_column(Text(name), justify="right" if name == "count" else "left")
    for line in _records(missing):
        lost.add_row(*(Text(str(value)) for value in line.values()))
    return Group(table, *below, lost)


def _width(cells: list[str]) -> int:
    return max(map(len, cells), default=0) + 3  # two of padding and one between columns


def _spread(name: str, line: dict[str, Any]) -> str:
    spread = line.get(f"{name}_sd")
    return "" if spread is None else f" ({show(f'{name}_sd', spread)})"


def _mark(name: str, line: dict[str, Any]) -> str:
    return _STAR if line.get(name) is not None and _gap(name, line) else ""


def to_csv(board: "pd.DataFrame") -> str:
    """The leaderboard as CSV in full precision, missing values empty."""
    return board.to_csv(index=False, lineterminator="\n")


def to_json(board: "pd.DataFrame", missing: "pd.DataFrame | None" = None) -> str:
    """The leaderboard, and the cells without a score if given, as JSON: full precision, null for missing."""
    content = {"leaderboard": _records(board)}
    if missing is not None:
        content["failures"] = _records(missing)
    return json.dumps(content, indent=1, ensure_ascii=False)


def to_md(board: "pd.DataFrame") -> str:
    """The leaderboard as a Markdown table, rounded as in the terminal, best values bold; floors in italics."""
    names = [str(name) for name in board.columns if name != "control"]
    lines = [
        "| " + " | ".join(TITLES.get(name, name) for name in names) + " |",
        "|" + "|".join("---:" if name in TITLES else "---" for name in names) + "|",
    ]
    for line, best in zip(_records(board), best_cells(board), strict=True):
        cells = []
        for name in names:
            text = show(name, line[name]).replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")
            text = f"*{text}* (floor)" if name == "method" and line["control"] else text
            cells.append(f"**{text}**" if name in best else text)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def write_html(run: Run, path: str | Path, by: Sequence[str] = ("family",)) -> Path:
    """Write a report that is one offline HTML file: leaderboard, scenarios, missing cells, provenance.

    Args:
        run: What to report.
        path: The file to write.
        by: Groups of the leaderboard; see `eval.aggregate.leaderboard`.

    Returns:
        The path.

    Raises:
        RunError: If the file cannot be written.
    """
    import jinja2

    rows, board = run.rows(), run.leaderboard(by)
    labels = _labels(board)
    values = [name for name in ("complete", *TALLIES, *VALUES) if bool(board[name].notna().any())]
    lines = [
        {
            "labels": {name: str(line[name]) for name in labels},
            "cells": [_page_cell(name, line[name], name in best) for name in values],
            "floor": bool(line["control"]),
        }
        for line, best in zip(_records(board), best_cells(board), strict=True)
    ]
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string((files("eval") / "templates" / "report.html").read_text(encoding="utf-8"))
    starts = run.provenance()["starts"]
    details = _records(scenario_means(rows))
    html = template.render(
        title=run.path.name or "run",
        labels=labels,
        columns=[(name, TITLES[name]) for name in values],
        lines=lines,
        scenarios=_scenario_lines(details),
        details=_drill_down(details),
        failures=_records(failures(rows)),
        choices={name: sorted(set(rows[name])) for name in ("family", "split", "method")},
        done=len(rows),
        planned=len(run.planned() | {Key(*key) for key in zip(*(rows[name] for name in KEY), strict=True)}),
        starts=[{**start, "plan": json.dumps(start, indent=1, ensure_ascii=False)} for start in starts],
    )
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(html, encoding="utf-8")
    except OSError as error:
        raise RunError(f"the report cannot be written to {path} ({error.strerror}); choose another --out") from None
    return path


def _page_cell(name: str, value: Any, best: bool) -> dict[str, Any]:
    return {"text": show(name, value), "sort": int(value) if isinstance(value, bool) else value, "best": best}


def _scenario_lines(details: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line per scenario and split: its size, the best method, the mean score, what is missing."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for record in details:
        groups.setdefault((record["family"], record["scenario"], record["split"]), []).append(record)
    lines = []
    for (family, scenario, split), group in groups.items():
        scored = [record for record in group if record["f1"] is not None]
        # As on the leaderboard, only those that have a score for every replicate are compared.
        most = max(record["completed"] + record["missing"] for record in group)
        whole = [record for record in scored if record["completed"] == most and not record["control"]]
        top = max(whole, key=lambda record: record["f1"], default={"method": None, "f1": None})
        lines.append(
            {
                "family": family,
                "scenario": scenario,
                "split": split,
                "d": max((record["d"] for record in group if record["d"] is not None), default=None),
                "edges": max((record["edges"] for record in group if record["edges"] is not None), default=None),
                "best": top["method"],
                "f1": top["f1"],
                "mean": sum(record["f1"] for record in scored) / len(scored) if scored else None,
                "missing": sum(record["missing"] for record in group),
            }
        )
    return lines


def _drill_down(details: list[dict[str, Any]]) -> dict[str, list[list[Any]]]:
    """Per scenario and split what each method got; up to 50,000 lines, so the page draws them on demand."""
    found: dict[str, list[list[Any]]] = {}
    for record in details:
        line = [record[name] for name in _DRILL_DOWN]
        line = [round(value, 4) if isinstance(value, float) else value for value in line]
        # As the page's JSON.stringify writes it.
        key = json.dumps([record["scenario"], record["split"]], separators=(",", ":"), ensure_ascii=False)
        found.setdefault(key, []).append(line)
    return found


def _labels(board: "pd.DataFrame") -> list[str]:
    """The columns that name a line: those it was grouped by, `split` and `method`."""
    names = [str(name) for name in board.columns]
    return names[: names.index("method") + 1]


def _records(table: "pd.DataFrame") -> list[dict[str, Any]]:
    """The lines as plain Python values, None where missing."""
    plain = table.astype(object).where(table.notna(), None)
    return [{str(name): _native(value) for name, value in row.items()} for row in plain.to_dict("records")]


def _native(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
