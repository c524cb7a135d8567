"""Counts: the signal is the logarithm of the mean."""

import jax
import jax.numpy as jnp
from jaxtyping import Float

from mechanisms.base import Array, Noise, param

BIAS = (0.0, 2.0)  # ours; the paper has no count mechanisms
#: A mean is at most this.
MOST = 1000.0
STEPS = 11  # counts below 2^11 = 2048, 33 standard deviations above the largest mean


class PoissonLog(Noise, family="poisson_log"):
    """A Poisson count of mean exp(signal + bias), at most 1000: its quantile function at u, so it rises with both.

    In float32 the quantile is one count off for some units, seven in a thousand at a mean of 900.

    Prior: bias in [0, 2].
    """

    link = "log"

    bias: Float[Array, ""] = param("logarithm of the mean where the signal is 0", default=0.0)

    @classmethod
    def prior(cls, rng):
        return {"bias": rng.uniform(*BIAS)}

    def __call__(self, signal, u, parents):
        # A count has no slope by the signal; nothing is passed through the search.
        mean = jax.lax.stop_gradient(jnp.clip(jnp.exp(jnp.minimum(signal + self.bias, 20.0)), 1e-30, MOST))

        def halve(k, bounds):
            low, high = bounds  # P(X <= low) < u <= P(X <= high)
            middle = jnp.floor(0.5 * (low + high))
            enough = jax.scipy.special.gammaincc(middle + 1.0, mean) >= u
            return jnp.where(enough, low, middle), jnp.where(enough, middle, high)

        start = (jnp.full_like(mean, -1.0), jnp.full_like(mean, 2.0**STEPS - 1.0))
        return jax.lax.fori_loop(0, STEPS, halve, start)[1].astype(signal.dtype)
