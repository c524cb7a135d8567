"""A run as one HTML page that works offline: the template, the script and the numbers are one file."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from arena.errors import RunError
from eval.aggregate import TALLIES, VALUES, failures, scenario_means
from eval.report import drawn
from eval.report.graphs import scenario_graphs
from eval.report.numbers import PUBLISHED, TITLES, best_cells, labels, records, says_something, show
from eval.report.published import beside, real_tables
from eval.report.slices import cut_boards
from eval.report.template import render
from eval.run import Run
from eval.store import KEY, Key

_DRILL_DOWN = (
    *("method", "status", "f1", "shd", "reachability_distance"),
    *("tp", "fp", "fn", "reversed", "missing"),
)
_PAGE_ORDER = ("f1", "f1_paper", "f1_sd", "precision", "recall", "shd", "shd_paper", "shd_sd", *VALUES[6:])


def write_html(
    run: Run, path: str | Path, by: Sequence[str] = ("family",), *, figures: bool = True, published: bool = False
) -> Path:
    """Write a report that is one offline HTML file: leaderboard, figures, scenarios, missing cells, provenance.

    Without the libraries that draw figures the page has none, and says which command brings them.

    Args:
        run: What to report.
        path: The file to write.
        by: Groups of the leaderboard; see `eval.aggregate.leaderboard`.
        figures: Whether to make the analyses and draw them.
        published: Whether to show the paper's numbers beside the measured ones.

    Returns:
        The path.

    Raises:
        RunError: If the file cannot be written.
    """
    scripts = ("report.js", "graph.js", "scenario.js")
    html = render("report.html", _content(run, list(by), figures, published), scripts=scripts)
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(html, encoding="utf-8")
    except OSError as error:
        raise RunError(f"the report cannot be written to {path} ({error.strerror}); choose another --out") from None
    return path


def _content(run: Run, by: list[str], figures: bool, paper: bool) -> dict[str, Any]:
    rows, board = run.rows(), run.leaderboard(by)
    if paper:
        board = beside(board)
    named = labels(board)
    columns = [name for name in (*TALLIES, *_PAGE_ORDER, "complete") if name in board and says_something(board, name)]
    details = records(
        scenario_means(rows).sort_values(
            ["family", "scenario", "split", "control", "f1", "method"], ascending=[True] * 4 + [False, True]
        )
    )
    graphs, without_graph = scenario_graphs(run, rows)
    drawings = drawn.figures(run, rows) if figures and drawn.figures_available() else []
    cuts = cut_boards(rows, by, columns)
    keys = {Key(*key) for key in zip(*(rows[name] for name in KEY), strict=True)}
    planned = run.planned() | keys
    return {
        "title": run.path.name or "run",
        "labels": named,
        "columns": [(name, TITLES[name]) for name in columns],
        "lines": [
            {
                "labels": {name: str(line[name]) for name in named},
                "cells": [_cell(name, line[name], name in best) for name in columns],
                "floor": bool(line["control"]),
            }
            for line, best in zip(records(board), best_cells(board), strict=True)
        ],
        "cuts": [(factor, [cut for cut in cuts if cut["factor"] == factor]) for factor in
                 dict.fromkeys(cut["factor"] for cut in cuts)],
        "scenarios": _scenario_lines(details),
        "failures": records(failures(rows)),
        "unfinished": _unfinished(planned - keys, dict(zip(rows["scenario"], rows["family"], strict=True))),
        "choices": {name: sorted(set(rows[name])) for name in ("family", "split", "method")},
        "done": len(rows),
        "planned": len(planned),
        "figures": drawings,
        "install": "" if drawings or not figures else drawn.INSTALL,
        "library": drawn.library() if any(drawing["spec"] for drawing in drawings) else "",
        "without_graph": without_graph,
        "paper": paper,
        "real": real_tables(rows) if paper else [],
        "provenance": _provenance(run, rows),
        "data": {
            "labels": named,
            "columns": columns,
            "cuts": cuts,
            "details": _drill_down(details),
            "graphs": graphs,
            "floors": sorted(set(rows.loc[rows["control"] == 1, "method"])),
        },
        "specs": {drawing["name"]: drawing["spec"] for drawing in drawings if drawing["spec"]},
    }  # fmt: skip


def _cell(name: str, value: Any, best: bool) -> dict[str, Any]:
    return {
        "text": show(name, value), "sort": int(value) if isinstance(value, bool) else value, "best": best,
        "paper": name in PUBLISHED,
    }  # fmt: skip


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


def _drill_down(details: list[dict[str, Any]]) -> dict[str, dict[str, list[list[Any]]]]:
    """Scenario -> split -> what each method got; up to 50,000 lines, so the page draws them on demand."""
    found: dict[str, dict[str, list[list[Any]]]] = {}
    for record in details:
        line = [record[name] for name in _DRILL_DOWN]
        line = [round(value, 4) if isinstance(value, float) else value for value in line]
        found.setdefault(record["scenario"], {}).setdefault(record["split"], []).append(line)
    return found


def _unfinished(keys: set[Key], families: Mapping[str, str]) -> list[dict[str, Any]]:
    """How many planned rows there are not yet, by family, split and method; the family is unknown without any row."""
    counts: dict[tuple[str, str, str], int] = {}
    for key in keys:
        cell = (families.get(key.scenario, key.scenario.partition("/")[0]), key.split, key.method)
        counts[cell] = counts.get(cell, 0) + 1
    names = ("family", "split", "method", "count")
    return [dict(zip(names, (*cell, count), strict=True)) for cell, count in sorted(counts.items())]


def _provenance(run: Run, rows: Any) -> dict[str, Any]:
    """Starts of the run; for each method its settings and versions; one hash over all tables that were scored."""
    starts = run.provenance()["starts"]
    tables = sorted(set(rows["data_hash"]) - {""})
    methods = []
    for (method, settings, versions), group in rows.groupby(["method", "settings", "versions"]):
        found = ", ".join(f"{name} {number}" for name, number in json.loads(versions).items())
        line = {"method": method, "settings": settings, "versions": found, "rows": len(group)}
        methods.append(line | {"reduced": int(group["reduced"].sum())})
    return {
        "starts": [{**start, "record": json.dumps(start, indent=1, ensure_ascii=False)} for start in starts],
        "methods": methods,
        "tables": len(tables),
        "digest": hashlib.sha256("\n".join(tables).encode()).hexdigest(),
        "seeds": sorted({start["seed"] for start in starts}),
    }
