"""What is known of a scenario beside its tables: names, factors, and for each node and edge what it is."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from arena.dag import levels
from arena.errors import ArenaError
from arena.scenario import Scenario

_SIGNS = {"+": 1, "-": -1, "mixed": 0}


def about(scenario: Scenario, names: Sequence[str], truth: np.ndarray) -> dict[str, Any]:
    """The description of a scenario that a run keeps, as JSON values.

    Args:
        scenario: Where the table is from.
        names: The `d` column names of the table.
        truth: `[d, d]` graph, in the same order.

    Returns:
        `names`; `factors`; `truth` `[d][d]`; `nodes`, for each of them `mechanism` and `noise` (family, None for a
        root), `root` (family of its distribution, or of the joint one of the roots; None for others) and `depth` (edges
        on the longest path from a root); `sign` `[d][d]`, for an edge whose effect is known to be of one sign 1 or -1,
        0 if it is known to be of both, None for all others. A sign is known where the spec states it or the mechanism
        is linear. Without a spec all of these but `depth` are None; where it cannot be read, `damage` says why.
    """
    damage: dict[str, str] = {}
    try:
        text = scenario.spec_json()
    except ArenaError as error:
        text, damage = None, {"damage": str(error)}
    spec: Mapping[str, Any] = {} if text is None else json.loads(text)
    nodes = {node["name"]: node for node in spec.get("nodes", ())}
    deep = levels(truth)
    return {
        "names": list(names),
        "factors": dict(scenario.factors),
        "nodes": [
            {**_node(nodes.get(name), spec.get("root_block")), "depth": int(deep[i])} for i, name in enumerate(names)
        ],
        "sign": _signs(nodes, spec.get("edges", ()), names),
        "truth": np.asarray(truth).astype(int).tolist(),
        **damage,
    }


def _node(node: Mapping[str, Any] | None, block: Mapping[str, Any] | None) -> dict[str, Any]:
    if node is None:
        return {"mechanism": None, "noise": None, "root": None}
    if node.get("parents"):
        noise = node.get("noise") or {"family": "none"}
        return {"mechanism": node["mechanism"]["family"], "noise": noise["family"], "root": None}
    return {"mechanism": None, "noise": None, "root": (node.get("root") or block or {}).get("family")}


def _signs(
    nodes: Mapping[str, Mapping[str, Any]], edges: Sequence[Mapping[str, Any]], names: Sequence[str]
) -> list[list[int | None]]:
    place = {name: i for i, name in enumerate(names)}
    signs: list[list[int | None]] = [[None] * len(names) for _ in names]
    for name, node in nodes.items():
        mechanism = node.get("mechanism") or {}
        if mechanism.get("family") == "linear_additive" and name in place:
            for parent, weight in zip(node["parents"], mechanism["weight"], strict=True):
                signs[place[parent]][place[name]] = int(np.sign(weight * node.get("strength", 1.0)))
    for edge in edges:
        if edge.get("sign") is not None:
            signs[place[edge["source"]]][place[edge["target"]]] = _SIGNS[edge["sign"]]
    return signs
