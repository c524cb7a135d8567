"""`Simulator`: a spec as a laboratory for hypotheses - its data, its interventions, and what it planted."""

import functools
from typing import Any

import jax
import numpy as np
import pandas as pd

import arena
from arena.dataset import Dataset
from arena.errors import SpecError
from arena.interventions import Targets
from arena.keys import key_of
from arena.levels import levels_of
from arena.plants import Plant, answer_key, as_json, check_plants, outcome_of
from arena.rooms import Room
from arena.scm import SCM
from arena.spec import SCMSpec
from arena.thresholds import auto_calibrate, is_calibrated
from eval.hypotheses.columns import Column, column_of, kind_of, whole

#: Units of an experiment, unless told otherwise.
N_UNITS = 40_000
#: Rows that the kind of a column is read from, at least.
LEAST_SAMPLE = 1000


class Simulator:
    """Data, experiments and the answer key of one spec.

    Args:
        spec: A spec with an outcome: named by it, or the variable with labelled terms.
        seed: Another seed is other units of the same world.

    Attributes:
        spec: The spec; `auto_calibrate` replaces it.
        outcome: The variable that hypotheses are about.

    Raises:
        SpecError: If the spec has no outcome, one of its plants cannot be what it says, or stressors change its tables.
    """

    def __init__(self, spec: SCMSpec, *, seed: int = 0):
        self.spec, self.seed = spec, seed
        self.outcome = outcome_of(spec)
        self._room: Room | None = None
        self._plants: tuple[SCMSpec, tuple[Plant, ...]] | None = None
        check_plants(spec)
        if spec.stressors:
            families = ", ".join(stressor.family for stressor in spec.stressors)
            raise SpecError(
                f"spec, field 'stressors': found {families}, expected none: experiments are on the SCM itself, before "
                "anything acts on a table"
            )

    def auto_calibrate(self, room: Room | None = None) -> "Simulator":
        """Set the thresholds and scales that the spec leaves open, from quantiles of its data; itself again."""
        self.spec, self._room = auto_calibrate(self.spec, room), room
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
        if self._plants is None or self._plants[0] is not self.spec:
            self._plants = self.spec, answer_key(self.spec, self._room)
        return self._plants[1]

    def frame(self, data: Dataset) -> pd.DataFrame:
        """A dataset as a table with integer columns where values are whole."""
        columns = {}
        for node, column in zip(self.spec.nodes, data.values.T, strict=True):
            known = levels_of(node)
            integers = kind_of(node) != "continuous" and whole(column) and (known is None or whole(np.array(known[0])))
            columns[node.name] = column.astype(np.int64) if integers else column
        return pd.DataFrame(columns)

    def kind(self, name: str) -> str:
        """The kind of a variable: what its node says, or what its root or noise gives."""
        return kind_of(next(node for node in self.spec.nodes if node.name == name))

    def columns(self, data: Dataset) -> dict[str, Column]:
        """What the values of each variable are, from a dataset of 1000 rows or more."""
        columns = zip(self.spec.nodes, data.values.T, strict=True)
        return {node.name: column_of(node, values) for node, values in columns}

    def meta(self, n: int) -> dict[str, Any]:
        """Roles, types and levels of the columns, as JSON; levels that are too rare to be in the n rows too.

        Raises:
            SpecError: If a variable's kind is not what its values are.
        """
        data = self.units(max(n, LEAST_SAMPLE))
        table, found, columns = self.frame(data)[:n], self.columns(data), []
        for node in self.spec.nodes:
            kind, levels, _ = found[node.name]
            column: dict[str, Any] = {
                "name": node.name,
                "role": "outcome" if node.name == self.outcome else "feature",
                "type": kind,
                "dtype": str(table[node.name].dtype),
            }
            if levels:
                integers = table[node.name].dtype.kind == "i"
                column["levels"] = [int(level) if integers else level for level in levels]
            texts = {"unit": node.unit, "description": node.description, "intervention": node.intervention}
            columns.append(column | {name: text for name, text in texts.items() if text is not None})
        return {
            "name": self.spec.name,
            "description": self.spec.description,
            "outcome": self.outcome,
            "outcome_type": found[self.outcome].kind,
            "n": n,
            "seed": self.seed,
            "spec_hash": self.spec.content_hash,
            "version": arena.__version__,
            "columns": columns,
        }

    def key_as_json(self) -> dict[str, Any]:
        """The answer key, as JSON."""
        return {"outcome": self.outcome, "spec_hash": self.spec.content_hash, "plants": as_json(self.answer_key())}
