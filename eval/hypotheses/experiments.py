"""The experiments: a simulator's units as a laboratory, and what an experiment showed."""

import concurrent.futures
import dataclasses
import os
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from arena import programs
from arena.dag import topological_order
from arena.errors import DataError, SpecError
from arena.rooms import Room, draw, evaluate
from eval.hypotheses.columns import column_of
from eval.hypotheses.designs import HELD, WORLDS, Design
from eval.hypotheses.moments import ROOM, Moments, Plan, Units, experiments, shocks
from eval.hypotheses.responses import Response, response_of
from eval.hypotheses.simulator import N_UNITS, Simulator

#: Units of an experiment; the most is a limit of memory.
LEAST_UNITS, MOST_UNITS = 1000, 1_000_000


def check_units(n: int) -> None:
    """DataError unless n is a number of units that an experiment can have."""
    if not LEAST_UNITS <= n <= MOST_UNITS:
        raise DataError(f"{n} units an experiment are asked for, expected {LEAST_UNITS} to {MOST_UNITS}")


@dataclasses.dataclass(frozen=True)
class Reading:
    """What an experiment showed, in standard deviations of the outcome.

    Attributes:
        design: Its worlds.
        effect: `[C]` mean response in each world, less that in the natural one.
        covariance: `[C, C]` of these means, over other units.
        association, association_error: `[C]` how much the response differs, in each world, between units whose variable
            differs by its standard deviation in the natural world.
        x: `[C]` mean of the variable in each world, from its natural mean in its natural standard deviations.
        unit_error: Relative error of the outcome's standard deviation, in which all is measured.
    """

    design: Design
    effect: np.ndarray
    covariance: np.ndarray
    association: np.ndarray
    association_error: np.ndarray
    x: np.ndarray
    unit_error: float = 0.0

    def contrast(self, weights: np.ndarray) -> tuple[float, float]:
        """A weighted sum of the effects, and its Monte Carlo error, that of its unit included."""
        effect, variance = float(weights @ self.effect), float(weights @ self.covariance @ weights)
        return effect, (max(variance, 0.0) + (self.unit_error * effect) ** 2) ** 0.5

    def between(self, plus: int, minus: int) -> tuple[float, float]:
        """The effect of one world less that of another, and its error."""
        weights = np.zeros(len(self.effect))
        weights[plus] += 1.0
        weights[minus] -= 1.0
        return self.contrast(weights)


