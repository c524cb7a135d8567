"""Edges by what their child is: the counts behind edge-level interactions and error cards.

An edge belongs to the mechanism, noise and depth of its child (paper 6.1), and to the sign of its effect. What a method
predicts between two variables that are not adjacent has a child, but no sign.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from arena.errors import RunError
from eval.analysis.frame import Source
from eval.run import Run

CHILD_FACTORS = ("mechanism", "noise", "depth")
FACTORS = (*CHILD_FACTORS, "sign")
#: Level of children that are roots of the true graph: what is predicted into them has no mechanism and no noise.
ROOT = "(root)"
SIGNS = {1: "positive", 0: "both", -1: "negative"}
#: Counts of directed entries. `true` = hit + reversed + missed; `fp` also holds the wrong half of predicted two-cycles.
COUNTS = ("true", "hit", "reversed", "missed", "invented", "fp")
KEYS = ["factor", "level", "family", "split", "scenario", "method"]


def child_counts(truth: np.ndarray, prediction: np.ndarray) -> dict[str, np.ndarray]:
    """`COUNTS` of the edges into each variable, each `[d]`.

    Args:
        truth: `[d, d]`, `truth[i, j] != 0` for i -> j.
        prediction: `[d, d]`, possibly cyclic. A two-cycle over a true edge is a hit (and one false positive).
    """
    return {name: entries.sum(axis=0) for name, entries in _entries(truth, prediction).items()}


def _entries(truth: np.ndarray, prediction: np.ndarray) -> dict[str, np.ndarray]:
    true, guess = np.asarray(truth) != 0, np.asarray(prediction) != 0
    hit, turned = true & guess, true & ~guess & guess.T
    return {
        "true": true,
        "hit": hit,
        "reversed": turned,
        "missed": true & ~guess & ~guess.T,
        "invented": guess & ~true & ~true.T,
        "fp": guess & ~true,
    }


def edge_counts(source: Source) -> pd.DataFrame:
    """The edges of every estimate of a run, by factor and level, in one pass over its store.

    Returns:
        `factor` (`FACTORS`), `level`, `family`, `split`, `scenario`, `method`; `f1` of the edges into children of that
        level, a mean over replicates (nan for signs and for children that are roots); `COUNTS`, sums over replicates;
        `tables`, their number. What is predicted into a root has the mechanism and noise `ROOT`, and depth 0. Edges
        whose factor is not known are left out.

    Raises:
        RunError: If rows are given instead of a run, or the run keeps no estimates.
    """
    if not isinstance(source, Run):
        raise RunError("edges are counted in the graphs that a run keeps; give the run, not its rows")
    scenarios: Any = source.scenarios()
    about = {line.scenario: (line.family, line.about) for line in scenarios.itertuples()}
    groups: dict[str, _Groups] = {}
    sums: dict[tuple[str, str, str], np.ndarray] = {}
    for key, answer in source.estimates():
        if key.scenario not in about:
            raise RunError(f"{source.path}: nothing is known of scenario '{key.scenario}'; run it again")
        if key.scenario not in groups:
            groups[key.scenario] = _groups(about[key.scenario][1], np.asarray(answer["truth"]) != 0)
        line = _counts(answer["truth"], answer["adjacency"], groups[key.scenario])
        place = (key.scenario, key.split, key.method)
        sums[place] = sums[place] + line if place in sums else line
    lines = [
        (factor, level, about[scenario][0], split, scenario, method)
        for scenario, split, method in sums
        for factor, level in groups[scenario].names
    ]
    if not lines:
        raise RunError(f"{source.path}: keeps no graph whose nodes are known; edges are analysed on generated SCMs")
    table: Any = pd.DataFrame.from_records(lines, columns=KEYS)
    values = np.concatenate(list(sums.values()), axis=1)
    table[[*COUNTS, "tables"]] = values[:-1].T.astype(int)
    table["f1"] = np.where(table["true"] > 0, values[-1] / values[-2], np.nan)
    table.loc[table["factor"] == "sign", "f1"] = np.nan
    return table.loc[:, [*KEYS, "f1", *COUNTS, "tables"]]


class _Groups(NamedTuple):
    """The categories of a graph: `names` (factor, level); members among children `[c, d]`, among edges `[s, d, d]`."""

    names: list[tuple[str, str]]
    children: np.ndarray
    signs: np.ndarray


def _counts(truth: np.ndarray, prediction: np.ndarray, groups: _Groups) -> np.ndarray:
    """`[COUNTS, tables, f1]` by category `[8, c + s]` of one estimate; F1 of 0 / 0 is 0 (reference convention 5)."""
    entries = np.stack(list(_entries(truth, prediction).values())).astype(np.float64)
    by_sign = np.tensordot(entries, groups.signs, axes=([1, 2], [1, 2]))
    by_sign[[COUNTS.index("invented"), COUNTS.index("fp")]] = 0
    counts = np.hstack([entries.sum(axis=1) @ groups.children.T, by_sign])
    true, hit, fp = (counts[COUNTS.index(name)] for name in ("true", "hit", "fp"))
    f1 = 2 * hit / np.maximum(true + hit + fp, 1)
    return np.vstack([counts, np.ones_like(f1), f1])


def _groups(known: Mapping[str, Any], truth: np.ndarray) -> _Groups:
    names, children, signs = [], [], []
    root: Any = ~truth.any(axis=0)
    for factor in CHILD_FACTORS:
        values = [_name(factor, node[factor]) for node in known["nodes"]]
        if all(value is None for value in values):
            continue
        values = [ROOT if value is None and is_root else value for value, is_root in zip(values, root, strict=True)]
        for level in dict.fromkeys(values):
            if level is not None:
                names.append((factor, level))
                children.append([value == level for value in values])
    stated = np.array([[np.nan if sign is None else sign for sign in line] for line in known["sign"] or ()], float)
    for sign, name in SIGNS.items():
        if stated.size and ((stated == sign) & truth).any():
            names.append(("sign", name))
            signs.append((stated == sign) & truth)
    d = len(truth)
    return _Groups(names, np.reshape(children, (-1, d)).astype(float), np.reshape(signs, (-1, d, d)).astype(float))


def _name(factor: str, value: Any) -> str | None:
    if value is None or factor != "mechanism":
        return None if value is None else str(value)
    from mechanisms.registry import families

    mechanism: Any = families("mechanism").get(value)
    return value if mechanism is None else mechanism.tag  # the name under which the paper scores it
