"""Mixture-of-two-Gaussians roots (paper A.1)."""

import jax.numpy as jnp
from jaxtyping import Float

from mechanisms import quantiles
from mechanisms.base import Array, Root, param, standard_normal

# Paper A.1, Mixture Gaussian roots.
PROBABILITY = (0.2, 0.8)
LOW_MEAN = (-2.0, -0.2)
HIGH_MEAN = (0.2, 2.0)
SCALE = (0.3, 1.0)


class MixtureGaussianRoot(Root, family="mixture_gaussian"):
    """N(low_mean, low_scale^2) with the given probability, else N(high_mean, high_scale^2).

    u below `probability` picks the low component, and its place within that share is the component's quantile:
    rising in u within a component, and not across them where they overlap.

    Prior (paper A.1): probability in [0.2, 0.8], means in [-2, -0.2] and [0.2, 2], scales in [0.3, 1].
    """

    probability: Float[Array, ""] = param("probability of the low component", ge=0.0, le=1.0, pad=0.5)
    low_mean: Float[Array, ""] = param("mean of the low component")
    high_mean: Float[Array, ""] = param("mean of the high component")
    low_scale: Float[Array, ""] = param("standard deviation of the low component", gt=0.0, pad=1.0)
    high_scale: Float[Array, ""] = param("standard deviation of the high component", gt=0.0, pad=1.0)

    @classmethod
    def prior(cls, rng):
        return {
            "probability": rng.uniform(*PROBABILITY),
            "low_mean": rng.uniform(*LOW_MEAN),
            "high_mean": rng.uniform(*HIGH_MEAN),
            "low_scale": rng.uniform(*SCALE),
            "high_scale": rng.uniform(*SCALE),
        }

    def __call__(self, u):
        is_low, rest = quantiles.split(u, self.probability)
        mean = jnp.where(is_low, self.low_mean, self.high_mean)
        return mean + jnp.where(is_low, self.low_scale, self.high_scale) * standard_normal(rest)
