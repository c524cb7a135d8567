"""The leaderboard over one slice of the scenarios after another, for the page to choose from."""

import json
from typing import Any

from eval.aggregate import leaderboard
from eval.report.numbers import best_cells, labels, records, show

#: A number that almost every scenario has a value of its own of, such as the count of edges, cuts no slices.
MOST_LEVELS = 20


def levels(rows: Any) -> dict[tuple[str, str], set[str]]:
    """(factor, level) -> the scenarios that have it; of a factor that is a list, every entry is a level.

    Left out are factors with one level only, and numbers with more than `MOST_LEVELS`.
    """
    found: dict[str, dict[Any, set[str]]] = {}
    for scenario, text in rows.drop_duplicates("scenario")[["scenario", "factors"]].itertuples(index=False):
        for factor, value in json.loads(text).items():
            for level in value if isinstance(value, list) else [value]:
                if isinstance(level, str | int | float | bool):
                    found.setdefault(factor, {}).setdefault(level, set()).add(scenario)
    cuts: dict[tuple[str, str], set[str]] = {}
    for factor, parts in sorted(found.items()):
        numbers = all(isinstance(level, int | float) for level in parts)
        if len(parts) < 2 or numbers and len(parts) > MOST_LEVELS:
            continue
        for level in sorted(parts, key=None if numbers else str):
            cuts[factor, str(level)] = parts[level]
    return cuts


def cut_boards(rows: Any, by: list[str], columns: list[str]) -> list[dict[str, Any]]:
    """Every slice's leaderboard, as the page draws it.

    Args:
        rows: As `Run.rows()` gives them.
        by: Groups of the leaderboard.
        columns: Its columns, in the order of the page's.

    Returns:
        For each slice `factor`, `level`, `scenarios` (how many), and `lines`: for each line of the board its labels,
        whether it is a floor, and its cells as printed, the best with a leading asterisk.
    """
    cuts = []
    for (factor, level), scenarios in levels(rows).items():
        board = leaderboard(rows[rows["scenario"].isin(scenarios)], by)
        named, lines = labels(board), []
        for line, best in zip(records(board), best_cells(board), strict=True):
            cells = ["*" * (name in best) + show(name, line.get(name)) for name in columns]
            lines.append([[str(line[name]) for name in named], int(line["control"]), cells])
        cuts.append({"factor": factor, "level": level, "scenarios": len(scenarios), "lines": lines})
    return cuts
