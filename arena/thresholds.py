"""Thresholds and scales of terms from the quantiles of the data that the spec itself generates.

So an author says "above the sixth decile", no round number stands in a spec to be guessed, and a spec whose roots were
changed calibrates anew. The sample follows from the spec: calibrating twice gives the same numbers.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from arena.dag import topological_order
from arena.errors import SpecError
from arena.keys import key_of
from arena.rooms import Room, draw, evaluate
from arena.spec import NodeSpec, SCMSpec
from mechanisms import operands
from mechanisms.terms import Factor, TermsParameters

#: Rows of the sample.
N_SAMPLE = 20_000
#: Half the distance between these quantiles is a scale: the standard deviation, where the operand is Gaussian.
LOW, HIGH = 0.16, 0.84


class _Place(NamedTuple):
    """A factor with something to set: variable, number of the term, the factor."""

    variable: str
    term: int
    factor: Factor


def auto_calibrate(spec: SCMSpec, room: Room | None = None) -> SCMSpec:
    """The spec with every `at` and `scale` of its terms set; see `mechanisms.terms.TermSpec`.

    Args:
        spec: A spec; what it sets itself is kept.
        room: What the sample is drawn in, so that many specs share a program; it changes no number.

    Raises:
        SpecError: If an operand is constant in the data, so that it has no scale.
    """
    key = key_of("auto_calibrate", spec.content_hash)
    order = [spec.nodes[j].name for j in topological_order(spec.adjacency)]
    nodes = {node.name: node for node in spec.nodes}
    waiting = [name for name in order if _unset(nodes[name])]
    guess = {name: _with(nodes[name], {p: _guess(p.factor) for p in _unset(nodes[name])}) for name in waiting}
    values: dict[str, np.ndarray] = {}
    for name in waiting:
        if not values or any(parent in guess for parent in nodes[name].parents) or _below(spec, name, waiting):
            now = spec.model_copy(update={"nodes": [guess.get(node.name, node) for node in spec.nodes]})
            values = sample(now, key, room)
        found = {place: _read(place, values) for place in _unset(nodes[name])}
        guess[name] = _with(nodes[name], found)
    return spec.model_copy(update={"nodes": [guess.get(node.name, node) for node in spec.nodes]}) if waiting else spec


def sample_of(spec: SCMSpec, room: Room | None = None) -> dict[str, np.ndarray]:
    """Values `[N_SAMPLE]` of each variable of a spec, calibrated here if it is not; they follow from the spec."""
    spec = auto_calibrate(spec, room)
    return sample(spec, key_of("sample_of", spec.content_hash), room)


def sample(spec: SCMSpec, key: jax.Array, room: Room | None = None) -> dict[str, np.ndarray]:
    """Values `[N_SAMPLE]` of each variable."""
    padded = (room or Room()).compile(spec)
    u, second = draw(spec, padded, key, N_SAMPLE)
    table = np.asarray(evaluate(padded, u, second, len(spec.nodes), 0)[0])
    return dict(zip(spec.names, table, strict=False))


def is_calibrated(spec: SCMSpec) -> bool:
    """Whether no term waits for a number."""
    return not any(_unset(node) for node in spec.nodes)


def _below(spec: SCMSpec, name: str, waiting: list[str]) -> bool:
    """Whether a variable has an ancestor that was calibrated."""
    above, todo = set(), [name]
    by_name = {node.name: node for node in spec.nodes}
    while todo:
        for parent in by_name[todo.pop()].parents:
            if parent not in above:
                above.add(parent)
                todo.append(parent)
    return bool(above & set(waiting))


def _unset(node: NodeSpec) -> list[_Place]:
    if not isinstance(node.mechanism, TermsParameters):
        return []
    factors = [(t, factor) for t, term in enumerate(node.mechanism.terms) for factor in term.factors()]
    return [_Place(node.name, t, factor) for t, factor in factors if factor.unset()]


def _guess(factor: Factor) -> dict[str, float]:
    return dict(zip(factor.unset(), (0.0 if field == "at" else 1.0 for field in factor.unset()), strict=True))


def _with(node: NodeSpec, found: dict[_Place, dict[str, float]]) -> NodeSpec:
    """The node with the numbers of some of its factors."""
    mechanism = node.mechanism
    assert isinstance(mechanism, TermsParameters)
    terms = [term.model_dump() for term in mechanism.terms]
    for place, numbers in found.items():
        terms[place.term] |= {f"{place.factor.prefix}{field}": number for field, number in numbers.items()}
    return node.model_copy(update={"mechanism": {**mechanism.model_dump(), "terms": terms}})


def _read(place: _Place, values: dict[str, np.ndarray]) -> dict[str, float]:
    factor, operand = place.factor, place.factor.operand
    assert operand is not None
    _check_units(place, values)
    first, second = (jnp.asarray(values[operand.of[k]]) for k in (0, -1))
    if place.factor.prefix and factor.shape == "linear" and operand.op == "raw":
        low, high = float(first.min()), float(first.max())
        if low < high and bool(((first == low) | (first == high)).all()):
            found = {"at": 0.5 * (low + high), "scale": 0.5 * (high - low)}
            return {field: float(np.float32(found[field])) for field in factor.unset()}
    v = np.asarray(operands.evaluate(jnp.asarray(operands.KINDS.index(operand.op)), first, second), np.float64)
    found = {}
    if "at" in factor.unset():
        found["at"] = float(np.quantile(v, factor.quantile))
        if factor.shape == "step" and found["at"] >= v.max():
            raise _constant(place, f"is never above its quantile {factor.quantile}, {found['at']:.4g}")
    if "scale" in factor.unset():
        scale = 0.5 * float(np.quantile(v, HIGH) - np.quantile(v, LOW)) or float(v.std())
        if not scale > 0.0:
            raise _constant(place, "is constant in the data, so that it has no scale")
        found["scale"] = scale
    return {field: float(np.float32(number)) for field, number in found.items()}


def _check_units(place: _Place, values: dict[str, np.ndarray]) -> None:
    """SpecError where logarithms or denominators are cut off in most of the data."""
    operand = place.factor.operand
    if operand is not None and operand.op in ("log", "ratio"):
        v = np.abs(values[operand.of[-1]])
        if float(np.mean((v > 0) & (v < operands.LEAST))) > 0.5:
            raise _constant(place, f"needs '{operand.of[-1]}' in larger units: most of its values are nearer to 0 than "
                                   f"{operands.LEAST:g}, where it is cut off")  # fmt: skip


def _constant(place: _Place, why: str) -> SpecError:
    field = f"mechanism.terms.{place.term}.{place.factor.prefix.rstrip('_') or 'operand'}"
    return SpecError(f"variable '{place.variable}', field '{field}': {place.factor.operand} {why}")
