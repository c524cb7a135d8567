"""What a spec itself says of a variable's values: its levels, and whether it is positive."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from arena.spec import NodeSpec
from mechanisms import registry
from mechanisms.terms import LEVEL_TOLERANCE


def levels_of(node: NodeSpec) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """The levels that a variable can have, ascending, and the probability of each; None where the spec does not say.

    The probabilities are nan where they depend on the variable's causes.
    """
    if node.parents:
        binary = getattr(node.channel.cls, "link", None) == "logit" and node.extra_noise == 0.0
        value, probability = np.array([0.0, 1.0], np.float32), np.full(2, np.nan)
        if not binary:
            return None
    elif node.root is None or (found := _root(node).support(node.root)) is None:  # type: ignore[attr-defined]
        return None
    else:
        value, probability = found
    occurs = ~(probability <= 0.0)
    center, scale = (np.float32(x) for x in node.scaling or (0.0, 1.0))
    value = (value[occurs] - center) / scale
    return tuple(map(float, value)), tuple(map(float, probability[occurs]))


def nearest(level: float, levels: tuple[float, ...]) -> float | None:
    """The one of the levels that is meant, allowing for rounding; None if it is none of them, or not clear which."""
    found = [one for one in levels if abs(one - level) <= LEVEL_TOLERANCE * max(abs(one), 1.0)]
    return found[0] if len(found) == 1 else None


def quantile(node: NodeSpec, p: float) -> float | None:
    """The value that a root is below with probability p; None for other variables."""
    if node.root is None:
        return None
    center, scale = node.scaling or (0.0, 1.0)
    value = float(node.component.module(np.float32)(jnp.float32(p)))  # type: ignore[operator]
    return (value - center) / scale


def _root(node: NodeSpec) -> Any:
    assert node.root is not None
    return registry.families("root")[node.root.family]
