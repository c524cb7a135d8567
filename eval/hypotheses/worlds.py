"""Random specs with planted mechanisms: every archetype, operand and kind of outcome, among columns without effect."""

import dataclasses
from collections.abc import Callable
from typing import Any, get_args

import numpy as np

from arena.spec import SCMSpec
from mechanisms.terms import Archetype

ARCHETYPES: tuple[str, ...] = get_args(Archetype)
OUTCOMES = ("continuous", "binary", "count")
PLANTS, NOISE_COLUMNS = (1, 8), (5, 30)
#: Where thresholds and centres lie among an operand's values.
QUANTILE = (0.1, 0.9)
WEIGHT = (0.6, 1.8)
#: How frequent the 1 of a binary variable is; levels of a categorical one, and how even their frequencies are.
FREQUENT, LEVELS, EVEN = (0.15, 0.85), (3, 8), 6.0
#: The logarithm of a count's mean varies less than a log-odds or a value.
COUNT_WEIGHT, COUNT_BIAS = 0.25, 1.5
NOISE: dict[str, dict[str, Any]] = {
    "continuous": {"family": "gaussian", "scale": 1.0},
    "binary": {"family": "bernoulli_logit", "bias": -0.3},
    "count": {"family": "poisson_log", "bias": COUNT_BIAS},
}


