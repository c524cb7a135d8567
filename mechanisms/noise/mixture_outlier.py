"""Gaussian noise with rare outliers (paper A.1)."""

import jax.numpy as jnp
from jaxtyping import Float

from mechanisms import quantiles
from mechanisms.base import Array, Noise, param, standard_normal

# Paper A.1, Mixture-outlier.
SCALE = (0.02, 0.15)
PROBABILITY = (0.01, 0.08)
OUTLIER_SCALE = (0.8, 2.5)


class MixtureOutlier(Noise, family="mixture_outlier"):
    """signal + N(0, outlier_scale^2) with the given probability, else signal + N(0, scale^2).

    u below `probability` is an outlier; the place of u within its component's share is the component's quantile, so
    the value rises with u within a component, not across the two.

    Prior (paper A.1): scale in [0.02, 0.15], probability in [0.01, 0.08], outlier scale in [0.8, 2.5].
    """

    scale: Float[Array, ""] = param("standard deviation of ordinary units", ge=0.0, pad=1.0)
    probability: Float[Array, ""] = param("probability of an outlier", ge=0.0, le=1.0)
    outlier_scale: Float[Array, ""] = param("standard deviation of outliers", ge=0.0, pad=1.0)

    @classmethod
    def prior(cls, rng):
        return {
            "scale": rng.uniform(*SCALE),
            "probability": rng.uniform(*PROBABILITY),
            "outlier_scale": rng.uniform(*OUTLIER_SCALE),
        }

    def __call__(self, signal, u, parents):
        is_outlier, rest = quantiles.split(u, self.probability)
        return signal + jnp.where(is_outlier, self.outlier_scale, self.scale) * standard_normal(rest)
