"""The experiments: many claims, each in several worlds, of the same units, in one compiled pass.

What an intervention does not reach is what it was, to the last bit, so that only the variables between what is set and
the outcome are computed anew. Which these are is data: one program serves all claims and all graphs of a size.
"""

import concurrent.futures
import dataclasses
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from arena import programs
from arena.dag import topological_order
from arena.rooms import Room, draw, evaluate
from arena.scm import SCM, intervened
from eval.hypotheses.designs import HELD, Design
from eval.hypotheses.simulator import N_UNITS, Response, Simulator, response_of
from mechanisms.base import standard_normal

#: Claims that a call has room for, worlds that an experiment has room for, and what most experiments need of them.
ROOM = 8
WORLDS, FEW = 32, 16


class Units(NamedTuple):
    """The units of all experiments, in the world where nothing is set.

    Attributes:
        x: `[rows, n]` values by column, then rows of 0.
        u, second: `[rows, n]` exogenous noise by column.
        shock: `[rows, n]` what is added to the signal, where the noise is.
        added: `[rows]` where it is.
        response: `[n]` what is read of the outcome.
    """

    x: Float[Any, "rows n"]
    u: Float[Any, "rows n"]
    second: Float[Any, "rows n"] | None
    shock: Float[Any, "rows n"]
    added: Bool[Any, " rows"]
    response: Float[Any, " n"]


class Plan(NamedTuple):
    """Experiments as arrays, `[P, ...]` or of one claim.

    Attributes:
        variable, moderator: Columns; the row of zeros where there is no second variable.
        steps, n_steps: The steps that are computed anew, in order, and how many they are.
        dose, dosed: `[C]` the variable's value in each world, and whether it is set.
        level, leveled: `[C]` the second variable's value; whether it is left alone (0), set (1) or held (2).
        n_worlds: How many of the worlds are real.
        passed_on: Whether a step needs the outcome's value, beyond what is read of it.
    """

    variable: Int[Any, "*P"]
    moderator: Int[Any, "*P"]
    steps: Int[Any, "*P steps"]
    n_steps: Int[Any, "*P"]
    dose: Float[Any, "*P C"]
    dosed: Bool[Any, "*P C"]
    level: Float[Any, "*P C"]
    leveled: Int[Any, "*P C"]
    n_worlds: Int[Any, "*P"]
    passed_on: Int[Any, "*P"]


