"""Calibration: a spec with the numbers that its own data determine (paper A.1: target R2, percentiles, scales).

The sample is drawn once, from a key that follows from the spec, and what it says is stored in the spec. So evaluation
stays row-wise, and a spec means the same SCM for any number of rows.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from arena import programs
from arena.compiler import compile_on_host
from arena.errors import SpecError
from arena.keys import keys_of
from arena.pool import Banks, Frame, Pool, Tables
from arena.scm import SCM, slot_of
from arena.spec import NodeSpec, SCMSpec
from mechanisms.base import Component

#: Rows of the calibration sample.
N_CALIBRATION = 1000
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
            another unit's value and the other parents keep theirs; in standard deviations of the child, or of the
            signal where that is on another scale, as log-odds are.
    """

    spec: SCMSpec
    values: np.ndarray
    response: dict[tuple[str, str], float]


def calibrate(
    specs: Sequence[SCMSpec],
    scaling: Scaling | None = "paper",
    *,
    frame: Frame | None = None,
    jobs: int | None = None,
) -> list[Calibrated]:
    """Walk through the nodes of each SCM in topological order, and fix in each what its sample says.

    Args:
        specs: Specs whose calibrated fields may hold anything.
        scaling: What is standardised inside the SCM; with None a spec stays as it is, and only its sample is taken.
        frame: As in `Pool`.
        jobs: Threads, one a core when omitted.
    """
    frame = frame or Frame()
    pool = Pool([compile_on_host(spec, widths=frame.parents) for spec in specs], frame)
    words, impl = keys_of(("calibration", spec.content_hash) for spec in specs)

    def call(group: tuple[Tables, Banks], index: np.ndarray, members: list[int], d: int) -> list[_Found]:
        room, count, standardised = len(index), np.int32(len(members)), np.zeros((len(index), d), bool)
        for k, i in enumerate(members):
            standardised[k, : len(specs[i].nodes)] = [_is_standardised(node, scaling) for node in specs[i].nodes]
        own = words[np.resize(members, room)]
        found = programs.call(_calibrate, *group, index, own, count, standardised, impl=impl, fit=scaling is not None)
        found = _Found(*map(np.asarray, found))
        return [_Found(*(leaf[k] for leaf in found)) for k in range(len(members))]

    found = pool.in_chunks(range(len(specs)), N_CALIBRATION, call, jobs)
    return [_read(spec, one, scaling) for spec, one in zip(specs, found, strict=True)]


def _is_standardised(node: NodeSpec, scaling: Scaling | None) -> bool:
    if scaling != "paper":
        return scaling == "internal"
    return node.root is not None and node.kind not in LABELS


class _Found(NamedTuple):
    """What the sample of one SCM says of each variable, in column order.

    Attributes:
        values: `[d, n]`, scaled.
        center, scale: `[d]`, what the value was scaled with; 0 and 1 where it was not.
        deviation: `[d]`, its standard deviation before that.
        signalled: `[d]`, the standard deviation of its signal.
        fields: `[d, f]`, the calibrated fields of its noise, padded.
        moved: `[d, k]`, the mean absolute effect of each parent on the signal, padded.
    """

    values: Any
    center: Any
    scale: Any
    deviation: Any
    signalled: Any
    fields: Any
    moved: Any


def _read(spec: SCMSpec, found: _Found, scaling: Scaling | None) -> Calibrated:
    """The spec with what was found."""
    nodes, response = [], {}
    for j, node in enumerate(spec.nodes):
        update: dict[str, Any] = {}
        if node.noise is not None and (names := getattr(node.channel.cls, "calibrated", ())):
            fields = found.fields[j, : len(names)].tolist()
            update["noise"] = node.noise.model_copy(update=dict(zip(names, fields, strict=True)))
        if (found.center[j], found.scale[j]) != (0.0, 1.0):
            update["scaling"] = (float(found.center[j]), float(found.scale[j]))
        nodes.append(node.model_copy(update=update) if update else node)
        link = getattr(node.channel.cls, "link", None) if node.parents else None
        other_scale = link not in (None, "identity")
        deviation = max(float((found.signalled if other_scale else found.deviation)[j]), 1e-12)
        moved = found.moved[j, : len(node.parents)].tolist()
        response |= {(p, node.name): m / deviation for p, m in zip(node.parents, moved, strict=True)}
    if scaling is not None:
        spec = spec.model_copy(update={"nodes": tuple(nodes)})
    return Calibrated(spec, found.values[: len(nodes)].copy(), response)


