"""Piecewise / threshold mechanism (paper A.1)."""

import jax.numpy as jnp
from jaxtyping import Float

from mechanisms.base import Array, Mechanism, param
from mechanisms.priors import signed_weights

# Paper A.1, Piecewise/threshold.
CUTOFF = (-0.6, 0.6)
LOW_SLOPE = (0.2, 1.0)
HIGH_SLOPE = (1.0, 2.5)
OFFSET = (-1.5, 1.5)


class PiecewiseThreshold(Mechanism, family="piecewise_threshold"):
    """f(x) = sum_k weight_k g_k(x_k), where g_k is low_slope_k x up to the cutoff, high_slope_k x + offset_k above.

    Prior (paper A.1): cutoffs in [-0.6, 0.6], low slopes in [0.2, 1.0], high slopes in [1.0, 2.5], offsets in
    [-1.5, 1.5]; weights as in the linear family.
    """

    weight: Float[Array, "parents"] = param("effect of each parent's response")
    cutoff: Float[Array, "parents"] = param("where the response of a parent changes")
    low_slope: Float[Array, "parents"] = param("slope at or below the cutoff")
    high_slope: Float[Array, "parents"] = param("slope above the cutoff")
    offset: Float[Array, "parents"] = param("added above the cutoff")

    @classmethod
    def prior(cls, rng, parents):
        k = len(parents)
        return {
            "weight": signed_weights(rng, k),
            "cutoff": rng.uniform(*CUTOFF, size=k).tolist(),
            "low_slope": rng.uniform(*LOW_SLOPE, size=k).tolist(),
            "high_slope": rng.uniform(*HIGH_SLOPE, size=k).tolist(),
            "offset": rng.uniform(*OFFSET, size=k).tolist(),
        }

    def __call__(self, parents):
        low = self.low_slope * parents
        high = self.high_slope * parents + self.offset
        return jnp.sum(self.weight * jnp.where(parents <= self.cutoff, low, high))