class Moments(NamedTuple):
    """What is kept of an experiment; all errors are standard errors over the units.

    Attributes:
        effect: `[C]` mean of the response in each world, less that in the natural world.
        covariance: `[C, C]` covariance of these means over other units.
        slope, slope_error: `[C]` covariance of variable and response within a world.
        x, x_square: `[C]` mean and mean square of the variable within a world, from its natural mean.
    """

    effect: Float[Any, "*P C"]
    covariance: Float[Any, "*P C C"]
    slope: Float[Any, "*P C"]
    slope_error: Float[Any, "*P C"]
    x: Float[Any, "*P C"]
    x_square: Float[Any, "*P C"]


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
    """

    design: Design
    effect: np.ndarray
    covariance: np.ndarray
    association: np.ndarray
    association_error: np.ndarray
    x: np.ndarray

    def contrast(self, weights: np.ndarray) -> tuple[float, float]:
        """A weighted sum of the effects, and its Monte Carlo error."""
        error = float(weights @ self.covariance @ weights)
        return float(weights @ self.effect), max(error, 0.0) ** 0.5

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
        response: How the outcome is read.
    """

    def __init__(self, simulator: Simulator, n: int = N_UNITS, room: Room | None = None):
        spec = simulator.checked()
        self.names, self.outcome = spec.names, simulator.outcome
        self.kinds = {node.name: simulator.kind(node.name) for node in spec.nodes}
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
        added = np.zeros(rows, bool)
        for j, node in enumerate(spec.nodes):
            added[j] = bool(node.parents) and getattr(node.channel.cls, "link", None) == "identity"
        shock = programs.call(_shocks, self._scm, u, np.int32(len(spec.nodes)), added)
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
        found = programs.call(_experiments, self._scm, self._units, plan, count, target, linked=self.response.linked)
        moments = Moments(*map(np.asarray, found))
        return {design: self._reading(design, Moments(*(m[k] for m in moments))) for k, design in enumerate(designs)}

    def _reading(self, design: Design, m: Moments) -> Reading:
        c, sd = len(design.worlds), self.response.scale
        spread = float(np.std(self.values[design.variable])) or 1.0
        unit = sd * spread
        return Reading(
            design,
            m.effect[:c].astype(np.float64) / sd,
            m.covariance[:c, :c].astype(np.float64) / sd**2,
            m.slope[:c].astype(np.float64) / unit,
            m.slope_error[:c].astype(np.float64) / unit,
            m.x[:c].astype(np.float64) / spread,
        )

    def _plan(self, designs: list[Design]) -> Plan:
        rows, none, size = len(self._scm.order), len(self.names), WORLDS
        plan = Plan(
            np.full(ROOM, none, np.int32), np.full(ROOM, none, np.int32),
            np.zeros((ROOM, rows), np.int32), np.zeros(ROOM, np.int32),
            np.zeros((ROOM, size), np.float32), np.zeros((ROOM, size), bool),
            np.zeros((ROOM, size), np.float32), np.zeros((ROOM, size), np.int32), np.zeros(ROOM, np.int32),
            np.zeros(ROOM, np.int32),
        )  # fmt: skip
        for p, design in enumerate(designs):
            variable = self.names.index(design.variable)
            second = none if design.second is None else self.names.index(design.second)
            steps = self._between(variable, second)
            plan.variable[p], plan.moderator[p] = variable, second
            plan.steps[p, : len(steps)], plan.n_steps[p] = steps, len(steps)
            plan.n_worlds[p] = len(design.worlds)
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


def _shocks(scm: SCM, u, d, added):
    """`[rows, n]` by column, what noise adds to a signal of 0, where `added`."""

    def step(s, out):
        j, nothing = scm.order[s], jnp.zeros((scm.parents.shape[1], u.shape[1]), u.dtype)
        draw = lambda: scm.disturbed(jnp.asarray(scm.noise)[s], nothing[0], u[j], nothing)  # noqa: E731
        return out.at[j].set(jax.lax.cond(added[j], draw, lambda: nothing[0]))

    return jax.lax.fori_loop(0, d, step, jnp.zeros_like(u))


def _experiments(scm: SCM, units: Units, plan: Plan, count, target, *, linked: bool) -> Moments:
    """The moments of the first `count` experiments."""
    size = plan.dose.shape[1]

    def body(p, out):
        found = _experiment(scm, units, jax.tree.map(lambda leaf: jnp.asarray(leaf)[p], plan), target, linked)
        return jax.tree.map(lambda leaves, leaf: leaves.at[p].set(leaf), out, found)

    zeros = lambda *shape: jnp.zeros((ROOM, *shape), units.x.dtype)  # noqa: E731
    start = Moments(zeros(size), zeros(size, size), zeros(size), zeros(size), zeros(size), zeros(size))

    return jax.lax.fori_loop(0, count, body, start)


