"""What keeps heavy tails finite: powers and products of unbounded inputs would leave float32 within a few nodes."""

import jax.numpy as jnp


def compress(x, limit: float):
    """x up to |x| = limit, sign(x) (limit + log(1 + |x| - limit)) beyond: smooth, monotone, of slow growth."""
    inside = jnp.clip(x, -limit, limit)
    beyond = x - inside
    return inside + jnp.sign(beyond) * jnp.log(1.0 + jnp.abs(beyond))
