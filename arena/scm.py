"""`SCM`: noise -> evaluate -> sample, for a whole graph of different mechanisms in one compiled program.

An SCM is a pytree. Nodes of one family (and one size) lie in a *bank*: a module whose arrays have a leading slot
axis. Integer tables say, for each step in topological order, which node is computed, from which rows, by which slot of
which bank. One loop walks the steps, one `lax.switch` picks the bank: SCMs with equal table and bank shapes share one
compiled program, whatever their graphs and parameters are.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Float, Int, PRNGKeyArray

from arena.blocks import RootBlock
from arena.errors import SpecError
from mechanisms.base import Array, Component, standard_normal

#: Folded into the caller's key first, so that nothing the caller derives from it is our noise.
NOISE = 0x6E6F6973
#: Added to a column's number for the key of its second noise.
SECOND_NOISE = 1 << 20


class SCM(eqx.Module):
    """A structural causal model over `d` variables (paper 3.1, eq. 1). Made by `arena.compile`.

    A node's value is `((strength * f(parents)) with noise - center) / scale`, then what interventions make of it.

    Attributes:
        names: The variables, in column order.
        order: Column of the node computed at each step; a topological order.
        parents: Columns of its parents, padded with `d`, a column that is always 0.
        mechanism: Bank and slot of its structural equation, by step; roots have the last bank, which gives 0.
        noise: Bank and slot of its noise, or of its root distribution, by step.
        mechanisms, noises: The banks.
        strength: What the structural equation is multiplied by, by column; `[d]`, or `[n, d]` where rows differ.
        center, scale: What standardises the value inside the SCM, by column; 0 and 1 where nothing does.
        extra: Standard deviation of a second, Gaussian noise, by column; None where there is none.
        block: The joint distribution of dependent roots; None where roots are independent.
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
    strength: Float[Array, "..."]
    center: Float[Array, " d"]
    scale: Float[Array, " d"]
    extra: Float[Array, " d"] | None
    block: RootBlock | None
    gain: Float[Array, "*n d"]
    offset: Float[Array, "*n d"]

    @property
    def d(self) -> int:
        """Number of variables."""
        return self.gain.shape[-1]

    @eqx.filter_jit
    def draw_noise(self, key: PRNGKeyArray, n: int) -> Float[Array, "n d *two"]:
        """Exogenous noise of n units, uniform on (0, 1): `[n, d]`, or `[n, d, 2]` where there is a second noise.

        Each column has a key of its own, so it depends neither on the other variables nor on any intervention: the
        same key is the same units in another world. The first n rows are the same for any larger n.
        """
        columns, key = jnp.arange(self.d), jax.random.fold_in(key, NOISE)
        draw = jax.vmap(lambda j: uniform(jax.random.fold_in(key, j), n, self.gain.dtype))
        first = draw(columns).T
        return first if self.extra is None else jnp.stack([first, draw(columns + SECOND_NOISE).T], axis=-1)

    @eqx.filter_jit
    def evaluate(self, noise: Float[Array, "n d *two"]) -> Float[Array, "n d"]:
        """The values of units with the given noise, interventions included; `noise` as from `draw_noise`."""
        u, second = self.exogenous(noise)

        def step(x, row):
            _, value = self.node(row, x, u, second)
            return x.at[row[0]].set(value), None

        x = jnp.zeros((self.d + 1, noise.shape[0]), u.dtype)
        # Checkpointed: values are cheap to recompute; what a gradient would store of 256 features is not.
        x, _ = jax.lax.scan(jax.checkpoint(step), x, (self.order, self.parents, self.mechanism, self.noise))
        return x[: self.d].T

    def exogenous(self, noise: Float[Array, "n d *two"]) -> tuple[Float[Array, "d n"], Float[Array, "d n"] | None]:
        """Noise as from `draw_noise`, by column: uniform, or the value that a root block gives; and the second one."""
        d, n = self.d, noise.shape[0]
        if self.gain.ndim == 2 and len(self.gain) != n:
            raise SpecError(f"the SCM is edited for {len(self.gain)} rows, found noise for {n}")
        if noise.shape[1:] != ((d,) if self.extra is None else (d, 2)):
            shape = "[n, d]" if self.extra is None else "[n, d, 2]"
            raise SpecError(f"the noise has shape {noise.shape}, this SCM with d = {d} takes {shape}")
        noise = jnp.asarray(noise)
        u = (noise if self.extra is None else noise[..., 0]).T
        if self.block is not None:
            u = jnp.where(self.block.member[:, None], self.block(u), u)
        return u, None if self.extra is None else noise[..., 1].T

    def node(self, row: tuple[Any, ...], x: Float[Array, "columns n"], u: Float[Array, "d n"], second: Any) -> Any:
        """One step: the structural equation of a node, and its value, interventions included.

        Args:
            row: Column, parents, mechanism and noise of the step.
            x: Values by column, of the parents at least, then a row of zeros.
            u, second: As from `exogenous`.

        Returns:
            The signal, scaled as the value is, and the value; both `[n]`.
        """
        j, parents, mechanism, noise = row
        strength, gain, offset = (by_node(table) for table in (self.strength, self.gain, self.offset))
        center, scale = jnp.asarray(self.center)[j], jnp.asarray(self.scale)[j]
        columns = x[parents]
        signal = strength[j] * self.signal(mechanism, columns)
        value = self.disturbed(noise, signal, u[j], columns)
        if second is not None:
            value = value + jnp.asarray(self.extra)[j] * standard_normal(second[j])
        return (signal - center) / scale, intervened((value - center) / scale, gain[j], offset[j])

    def sample(self, key: PRNGKeyArray, n: int) -> Float[Array, "n d"]:
        """Values of n fresh units: `evaluate(draw_noise(key, n))`."""
        return self.evaluate(self.draw_noise(key, n))

    def signal(self, mechanism: Int[Array, "2"], columns: Float[Array, "k n"], rows=None) -> Float[Array, " n"]:
        """A structural equation, by bank and slot, on the parents' values; the given rows of them, if any are given."""
        branches = [*map(_signal_of, self.mechanisms), _no_signal]
        return jax.lax.switch(mechanism[0], branches, mechanism[1], columns, rows)

    def disturbed(self, noise: Int[Array, "2"], signal, u, columns) -> Float[Array, " n"]:
        """The signal with its noise, or the root's value, by bank and slot."""
        return jax.lax.switch(noise[0], [*map(_value_of, self.noises)], noise[1], signal, u, columns)


