"""Counts: the signal is the logarithm of the mean."""

import jax.numpy as jnp
from jaxtyping import Float

from mechanisms import quantiles
from mechanisms.base import Array, Noise, param

BIAS = (0.0, 2.0)  # ours; the paper has no count mechanisms
#: A mean is at most this.
MOST = 1000.0


class PoissonLog(Noise, family="poisson_log"):
    """A Poisson count of mean exp(signal + bias), at most 1000: its quantile function at u, so it rises with both.

    Prior: bias in [0, 2].
    """

    link = "log"

    bias: Float[Array, ""] = param("logarithm of the mean where the signal is 0", default=0.0)

    @classmethod
    def prior(cls, rng):
        return {"bias": rng.uniform(*BIAS)}

    def __call__(self, signal, u, parents):
        mean = jnp.clip(jnp.exp(jnp.minimum(signal + self.bias, 20.0)), 1e-30, MOST)
        return quantiles.poisson(mean, u).astype(signal.dtype)