@dataclasses.dataclass
class _World:
    """A spec that grows."""

    rng: np.random.Generator
    nodes: dict[str, dict[str, Any]] = dataclasses.field(default_factory=dict)
    terms: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    hidden: list[str] = dataclasses.field(default_factory=list)

    def add(self, prefix: str, **fields: Any) -> str:
        name = f"{prefix}{len(self.nodes)}"
        self.nodes[name] = {"name": name, **fields}
        return name

    def pick(self, *options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def sign(self) -> float:
        return self.pick(-1.0, 1.0)

    def caused(self, prefix: str, causes: list[str], weight: list[float], scale: float) -> str:
        mechanism = {"family": "linear_additive", "weight": weight, "bias": 0.0}
        noise = {"family": "gaussian", "scale": scale}
        return self.add(prefix, parents=causes, mechanism=mechanism, noise=noise)

    def positive(self) -> str:
        root = self.pick(
            {"family": "lognormal", "log_mean": 1.0, "log_scale": float(self.rng.uniform(0.3, 0.5))},
            {"family": "gamma", "concentration": float(self.rng.uniform(4.0, 8.0)), "rate": 1.0},
            {"family": "uniform", "low": 1.0, "high": float(self.rng.uniform(4.0, 8.0))},
        )
        return self.add("x", root=root)

    def amount(self) -> str:
        """A number: positive, of any sign, a count, or one that a common cause moves too."""
        which = self.pick("positive", "gaussian", "count", "caused" if self.hidden else "gaussian")
        if which == "positive":
            return self.positive()
        if which == "count":
            return self.add("x", root={"family": "poisson", "rate": float(self.rng.uniform(8.0, 15.0))}, kind="count")
        if which == "caused":
            return self.caused("x", [self.pick(*self.hidden)], [0.7 * self.sign()], 0.7)
        mean = float(self.rng.normal())
        return self.add("x", root={"family": "gaussian", "mean": mean, "scale": float(self.rng.uniform(0.5, 3.0))})

    def binary(self) -> str:
        return self.add(
            "b", root={"family": "bernoulli", "probability": float(self.rng.uniform(*FREQUENT))}, kind="binary"
        )

    def categorical(self) -> tuple[str, int]:
        k = int(self.rng.integers(LEVELS[0], LEVELS[1] + 1))
        p = self.rng.dirichlet(np.full(k, EVEN))
        return self.add("c", root={"family": "ordinal", "probability": p.tolist()}, kind="categorical"), k

    def quantile(self) -> float:
        return float(self.rng.uniform(*QUANTILE))

    def weight(self) -> float:
        return self.sign() * float(self.rng.uniform(*WEIGHT))

    def background(self, name: str, weight: float) -> None:
        """An unlabelled linear effect."""
        self.terms.append({"op": "linear", "operand": name, "weight": weight})


def random_spec(
    seed: int,
    *,
    plants: int | None = None,
    noise_columns: int | None = None,
    outcome: str | None = None,
    confounding: bool | None = None,
    first: str | None = None,
) -> SCMSpec:
    """A spec that is not calibrated, from a seed; what is not given is drawn.

    Args:
        plants: Number of planted mechanisms, 1-8; 0 for a null world, where causes act linearly only.
        noise_columns: Columns that have no effect.
        outcome: `continuous`, `binary` or `count`.
        confounding: Whether common causes move the outcome, causes of it and noise columns.
        first: Archetype of the first plant.
    """
    world = _World(np.random.default_rng((7, seed)))
    rng = world.rng
    plants = int(rng.integers(PLANTS[0], PLANTS[1] + 1)) if plants is None else plants
    noise_columns = (
        int(rng.integers(NOISE_COLUMNS[0], NOISE_COLUMNS[1] + 1)) if noise_columns is None else noise_columns
    )
    kind: str = world.pick(*OUTCOMES) if outcome is None else outcome
    confounding = bool(rng.integers(2)) if confounding is None else confounding
    if confounding or not plants:
        world.hidden = [world.add("h", root={"family": "gaussian", "mean": 0.0, "scale": 1.0}) for _ in range(2)]
        for name in world.hidden:
            world.background(name, 0.7 * world.weight())
    for k in range(plants):
        archetype: str = first if k == 0 and first else world.pick(*ARCHETYPES)
        labelled = {"label": f"plant {k + 1}", "archetype": archetype}
        world.terms.append(_PLANT[archetype](world) | labelled)
    causes = list(world.nodes)
    size = COUNT_WEIGHT if kind == "count" else 1.0
    parents = dict.fromkeys(name for term in world.terms for name in _variables(term))
    terms = [term | {"weight": size * term["weight"]} for term in world.terms]
    world.nodes["y"] = {"name": "y", "parents": list(parents), "mechanism": {"family": "terms", "terms": terms},
                        "noise": NOISE[kind]}  # fmt: skip
    for _ in range(noise_columns):
        _noise_column(world, causes)
    names = list(world.nodes)
    nodes = [world.nodes[names[j]] for j in rng.permutation(len(names))]
    return SCMSpec.from_dict({"name": f"world-{seed}", "nodes": nodes, "outcome": "y"})


def _variables(term: dict[str, Any]) -> list[str]:
    names = []
    for operand in (term["operand"], term.get("by")):
        names += operand["of"] if isinstance(operand, dict) else [operand] if operand else []
    return names


def _noise_column(world: _World, causes: list[str]) -> None:
    match world.pick("alone", "common cause", "cause", "consequence"):
        case "common cause" if world.hidden:
            world.caused("n", [world.pick(*world.hidden)], [world.weight()], 0.6)
        case "cause" if causes:
            world.caused("n", [world.pick(*causes)], [world.weight()], 0.8)
        case "consequence":
            world.caused("n", ["y"], [world.weight()], 1.0)
        case _:
            world.add("n", root={"family": "gaussian", "mean": 0.0, "scale": 1.0})


def _threshold(world: _World) -> dict[str, Any]:
    op, quantile = world.pick("threshold", "step"), world.quantile()
    operand = {"op": "log", "of": [world.positive()]} if world.rng.random() < 0.3 else world.amount()
    return {"op": op, "operand": operand, "weight": 1.3 * world.weight(), "quantile": quantile}


def _bump(world: _World) -> dict[str, Any]:
    operand = {"op": "log", "of": [world.positive()]} if world.rng.random() < 0.3 else world.amount()
    return {"op": "bump", "operand": operand, "weight": 2.0 * world.weight(), "quantile": world.quantile()}


def _reversal(world: _World) -> dict[str, Any]:
    term = {"op": "interaction", "operand": world.amount(), "weight": world.weight()}
    if world.rng.random() < 0.5:
        return term | {"by": world.binary()}
    return term | {"by": world.amount(), "by_quantile": world.quantile()}


def _subpopulation(world: _World) -> dict[str, Any]:
    term = {"operand": world.amount(), "weight": 1.3 * world.weight()}
    match world.pick("binary", "categorical", "amount", "conjunction"):
        case "binary":
            return term | {"op": "gate", "by": world.binary(), "level": float(world.pick(0, 1))}
        case "categorical":
            name, k = world.categorical()
            return term | {"op": "gate", "by": name, "level": float(world.rng.integers(k))}
        case "amount":
            return term | {"op": "gate", "by": world.amount(), "by_quantile": world.quantile()}
    more = {"quantile": world.quantile(), "by": world.amount(), "by_quantile": world.quantile()}
    return term | more | {"op": "conjunction", "weight": 2.0 * world.weight()}


def _derived(world: _World) -> dict[str, Any]:
    kind = world.pick("ratio", "product", "ratio", "product", "log")
    if kind == "log":
        name = world.add("x", root={"family": "lognormal", "log_mean": 0.0, "log_scale": 0.8})
        return {"op": "linear", "operand": {"op": "log", "of": [name]}, "weight": world.weight()}
    op = world.pick("linear", "linear", "threshold", "step")
    names = [world.positive(), world.positive()]
    return {
        "op": op,
        "operand": {"op": kind, "of": names},
        "weight": 1.3 * world.weight(),
        "quantile": world.quantile(),
    }


def _simpsons(world: _World) -> dict[str, Any]:
    cause = world.add("h", root={"family": "gaussian", "mean": 0.0, "scale": 1.0})
    name = world.caused("x", [cause], [0.8], 0.6)
    weight = world.weight()
    world.background(cause, -2.2 * weight)
    return {"op": "linear", "operand": name, "weight": weight}


def _mediation(world: _World) -> dict[str, Any]:
    source = world.amount()
    mechanism = {"family": "terms", "terms": [{"op": "linear", "operand": source, "weight": world.sign()}]}
    noise = {"family": "gaussian", "scale": 0.6}
    mediator = world.add("m", parents=[source], mechanism=mechanism, noise=noise)
    return {"op": "linear", "operand": mediator, "weight": world.weight()}


def _category(world: _World) -> dict[str, Any]:
    name, k = world.categorical()
    return {"op": "category", "operand": name, "level": float(world.rng.integers(k)), "weight": 1.5 * world.weight()}


_PLANT: dict[str, Callable[[_World], dict[str, Any]]] = {
    "monotone_threshold": _threshold,
    "non_monotone": _bump,
    "interaction_reversal": _reversal,
    "subpopulation_only": _subpopulation,
    "derived_feature": _derived,
    "simpsons_paradox": _simpsons,
    "mediation_chain": _mediation,
    "category_level": _category,
}
