"""`Simulator`: a spec as a laboratory for hypotheses - its data, its interventions, and what it planted."""

import dataclasses
import functools
import math
from typing import Any

import jax
import numpy as np
import pandas as pd

import arena
from arena.dataset import Dataset
from arena.errors import SpecError
from arena.interventions import Targets
from arena.keys import key_of
from arena.plants import Plant, answer_key, as_json, outcome_of
from arena.rooms import Room
from arena.scm import SCM
from arena.spec import NodeSpec, SCMSpec
from arena.thresholds import auto_calibrate, is_calibrated
from mechanisms import registry

#: Units of an experiment, unless told otherwise.
N_UNITS = 40_000


class Simulator:
    """Data, experiments and the answer key of one spec.

    Args:
        spec: A spec with an outcome: named by it, or the variable with labelled terms.
        seed: Another seed is other units of the same world.

    Attributes:
        spec: The spec; `auto_calibrate` replaces it.
        outcome: The variable that hypotheses are about.

    Raises:
        SpecError: If the spec has no outcome, or the graph lacks what one of its plants needs.
    """

    def __init__(self, spec: SCMSpec, *, seed: int = 0):
        self.spec, self.seed = spec, seed
        self.outcome = outcome_of(spec)
        answer_key(spec)

    def auto_calibrate(self, room: Room | None = None) -> "Simulator":
        """Set the thresholds and scales that the spec leaves open, from quantiles of its data; itself again."""
        self.spec = auto_calibrate(self.spec, room)
        self.__dict__.pop("scm", None)
        return self

    @functools.cached_property
    def scm(self) -> SCM:
        """The executable SCM.

        Raises:
            SpecError: If the spec is not calibrated yet.
        """
        return arena.compile(self.checked())

    def checked(self) -> SCMSpec:
        """The spec, if it is calibrated.

        Raises:
            SpecError: If it is not.
        """
        if not is_calibrated(self.spec):
            raise SpecError(f"{self.spec.name}: some thresholds are not set; call auto_calibrate() first")
        return self.spec

    def key(self, purpose: str) -> jax.Array:
        """The key of this spec and seed for a purpose."""
        return key_of("hypotheses", purpose, self.spec.content_hash, self.seed)

    def units(self, n: int, targets: Targets | None = None) -> Dataset:
        """n units with their exogenous noise; the same ones under any targets."""
        return arena.sample(arena.do(self.scm, targets), self.key("data"), n)

    def generate(self, n: int) -> pd.DataFrame:
        """n rows of data; whole numbers are integers. The same n rows every time, and the first of any larger n."""
        return self.frame(self.units(n))

    def do(self, targets: Targets | None = None, /, *, n: int = N_UNITS, **named: Any) -> pd.DataFrame:
        """The rows of `generate(n)`, in the world where the targets are set."""
        return self.frame(self.units(n, {**(targets or {}), **named}))

    def ate(self, treated: Targets, control: Targets, *, outcome: str | None = None, n: int = N_UNITS) -> float:
        """Average treatment effect on the outcome, over the same n units: treated minus control."""
        return float(arena.ate(self.scm, outcome or self.outcome, treated, control, key=self.key("data"), n=n))

    def counterfactual(self, data: Dataset, targets: Targets | None = None, /, **named: Any) -> Dataset:
        """What the units in `data`, as from `units`, would have shown had the targets been set."""
        return arena.counterfactual(self.scm, data, targets, **named)

    def answer_key(self) -> tuple[Plant, ...]:
        """What the spec planted."""
        return answer_key(self.spec)

    def frame(self, data: Dataset) -> pd.DataFrame:
        """A dataset as a table with integer columns where values are whole."""
        columns = {}
        for node, column in zip(self.spec.nodes, data.values.T, strict=True):
            columns[node.name] = column.astype(np.int64) if kind_of(node) != "continuous" and _whole(column) else column
        return pd.DataFrame(columns)

    def kind(self, name: str) -> str:
        """The kind of a variable: what its node says, or what its root or noise gives."""
        return kind_of(next(node for node in self.spec.nodes if node.name == name))

    def meta(self, n: int) -> dict[str, Any]:
        """Roles and types of the columns, as JSON."""
        table = self.generate(n)
        columns = []
        for node in self.spec.nodes:
            kind = kind_of(node)
            column: dict[str, Any] = {
                "name": node.name,
                "role": "outcome" if node.name == self.outcome else "feature",
                "type": kind,
                "dtype": str(table[node.name].dtype),
            }
            if kind in ("binary", "categorical", "ordinal"):
                column["levels"] = sorted(table[node.name].unique().tolist())
            texts = {"unit": node.unit, "description": node.description, "intervention": node.intervention}
            columns.append(column | {name: text for name, text in texts.items() if text is not None})
        return {
            "name": self.spec.name,
            "description": self.spec.description,
            "outcome": self.outcome,
            "outcome_type": self.kind(self.outcome),
            "n": n,
            "seed": self.seed,
            "spec_hash": self.spec.content_hash,
            "version": arena.__version__,
            "columns": columns,
        }

    def key_as_json(self) -> dict[str, Any]:
        """The answer key, as JSON."""
        return {"outcome": self.outcome, "spec_hash": self.spec.content_hash, "plants": as_json(self.answer_key())}


@dataclasses.dataclass(frozen=True)
class Response:
    """How the outcome is read in an experiment.

    Attributes:
        linked: Whether the signal of its equation is read, and not its value.
        scale: The standard deviation that effects are divided by.
        name: What is read, in words.
    """

    linked: bool
    scale: float
    name: str


def response_of(spec: SCMSpec, outcome: str, signal: np.ndarray, value: np.ndarray) -> Response:
    """The reading of an outcome, from its signals and values `[n]` in the data.

    A binary outcome is read as log-odds and a count as the logarithm of its mean: there its causes add up. Effects are
    in standard deviations of the latent outcome: the signal's variance plus that of the draw on the same scale, which
    is pi^2 / 3 for a logistic one (McKelvey & Zavoina 1975) and log(1 + 1 / mean) for a count (Nakagawa & Schielzeth
    2010). Where noise is added to the signal, the difference between two worlds is the same in both, without error.
    """
    node = next(node for node in spec.nodes if node.name == outcome)
    link = getattr(node.channel.cls, "link", None) if node.parents else None
    noise = node.channel.arrays if node.parents else {}
    if node.scaling is not None and link != "identity":
        link = None
    match link:
        case "logit":
            return Response(True, math.sqrt(float(np.var(signal)) + math.pi**2 / 3.0), "log-odds")
        case "log":
            mean = float(np.mean(np.exp(signal + noise["bias"])))
            return Response(True, math.sqrt(float(np.var(signal)) + math.log1p(1.0 / mean)), "log mean")
    return Response(link == "identity", float(np.std(value)), "value")


def kind_of(node: NodeSpec) -> str:
    """The kind of a node's values."""
    if node.kind != "continuous":
        return node.kind
    if node.root is not None:
        return registry.families("root")[node.root.family].value_kind  # type: ignore[attr-defined]
    link = getattr(node.channel.cls, "link", None) if node.parents else None
    return {"logit": "binary", "log": "count"}.get(link or "", node.kind)


def _whole(column: np.ndarray) -> bool:
    return bool((column == np.round(column)).all())