def _experiment(scm: SCM, units: Units, plan: Plan, target, linked: bool) -> Moments:
    size, n = plan.dose.shape[0], units.x.shape[1]
    natural = units.x[plan.variable]
    center = jnp.mean(natural)

    def world(c, state):
        x, response, shifts, moments = state
        dosed, leveled = plan.dosed[c], plan.leveled[c]
        x = x.at[plan.moderator].set(jnp.where(leveled == 1, plan.level[c], units.x[plan.moderator]))
        x = x.at[plan.variable].set(jnp.where(dosed, plan.dose[c], natural))

        def step(k, state):
            x, response = state
            s = plan.steps[k]
            j = scm.order[s]
            fixed = ((j == plan.variable) & dosed) | ((j == plan.moderator) & (leveled > 0))
            read = linked & (s == target)

            def compute():
                signal = _signal(scm, units, s, x)
                value = jax.lax.cond(
                    read & (plan.passed_on == 0), lambda: x[j], lambda: _value(scm, units, s, x, signal)
                )  # fmt: skip
                return value, jnp.where(read, (signal - scm.center[j]) / scm.scale[j], value)

            value, shown = jax.lax.cond(fixed, lambda: (x[j], x[j]), compute)
            response = jax.lax.cond(s == target, lambda: shown, lambda: response)
            return x.at[j].set(value), response

        # Steps of one experiment are the same in all its worlds, so nothing is left over from the world before.
        x, response = jax.lax.fori_loop(0, plan.n_steps, step, (x, response))

        def associations():
            dose = x[plan.variable] - center
            together = (dose - jnp.mean(dose)) * (response - jnp.mean(response))
            return jnp.mean(together), jnp.std(together) / n**0.5, jnp.mean(dose), jnp.mean(dose**2)

        own = jax.lax.cond(dosed, lambda: (jnp.zeros((), x.dtype),) * 4, associations)
        moments = jax.tree.map(lambda leaves, leaf: leaves.at[c].set(leaf), moments, own)
        return x, response, shifts.at[c].set(response - units.response), moments

    def summary(shifts, count=size):
        effect = jnp.mean(shifts[:count], axis=1)
        apart = shifts[:count] - effect[:, None]
        covariance = jnp.matmul(apart, apart.T, precision="highest") / n / n
        return jnp.pad(effect, (0, size - count)), jnp.pad(covariance, (0, size - count))

    zeros = jnp.zeros(size, units.x.dtype)
    start = units.x, units.response, jnp.zeros((size, n), units.x.dtype), (zeros,) * 4
    _, _, shifts, moments = jax.lax.fori_loop(0, plan.n_worlds, world, start)
    # Where nothing that is set reaches the outcome, all shifts are 0.
    nothing = lambda shifts: (zeros, jnp.zeros((size, size), zeros.dtype))  # noqa: E731
    few = lambda shifts: summary(shifts, FEW)  # noqa: E731
    which = jnp.where(plan.n_steps == 0, 0, jnp.where(plan.n_worlds <= FEW, 1, 2))
    effect, covariance = jax.lax.switch(which, [nothing, few, summary], shifts)
    return Moments(effect, covariance, *moments)


def _signal(scm: SCM, units: Units, s, x):
    j, parents, mechanism, _ = _row(scm, s)
    return jnp.asarray(scm.strength)[j] * scm.signal(mechanism, x, parents)


def _value(scm: SCM, units: Units, s, x, signal):
    j, parents, _, noise = _row(scm, s)
    drawn = lambda: scm.disturbed(noise, signal, units.u[j], x[parents])  # noqa: E731
    value = jax.lax.cond(jnp.asarray(units.added)[j], lambda: signal + units.shock[j], drawn)
    if units.second is not None:
        value = value + jnp.asarray(scm.extra)[j] * standard_normal(units.second[j])
    center, scale, gain, offset = (jnp.asarray(t)[j] for t in (scm.center, scm.scale, scm.gain, scm.offset))
    return intervened((value - center) / scale, gain, offset)


def _row(scm: SCM, s):
    return tuple(jnp.asarray(table)[s] for table in (scm.order, scm.parents, scm.mechanism, scm.noise))


def _closure(adjacency: np.ndarray) -> np.ndarray:
    """`[d, d]`, whether the column can be reached from the row by one edge or more."""
    reached = adjacency.astype(bool)
    for _ in range(len(adjacency)):
        more = reached | (reached.astype(np.int32) @ reached.astype(np.int32) > 0)
        if (more == reached).all():
            break
        reached = more
    return reached
