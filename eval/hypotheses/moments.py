"""The compiled part of experiments: the moments of many claims, each in several worlds of the same units, in one pass.

What an intervention does not reach is what it was, to the last bit, so that only the variables between what is set and
the outcome are computed anew. Which these are is data: one program serves all claims and all graphs of a size.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float, Int

from arena.scm import SCM, intervened
from eval.hypotheses.designs import WORLDS
from mechanisms.base import standard_normal

#: Claims that a call has room for.
ROOM = 8
#: Covariances are of as many worlds as the least of these that holds the experiment's.
SIZES = (16, 32, WORLDS)


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
        spread: What differences of the variable are divided by.
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
    spread: Float[Any, "*P"]
    passed_on: Int[Any, "*P"]


class Moments(NamedTuple):
    """What is kept of an experiment; all errors are standard errors over the units.

    Attributes:
        effect: `[C]` mean of the response in each world, less that in the natural world.
        covariance: `[C, C]` covariance of these means over other units.
        slope, slope_error: `[C]` covariance of variable and response within a world, in units of the spread.
        x: `[C]` mean of the variable within a world, from its natural mean, in units of its spread.
    """

    effect: Float[Any, "*P C"]
    covariance: Float[Any, "*P C C"]
    slope: Float[Any, "*P C"]
    slope_error: Float[Any, "*P C"]
    x: Float[Any, "*P C"]


def shocks(scm: SCM, u, d, added):
    """`[rows, n]` by column, what noise adds to a signal of 0, where `added`."""

    def step(s, out):
        j, nothing = scm.order[s], jnp.zeros((scm.parents.shape[1], u.shape[1]), u.dtype)
        draw = lambda: scm.disturbed(jnp.asarray(scm.noise)[s], nothing[0], u[j], nothing)  # noqa: E731
        return out.at[j].set(jax.lax.cond(added[j], draw, lambda: nothing[0]))

    return jax.lax.fori_loop(0, d, step, jnp.zeros_like(u))


def experiments(scm: SCM, units: Units, plan: Plan, count, target, *, linked: bool) -> Moments:
    """The moments of the first `count` experiments."""
    size = plan.dose.shape[1]

    def body(p, out):
        found = _experiment(scm, units, jax.tree.map(lambda leaf: jnp.asarray(leaf)[p], plan), target, linked)
        return jax.tree.map(lambda leaves, leaf: leaves.at[p].set(leaf), out, found)

    zeros = lambda *shape: jnp.zeros((ROOM, *shape), units.x.dtype)  # noqa: E731
    start = Moments(zeros(size), zeros(size, size), zeros(size), zeros(size), zeros(size))

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
            dose = (x[plan.variable] - center) / plan.spread
            together = (dose - jnp.mean(dose)) * (response - jnp.mean(response))
            return jnp.mean(together), jnp.std(together) / n**0.5, jnp.mean(dose)

        own = jax.lax.cond(dosed, lambda: (jnp.zeros((), x.dtype),) * 3, associations)
        moments = jax.tree.map(lambda leaves, leaf: leaves.at[c].set(leaf), moments, own)
        return x, response, shifts.at[c].set(response - units.response), moments

    def summary(shifts, count):
        effect = jnp.mean(shifts[:count], axis=1)
        apart = shifts[:count] - effect[:, None]
        covariance = jnp.matmul(apart, apart.T, precision="highest") / n / n
        return jnp.pad(effect, (0, size - count)), jnp.pad(covariance, (0, size - count))

    zeros = jnp.zeros(size, units.x.dtype)
    start = units.x, units.response, jnp.zeros((size, n), units.x.dtype), (zeros,) * 3
    _, _, shifts, moments = jax.lax.fori_loop(0, plan.n_worlds, world, start)
    # Where nothing that is set reaches the outcome, all shifts are 0.
    nothing = lambda shifts: (zeros, jnp.zeros((size, size), zeros.dtype))  # noqa: E731
    some = [functools.partial(summary, count=count) for count in SIZES]
    which = 1 + jnp.searchsorted(jnp.array(SIZES), plan.n_worlds)
    effect, covariance = jax.lax.switch(jnp.where(plan.n_steps == 0, 0, which), [nothing, *some], shifts)
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