def _calibrate(tables: Tables, banks: Banks, index, words, count, standardised, *, impl: str, fit: bool) -> _Found:
    """What the samples of some SCMs say, with a leading axis of SCMs."""
    keys = jax.random.wrap_key_data(words, impl=impl)
    _, d, width = tables.parents.shape
    nothing = _nothing(d, width, banks, tables.gain.dtype)

    def body(k, found):
        table = jax.tree.map(lambda leaf: leaf[jnp.asarray(index)[k]], tables)
        own = _walk(table, banks, keys[k], jnp.asarray(standardised)[k], nothing, fit)
        return jax.tree.map(lambda leaves, leaf: leaves.at[k].set(leaf), found, own)

    everywhere = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (len(index), *leaf.shape)), nothing)
    return jax.lax.fori_loop(0, count, body, everywhere)


def _nothing(d: int, width: int, banks: Banks, dtype: Any) -> _Found:
    zeros = lambda *shape: jnp.zeros(shape, dtype)  # noqa: E731
    return _Found(
        zeros(d, N_CALIBRATION), zeros(d), zeros(d) + 1, zeros(d), zeros(d), zeros(d, _n_fields(banks)), zeros(d, width)
    )


def _walk(table: Tables, banks: Banks, key, standardised, nothing: _Found, fit: bool) -> _Found:
    """What the sample of one SCM says, node after node."""
    n, scm = N_CALIBRATION, table.scm(banks)
    noise = table.exogenous(key, n)

    def step(i, found):
        j, columns = table.order[i], jnp.pad(found.values, ((0, 1), (0, 0)))[table.parents[i]]
        signal, moved = _signal(scm, i, columns)
        branches = [_disturbed_by(bank, _n_fields(banks), fit) for bank in scm.noises]
        value, fields = jax.lax.switch(table.noise[i, 0], branches, table.noise[i, 1], signal, noise[j], columns)
        value = table.with_second_noise(j, value, noise[j + len(noise) - len(table.order)])
        deviation = jnp.std(value)
        center = jnp.where(standardised[j], jnp.mean(value), 0.0)
        scale = jnp.where(standardised[j] & (deviation > 0), deviation, 1.0)
        own = _Found((value - center) / scale, center, scale, deviation, jnp.std(signal), fields, moved)
        return jax.tree.map(lambda leaves, leaf: leaves.at[j].set(leaf), found, own)

    return jax.lax.fori_loop(0, table.d, step, nothing)


def _signal(scm: SCM, i, columns) -> tuple[Any, Any]:
    """The signal `[n]` of a step, and how much it moves when each parent takes another unit's value, `[k]`."""
    (width, n), count = columns.shape, jnp.sum(scm.parents[i] < scm.d)

    def move(k, state):
        signal, moved = state
        # In turn 0 nothing is changed; turn k changes parent k - 1.
        other = columns.at[k - 1].set(jnp.where(k > 0, jnp.roll(columns[k - 1], n // 2), columns[k - 1]))
        changed = scm.strength[scm.order[i]] * scm.signal(scm.mechanism[i], other)
        signal = jnp.where(k > 0, signal, changed)
        return signal, moved.at[k].set(jnp.mean(jnp.abs(changed - signal)))

    signal, moved = jax.lax.fori_loop(
        0, count + 1, move, (jnp.zeros(n, columns.dtype), jnp.zeros(width + 1, columns.dtype))
    )
    return signal, moved[1:]


def _disturbed_by(bank: Component, n_fields: int, fit: bool):
    """The value `[n]` by a slot of a bank, calibrated first where it is to be, and its calibrated fields, padded."""

    def value(slot, signal, u, columns):
        component, fields = slot_of(bank, slot), jnp.zeros(n_fields, signal.dtype)
        if component.kind == "root":
            return jax.vmap(component)(u), fields
        if not fit:
            return jax.vmap(component, in_axes=(0, 0, 1))(signal, u, columns), fields
        found = _checked(component, component.calibrate(signal, u))
        component = dataclasses.replace(component, **dict(zip(component.calibrated, found, strict=True)))
        fields = fields.at[: len(found)].set(jnp.stack(found)) if found else fields
        return jax.vmap(component, in_axes=(0, 0, 1))(signal, u, columns), fields

    return value


def _checked(component: Any, found: Any) -> tuple[Any, ...]:
    """What a noise family's `calibrate` gave.

    Raises:
        SpecError: If it is not one number for each calibrated field.
    """
    names = component.calibrated
    if not isinstance(found, tuple) or len(found) != len(names) or any(jnp.shape(one) != () for one in found):
        what = f"a tuple of {len(names)} numbers: {', '.join(names)}" if names else "an empty tuple"
        raise SpecError(f"noise family '{component.family}': calibrate must give {what}")
    return found


def _n_fields(banks: Banks) -> int:
    return max((len(getattr(type(bank), "calibrated", ())) for bank in banks[1]), default=0)
