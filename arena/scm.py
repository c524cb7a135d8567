"""`SCM`: noise -> evaluate -> sample, for a whole graph of different mechanisms in one compiled program.

An SCM is a pytree. Nodes of one family (and one size) lie in a *bank*: a module whose arrays have a leading slot
axis. Integer tables say, for each step in topological order, which node is computed, from which rows, by which slot of
which bank. One `lax.scan` walks the steps, one `lax.switch` picks the bank: SCMs with equal table and bank shapes share
one compiled program, whatever their graphs and parameters are.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Float, Int, PRNGKeyArray

from arena.errors import SpecError
from mechanisms.base import Array, Component


class SCM(eqx.Module):
    """A structural causal model over `d` variables (paper 3.1, eq. 1). Made by `arena.compile`.

    Attributes:
        names: The variables, in column order.
        order: Column of the node computed at each step; a topological order.
        parents: Columns of its parents, padded with `d`, a column that is always 0.
        mechanism: Bank and slot of its structural equation, by step; roots have the last bank, which gives 0.
        noise: Bank and slot of its noise, or of its root distribution, by step.
        mechanisms, noises: The banks.
        gain, offset: What interventions make of a structural value x, by column: `gain * x + offset`. A hard do() has
            gain 0; no intervention is gain 1, offset 0. `[d]`, or `[n, d]` where rows differ.
    """

    names: tuple[str, ...] = eqx.field(static=True)
    order: Int[Array, " d"]
    parents: Int[Array, "d k"]
    mechanism: Int[Array, "d 2"]
    noise: Int[Array, "d 2"]
    mechanisms: tuple[Component, ...]
    noises: tuple[Component, ...]
    gain: Float[Array, "*n d"]
    offset: Float[Array, "*n d"]

    @property
    def d(self) -> int:
        """Number of variables."""
        return self.gain.shape[-1]

    def draw_noise(self, key: PRNGKeyArray, n: int) -> Float[Array, "n d"]:
        """Exogenous noise of n units, uniform on (0, 1).

        Each column has a key of its own, so it depends neither on the other variables nor on any intervention: the
        same key is the same units in another world. The first n rows are the same for any larger n.
        """
        keys = jax.vmap(lambda j: jax.random.fold_in(key, j))(jnp.arange(self.d))
        bits = jax.vmap(lambda k: jax.random.bits(k, (n,), jnp.uint32))(keys)
        # 23 bits, centred: symmetric about 1/2, never 0 or 1, exact in float32.
        return (((bits >> 9).astype(self.gain.dtype) + 0.5) * 2.0**-23).T

    def evaluate(self, noise: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """The values of units with the given noise, interventions included; `noise` as from `draw_noise`."""
        d, n = self.d, noise.shape[0]
        if self.gain.ndim == 2 and len(self.gain) != n:
            raise SpecError(f"the SCM is edited for {len(self.gain)} rows, found noise for {n}")
        u, gain, offset = jnp.asarray(noise).T, _by_node(self.gain), _by_node(self.offset)

        @jax.checkpoint  # values are cheap to recompute; what a gradient would store of 256 features is not
        def structural(columns, u_j, mechanism, noise):
            signal = jax.lax.switch(
                mechanism[0], [*map(_signal_of, self.mechanisms), _no_signal], mechanism[1], columns
            )
            return jax.lax.switch(noise[0], [*map(_value_of, self.noises)], noise[1], signal, u_j, columns)

        def step(x, row):
            j, parents, mechanism, noise = row
            value = structural(x[parents], u[j], mechanism, noise)
            value = jnp.where(gain[j] == 0, offset[j], gain[j] * value + offset[j])
            return x.at[j].set(value), None

        x = jnp.zeros((d + 1, n), u.dtype)
        x, _ = jax.lax.scan(step, x, (self.order, self.parents, self.mechanism, self.noise))
        return x[:d].T

    def sample(self, key: PRNGKeyArray, n: int) -> Float[Array, "n d"]:
        """Values of n fresh units: `evaluate(draw_noise(key, n))`."""
        return self.evaluate(self.draw_noise(key, n))


def _by_node(table: Float[Array, "*n d"]) -> Float[Array, "d n"]:
    """An intervention table with nodes first, rows after them; one row where all are alike."""
    return jnp.atleast_2d(jnp.asarray(table)).T


def _slot(bank: Component, slot: Int[Array, ""]) -> Any:
    return jax.tree.map(lambda leaf: jnp.asarray(leaf)[slot], bank)


def _signal_of(bank: Component):
    return lambda slot, columns: jax.vmap(_slot(bank, slot), in_axes=1)(columns)


def _no_signal(slot, columns):
    return jnp.zeros(columns.shape[1], columns.dtype)


def _value_of(bank: Component):
    def value(slot, signal, u, columns):
        component = _slot(bank, slot)
        if component.kind == "root":
            return jax.vmap(component)(u)
        return jax.vmap(component, in_axes=(0, 0, 1))(signal, u, columns)

    return value
