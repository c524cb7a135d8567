"""Exponential roots (paper A.1)."""

import jax.numpy as jnp
from jaxtyping import Float

from mechanisms.base import Array, Root, param

RATE = (0.4, 2.5)  # paper A.1, Exponential roots


class ExponentialRoot(Root, family="exponential"):
    """Exponential of mean 1 / rate. Prior: rate in [0.4, 2.5]."""

    rate: Float[Array, ""] = param("rate", gt=0.0, pad=1.0)

    @classmethod
    def prior(cls, rng):
        return {"rate": rng.uniform(*RATE)}

    def __call__(self, u):
        return -jnp.log1p(-u) / self.rate