class Laboratory:
    """The units of a simulator, ready for experiments.

    Args:
        simulator: A calibrated simulator; its seed chooses the units.
        n: Units of every experiment.
        room: What the SCM is padded to; many specs in one room share compiled programs.

    Attributes:
        values: A sample `[n]` of each variable.
        columns, kinds: What the values of each variable are.
        response: How the outcome is read.

    Raises:
        DataError: If n is no number of units.
        SpecError: If the outcome's standard deviation cannot be told, or a variable's kind is not what its values are.
    """

    def __init__(self, simulator: Simulator, n: int = N_UNITS, room: Room | None = None):
        check_units(n)
        spec = simulator.checked()
        self.names, self.outcome = spec.names, simulator.outcome
        self._scm = (room or Room()).compile(spec)
        self._order = np.asarray(topological_order(spec.adjacency))
        target = self.names.index(self.outcome)
        self._target = int(np.flatnonzero(self._order == target)[0])
        u, second = draw(spec, self._scm, simulator.key("experiment"), n)
        rows = len(self._scm.order)
        x, signal = evaluate(self._scm, u, second, len(spec.nodes), target)
        table, signal = np.asarray(x), np.asarray(signal)
        self.values = dict(zip(self.names, table, strict=False))
        value = self.values[self.outcome]
        self.response: Response = response_of(spec, self.outcome, signal, value)
        for name, column in self.values.items():
            if not np.isfinite(column).all():
                raise SpecError(f"variable '{name}': has values in the data that are not finite; expected numbers")
        self.columns = {node.name: column_of(node, self.values[node.name]) for node in spec.nodes}
        self.kinds = {name: column.kind for name, column in self.columns.items()}
        self._spread = {name: float(np.std(v, dtype=np.float64)) or 1.0 for name, v in self.values.items()}
        added = np.zeros(rows, bool)
        for j, node in enumerate(spec.nodes):
            added[j] = bool(node.parents) and getattr(node.channel.cls, "link", None) == "identity"
        shock = programs.call(shocks, self._scm, u, np.int32(len(spec.nodes)), added)
        response = jnp.asarray(signal if self.response.linked else value)
        # Roots are never computed anew.
        noises = tuple(bank for bank in self._scm.noises if bank.kind == "noise")
        self._scm = dataclasses.replace(self._scm, noises=noises)
        self._units = Units(x, u, second, shock, added, response)
        self._adjacency = spec.adjacency
        # Both with the variable itself left out.
        self._below: np.ndarray = _closure(spec.adjacency)
        self._above: np.ndarray = self._below.T | np.eye(len(self.names), dtype=bool)

    def run(self, designs: Sequence[Design]) -> list[Reading]:
        """The readings of experiments, in order; equal ones are done once."""
        # The largest first, so that no thread is left with one.
        distinct = sorted(dict.fromkeys(designs), key=lambda design: -len(design.worlds))
        chunks = [distinct[k : k + ROOM] for k in range(0, len(distinct), ROOM)]
        readings: dict[Design, Reading] = {}
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
            for done in threads.map(self._chunk, chunks):
                readings |= done
        return [readings[design] for design in designs]

    def _chunk(self, designs: list[Design]) -> dict[Design, Reading]:
        plan = self._plan(designs)
        count, target = np.int32(len(designs)), np.int32(self._target)
        found = programs.call(experiments, self._scm, self._units, plan, count, target, linked=self.response.linked)
        moments = Moments(*map(np.asarray, found))
        return {design: self._reading(design, Moments(*(m[k] for m in moments))) for k, design in enumerate(designs)}

    def _reading(self, design: Design, m: Moments) -> Reading:
        c, sd = len(design.worlds), self.response.scale
        return Reading(
            design,
            m.effect[:c].astype(np.float64) / sd,
            m.covariance[:c, :c].astype(np.float64) / sd**2,
            m.slope[:c].astype(np.float64) / sd,
            m.slope_error[:c].astype(np.float64) / sd,
            m.x[:c].astype(np.float64),
            self.response.error,
        )

    def _plan(self, designs: list[Design]) -> Plan:
        rows, none, size = len(self._scm.order), len(self.names), WORLDS
        plan = Plan(
            np.full(ROOM, none, np.int32), np.full(ROOM, none, np.int32),
            np.zeros((ROOM, rows), np.int32), np.zeros(ROOM, np.int32),
            np.zeros((ROOM, size), np.float32), np.zeros((ROOM, size), bool),
            np.zeros((ROOM, size), np.float32), np.zeros((ROOM, size), np.int32), np.zeros(ROOM, np.int32),
            np.ones(ROOM, np.float32), np.zeros(ROOM, np.int32),
        )  # fmt: skip
        for p, design in enumerate(designs):
            variable = self.names.index(design.variable)
            second = none if design.second is None else self.names.index(design.second)
            steps = self._between(variable, second)
            plan.variable[p], plan.moderator[p] = variable, second
            plan.steps[p, : len(steps)], plan.n_steps[p] = steps, len(steps)
            plan.n_worlds[p], plan.spread[p] = len(design.worlds), self._spread[design.variable]
            below = self._adjacency[self._order[self._target]]
            plan.passed_on[p] = any(below[self._order[step]] for step in steps)
            for c, world in enumerate(design.worlds):
                if world.dose is not None:
                    plan.dose[p, c], plan.dosed[p, c] = world.dose, True
                if world.level == HELD:
                    plan.leveled[p, c] = 2
                elif world.level is not None:
                    plan.level[p, c], plan.leveled[p, c] = world.level, 1
        return plan

    def _between(self, variable: int, second: int) -> list[int]:
        """The steps of what either variable moves and the outcome, or the other one, needs."""
        chosen = [j for j in (variable, second) if j < len(self.names)]
        moved = np.asarray(self._below[chosen]).any(axis=0)
        needed = np.asarray(self._above[[self.names.index(self.outcome), *chosen]]).any(axis=0)
        return [step for step, j in enumerate(self._order) if np.take(moved & needed, j)]


def _closure(adjacency: np.ndarray) -> np.ndarray:
    """`[d, d]`, whether the column can be reached from the row by one edge or more."""
    reached = adjacency.astype(bool)
    for _ in range(len(adjacency)):
        more = reached | (reached.astype(np.int32) @ reached.astype(np.int32) > 0)
        if (more == reached).all():
            break
        reached = more
    return reached
