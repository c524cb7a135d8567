"""Counts whose mean is the signal: photons, decays, events in a window."""

import jax.numpy as jnp
from jaxtyping import Float

from mechanisms import quantiles
from mechanisms.base import Array, Noise, param

BACKGROUND = (0.0, 2.0)  # ours; the paper gives no ranges for counts


class PoissonCount(Noise, family="poisson_count"):
    """A Poisson count of mean signal + background, 0 where that is negative: its quantile function at u.

    Prior: background in [0, 2].
    """

    background: Float[Array, ""] = param("mean count where the signal is 0, as of a dark detector", default=0.0)

    @classmethod
    def prior(cls, rng):
        return {"background": rng.uniform(*BACKGROUND)}

    def __call__(self, signal, u, parents):
        return quantiles.poisson(jnp.maximum(signal + self.background, 0.0), u).astype(signal.dtype)