def uniform(key: PRNGKeyArray, n: int, dtype: Any) -> Float[Array, " n"]:
    """n uniforms from 23 bits each (52 in float64), centred: symmetric about 1/2, never 0 or 1, exact."""
    if dtype == jnp.float64:
        return ((jax.random.bits(key, (n,), jnp.uint64) >> 12).astype(dtype) + 0.5) * 2.0**-52
    return ((jax.random.bits(key, (n,), jnp.uint32) >> 9).astype(dtype) + 0.5) * 2.0**-23


def intervened(value, gain, offset):
    """`gain * value + offset`; just `offset` under a hard do(), also where the value is not finite."""
    # The inner selection keeps a value that is not finite, and no longer matters, out of the gradient.
    kept = jnp.where((gain != 0) | jnp.isfinite(value), value, 0.0)
    return gain * kept + offset


def by_node(table: Float[Array, "*n d"]) -> Float[Array, "d n"]:
    """A table with nodes first, rows after them; one row where all are alike."""
    return jnp.atleast_2d(jnp.asarray(table)).T


def slot_of(bank: Component, slot: Int[Array, ""]) -> Any:
    """One component of a bank."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf)[slot], bank)


def _signal_of(bank: Component):
    return lambda slot, columns, rows: slot_of(bank, slot).over(columns, rows)


def _no_signal(slot, columns, rows):
    return jnp.zeros(columns.shape[1], columns.dtype)


def _value_of(bank: Component):
    def value(slot, signal, u, columns):
        component = slot_of(bank, slot)
        if component.kind == "root":
            return jax.vmap(component)(u)
        return jax.vmap(component, in_axes=(0, 0, 1))(signal, u, columns)

    return value
