"""Centred exponential noise (paper A.1)."""

import jax.numpy as jnp
from jaxtyping import Float

from mechanisms.base import Array, Noise, param

# Paper A.1, Exponential noise.
RATE = (0.8, 4.0)
SCALE = (0.03, 0.35)


class Exponential(Noise, family="exponential"):
    """signal + scale * (E - 1 / rate), E exponential: never below -scale / rate, long tail upwards.

    Prior (paper A.1): rate in [0.8, 4], scale in [0.03, 0.35].
    """

    rate: Float[Array, ""] = param("rate of E", gt=0.0, pad=1.0)
    scale: Float[Array, ""] = param("factor; the standard deviation is scale / rate", gt=0.0, pad=1.0)

    @classmethod
    def prior(cls, rng):
        return {"rate": rng.uniform(*RATE), "scale": rng.uniform(*SCALE)}

    def __call__(self, signal, u, parents):
        return signal + self.scale / self.rate * (-jnp.log1p(-u) - 1.0)
