"""Multiplicative lognormal noise (paper A.1)."""

import jax.numpy as jnp
from jaxtyping import Float

from mechanisms.base import Array, Noise, param, standard_normal

LOG_SCALE = (0.03, 0.25)  # paper A.1, Multiplicative lognormal


class MultiplicativeLognormal(Noise, family="multiplicative_lognormal"):
    """signal * exp(s z - s^2 / 2), z normal: the factor has mean 1, so the signal stays the expected value.

    The sign of the signal is kept, and a signal of 0 has no noise. Prior: s in [0.03, 0.25].
    """

    log_scale: Float[Array, ""] = param("standard deviation s of the factor's logarithm", gt=0.0, le=10.0, pad=1.0)

    @classmethod
    def prior(cls, rng):
        return {"log_scale": rng.uniform(*LOG_SCALE)}

    def __call__(self, signal, u, parents):
        return signal * jnp.exp(self.log_scale * (standard_normal(u) - 0.5 * self.log_scale))
