"""Calibration: a spec with the numbers that its own data determine (paper A.1: target R2, percentiles, scales).

The sample is drawn once, from a key that follows from the spec, and what it says is stored in the spec. So evaluation
stays row-wise, and a spec means the same SCM for any number of rows.
"""

import functools
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from arena.compiler import PARENTS_STEP, root_block
from arena.dag import topological_order
from arena.keys import key_of
from arena.scm import NOISE, SECOND_NOISE, uniform
from arena.spec import NodeSpec, SCMSpec
from mechanisms.base import Blueprint, round_up, stack, standard_normal

#: Rows of the calibration sample, and how many of them tell how much a parent matters.
N_CALIBRATION, N_RESPONSE = 1000, 500
#: `paper`: roots that are numbers are standardised, nothing else is. `internal`: every variable is, before its
#: children see it (internally standardised SCMs: Ormaniec et al. 2024).
Scaling = Literal["paper", "internal"]
#: Values of roots that are labels or levels keep their meaning.
LABELS = ("binary", "ordinal", "categorical")


class Calibrated(NamedTuple):
    """A spec with its calibration sample.

    Attributes:
        spec: The spec, calibrated.
        values: `[d, n]`, what it gives for the calibration noise.
        response: For each edge (parent, child), how much the child's signal moves on average when that parent takes
            another unit's value and the other parents keep theirs; in standard deviations of the child.
    """

    spec: SCMSpec
    values: np.ndarray
    response: dict[tuple[str, str], float]


def calibrate(spec: SCMSpec, scaling: Scaling = "paper") -> Calibrated:
    """Walk through the nodes in topological order, and fix in each what its sample says.

    Args:
        spec: A spec whose calibrated fields may hold anything.
        scaling: What is standardised inside the SCM.
    """
    index = {name: j for j, name in enumerate(spec.names)}
    d = len(spec.nodes)
    key = key_of("calibration", spec.content_hash)
    noise = np.asarray(_noise(key, d, False))
    second = np.asarray(_noise(key, d, True)) if any(node.extra_noise for node in spec.nodes) else None
    joint = np.asarray(root_block(spec, np.float32)(jnp.asarray(noise))) if spec.root_block else None

    values, nodes, response = np.zeros((d, N_CALIBRATION), np.float32), list(spec.nodes), {}
    for j in topological_order(spec.adjacency):
        node, update, moved = spec.nodes[j], {}, np.zeros(0)
        if node.parents:
            columns = values[[index[parent] for parent in node.parents]]
            value, update, moved = _structural(node, columns, noise[j])
        else:
            value = (
                joint[j]
                if node.root is None and joint is not None
                else np.asarray(_root(_module(node.component), noise[j]))
            )
        if second is not None:
            value = value + np.float32(node.extra_noise) * np.asarray(standard_normal(second[j]))
        if scaling == "internal" or (not node.parents and node.root is not None and node.kind not in LABELS):
            update["scaling"] = (float(value.mean()), float(value.std()) or 1.0)
        center, scale = np.array(update.get("scaling") or node.scaling or (0.0, 1.0), np.float32)
        values[j] = (value - center) / scale
        if node.parents:
            deviation = max(float(value.std()), 1e-12)
            response |= {(p, node.name): float(m) / deviation for p, m in zip(node.parents, moved, strict=True)}
        if update:
            nodes[j] = node.model_copy(update=update)
    return Calibrated(spec.model_copy(update={"nodes": tuple(nodes)}), values, response)


def _structural(node: NodeSpec, columns: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, dict[str, Any], np.ndarray]:
    """The value `[n]` before any scaling, what to update in the spec, and each parent's mean absolute effect."""
    width = round_up(len(columns), PARENTS_STEP)
    padded = np.zeros((width, columns.shape[1]), np.float32)
    padded[: len(columns)] = columns
    strength = np.float32(node.strength)
    signal, moved = _signal(_module(node.component, width), padded, len(columns), strength)

    channel, update = node.channel, {}
    names = getattr(channel.cls, "calibrated", ())
    if names:
        found = [float(x) for x in _calibrated(_module(channel, width), signal, u)]
        assert node.noise is not None
        update["noise"] = node.noise.model_copy(update=dict(zip(names, found, strict=True)))
        channel = Blueprint(channel.cls, channel.cls.arrays(update["noise"], node.parents))
    value = _disturbed(_module(channel, width), signal, u, padded)
    return np.asarray(value), update, np.asarray(moved)[: len(columns)]


def _module(blueprint: Blueprint, width: int = PARENTS_STEP) -> Any:
    """The component padded as in a bank, so that nodes of a family share compiled programs."""
    return jax.tree.map(lambda leaf: leaf[0], stack([blueprint], width, np.float32))


@jax.jit
def _signal(module: Any, columns: Any, count: Any, strength: Any) -> tuple[Any, Any]:
    """The signal `[n]`, and how much it moves when each of the first `count` parents takes another unit's value."""
    equation = lambda x: strength * jax.vmap(module, in_axes=1)(x)  # noqa: E731
    signal = equation(columns)

    def move(k, moved):
        some = columns[:, :N_RESPONSE]
        other = equation(some.at[k].set(jnp.roll(some[k], N_RESPONSE // 2)))
        return moved.at[k].set(jnp.mean(jnp.abs(other - signal[:N_RESPONSE])))

    return signal, jax.lax.fori_loop(0, count, move, jnp.zeros(len(columns), columns.dtype))


_root = jax.jit(lambda module, u: jax.vmap(module)(u))
_disturbed = jax.jit(lambda module, signal, u, columns: jax.vmap(module, in_axes=(0, 0, 1))(signal, u, columns))
_calibrated = jax.jit(lambda module, signal, u: module.calibrate(signal, u))


@functools.partial(jax.jit, static_argnums=(1, 2))
def _noise(key: Any, d: int, second: bool) -> Any:
    """`[d, n]`, what `SCM.draw_noise` gives for the key."""
    key, columns = jax.random.fold_in(key, NOISE), jnp.arange(d) + (SECOND_NOISE if second else 0)
    return jax.vmap(lambda j: uniform(jax.random.fold_in(key, j), N_CALIBRATION, jnp.float32))(columns)
