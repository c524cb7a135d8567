"""Interventions as pure edits of an SCM, and the questions that they answer.

Every edit here is a map x -> gain * x + offset of a node's structural value, so edits compose: a later one acts on the
result of an earlier one. The same key under `do` is the same units in another world.
"""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from arena.checks import as_count, as_key, as_scm
from arena.dataset import Dataset
from arena.errors import DataError, SpecError
from arena.sampling import dataset
from arena.scm import SCM
from arena.spec_errors import did_you_mean, listed

Targets = Mapping[str, Any]


def do(scm: SCM, targets: Targets | None = None, /, **named: Any) -> SCM:
    """The SCM in which each target is set to a value, cut off from its causes.

    Args:
        scm: The SCM; it is not changed.
        targets: Values by variable name; a number, or `[n]` for n rows. Names that are identifiers may be given as
            keywords.

    Raises:
        SpecError: If a target is not a variable, or a value has another shape.
    """
    return _edit(scm, targets, named, lambda value: (0.0, value))


def shift(scm: SCM, targets: Targets | None = None, /, **named: Any) -> SCM:
    """The SCM in which each target keeps its mechanism and gets the given amount added; arguments as in `do`."""
    return _edit(scm, targets, named, lambda value: (1.0, value))


def soft(scm: SCM, targets: Targets | None = None, /, *, softness: Any = 0.45, **named: Any) -> SCM:
    """The SCM in which each target is a blend: `(1 - softness) * structural value + softness * given value`.

    Paper A.1, Intervention stressors: softness 0.45. Softness 1 is `do`. Other arguments as in `do`.
    """
    return _edit(scm, targets, named, lambda value: (1.0 - softness, softness * value))


def do_rows(scm: SCM, mask: Bool[Any, "n d"], values: Float[Any, "n d"]) -> SCM:
    """The SCM for n units with a do() of their own: column j of row i is set to `values[i, j]` where `mask[i, j]`."""
    mask = jnp.asarray(mask)
    values = jnp.where(mask, jnp.asarray(values, scm.gain.dtype), 0)
    return _compose(scm, jnp.where(mask, 0, 1).astype(scm.gain.dtype), values)


def expectation(scm: SCM, outcome: str, *, key: PRNGKeyArray, n: int = 10_000) -> Float[Array, ""]:
    """Mean of `outcome` over n units, with a gradient in whatever `scm` was made from."""
    column, key, n = _column(as_scm(scm), outcome), as_key(key), as_count(n)
    if n == 0:
        raise SpecError("an expectation over 0 units is asked for; expected at least 1")
    return jnp.mean(scm.sample(key, n)[:, column])


def ate(
    scm: SCM, outcome: str, treated: Targets, control: Targets, *, key: PRNGKeyArray, n: int = 10_000
) -> Float[Array, ""]:
    """Average treatment effect E[outcome | do(treated)] - E[outcome | do(control)], over the same n units."""
    high, low = do(scm, treated), do(scm, control)
    return expectation(high, outcome, key=key, n=n) - expectation(low, outcome, key=key, n=n)


def counterfactual(scm: SCM, data: Dataset, targets: Targets | None = None, /, **named: Any) -> Dataset:
    """What the units in `data` would have shown, had the targets been set: the same noise, the edited SCM.

    Args:
        scm: The SCM that the data were sampled from.
        data: Units with their noise, as `arena.sample` returns them.
        targets: As in `do`.

    Raises:
        DataError: If the data do not carry their noise, or are not from this SCM.
    """
    if data.noise is None:
        raise DataError(
            f"{data.name}: these rows do not carry their exogenous noise, so what each unit would have been is not "
            "determined; use the Dataset that arena.sample returns"
        )
    if set(data.names) != set(as_scm(scm).names):
        raise DataError(f"{data.name}: columns {listed(data.names)} are not the SCM's, {listed(scm.names)}")
    data = data.select(scm.names)
    noise = np.asarray(data.noise)
    factual = np.asarray(scm.evaluate(noise))
    if (np.abs(factual - data.values) > 1e-3 * (np.abs(data.values) + data.values.std(axis=0))).any():
        raise DataError(
            f"{data.name}: the SCM gives other values for this noise; the rows are not from this SCM, its "
            "interventions included"
        )
    edited = do(scm, targets, **named)
    return dataset(edited, edited.evaluate(noise), noise, data.name)


def _edit(scm: SCM, targets: Targets | None, named: Targets, edit) -> SCM:
    scm, gains, offsets = as_scm(scm), {}, {}
    if not isinstance(targets or {}, Mapping):
        raise SpecError(f"targets are {type(targets).__name__}; expected a mapping from variables to values")
    twice = sorted((targets or {}).keys() & named.keys())
    if twice:
        raise SpecError(f"'{twice[0]}' is given twice, in the mapping and as a keyword")
    for name, value in {**(targets or {}), **named}.items():
        value = _number(name, value, scm.gain.dtype)
        gains[_column(scm, name)], offsets[_column(scm, name)] = edit(value)
    rows = {np.shape(value)[0] for value in offsets.values() if np.ndim(value)}
    if len(rows) > 1:
        raise SpecError(f"the values given have {listed(map(str, rows))} rows, expected the same number for each")
    shape = (*rows, scm.d)
    gain, offset = jnp.ones(shape, scm.gain.dtype), jnp.zeros(shape, scm.gain.dtype)
    for j in gains:
        gain, offset = gain.at[..., j].set(gains[j]), offset.at[..., j].set(offsets[j])
    return _compose(scm, gain, offset)


def _number(name: str, value: Any, dtype: Any) -> Array:
    given = value if isinstance(value, jax.Array) else np.asarray(value)
    if given.dtype.kind not in "biuf":
        raise SpecError(f"the value of '{name}' is {value!r}; expected a number or one per row")
    if given.ndim > 1:
        raise SpecError(f"the value of '{name}' has shape {given.shape}, expected a number or one per row")
    return jnp.asarray(given, dtype)


def _compose(scm: SCM, gain: Array, offset: Array) -> SCM:
    if gain.ndim == scm.gain.ndim == 2 and len(gain) != len(scm.gain):
        raise SpecError(f"the SCM is edited for {len(scm.gain)} rows, found values for {len(gain)}")
    offset = gain * scm.offset + offset
    return eqx.tree_at(lambda s: (s.gain, s.offset), scm, (gain * scm.gain, offset))


def _column(scm: SCM, name: str) -> int:
    if name not in scm.names:
        raise SpecError(f"'{name}' is not a variable{did_you_mean(name, scm.names)}; they are {listed(scm.names)}")
    return scm.names.index(name)
