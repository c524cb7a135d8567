"""Columns: the kind of each variable, and its levels: from the spec where it says them, from the values elsewhere."""

from typing import NamedTuple

import numpy as np

from arena.errors import SpecError
from arena.levels import levels_of
from arena.spec import NodeSpec
from mechanisms import registry

#: Kinds whose values are levels.
LEVELED = ("binary", "categorical", "ordinal")
#: Levels, at most, where the spec does not say them.
MOST_LEVELS = 100


class Column(NamedTuple):
    """What the values of a variable are.

    Attributes:
        kind: `continuous`, `binary`, `count`, `categorical` or `ordinal`.
        levels: Ascending; empty unless the kind has levels. A level too rare to be in the sample is among them.
        share: How frequent each level is.
    """

    kind: str
    levels: tuple[float, ...] = ()
    share: tuple[float, ...] = ()


def column_of(node: NodeSpec, values: np.ndarray) -> Column:
    """The column of a node, from a sample of 1000 values or more.

    Raises:
        SpecError: If the node's `kind` is not what its values are.
    """
    kind = kind_of(node)
    if kind == "count" and node.kind == "count" and not whole(values):
        raise _contradicted(node, "its values are not whole numbers")
    if kind not in LEVELED:
        return Column(kind)
    if (known := levels_of(node)) is not None:
        levels, share = known
        if np.isnan(share).any():
            share = tuple(float(np.mean(np.abs(values - level) < 0.25 * np.ptp(levels))) for level in levels)
    else:
        distinct, count = np.unique(values, return_counts=True)
        if len(distinct) > MOST_LEVELS:
            raise _contradicted(node, f"{len(values)} of its values are {len(distinct)} different ones")
        levels, share = tuple(map(float, distinct)), tuple(map(float, count / count.sum()))
    if kind == "binary" and len(levels) > 2:
        raise _contradicted(node, f"it has {len(levels)} levels")
    return Column(kind, levels, share)


def kind_of(node: NodeSpec) -> str:
    """The kind of a node's values: what the node says, or what its root or noise gives."""
    if node.kind != "continuous":
        return node.kind
    if node.root is not None:
        kind = registry.families("root")[node.root.family].value_kind  # type: ignore[attr-defined]
    else:
        link = getattr(node.channel.cls, "link", None) if node.parents and node.extra_noise == 0.0 else None
        kind = {"logit": "binary", "log": "count"}.get(link or "", node.kind)
    return "continuous" if kind == "count" and node.scaling is not None else kind


def whole(values: np.ndarray) -> bool:
    """Whether all values are whole numbers."""
    return bool((values == np.round(values)).all())


def _contradicted(node: NodeSpec, why: str) -> SpecError:
    return SpecError(f"variable '{node.name}', field 'kind': is '{node.kind}', and {why}; expected the kind they have")
