"""Truncated Gaussian roots (paper A.1)."""

import jax.numpy as jnp
from jaxtyping import Float

from mechanisms.base import Array, Root, param, standard_normal

# Paper A.1, Truncated Gaussian roots.
MEAN_SCALE = 0.8
SCALE = (0.4, 1.4)
BOUND = 2.5


class TruncatedGaussianRoot(Root, family="truncated_gaussian"):
    """mean + scale * z, z normal and clipped to [-2.5, 2.5]: 0.6 % of the values lie at each end.

    Prior (paper A.1): mean from N(0, 0.8^2), scale in [0.4, 1.4].
    """

    mean: Float[Array, ""] = param("mean")
    scale: Float[Array, ""] = param("standard deviation before clipping", gt=0.0, pad=1.0)

    @classmethod
    def prior(cls, rng):
        return {"mean": rng.normal(0.0, MEAN_SCALE), "scale": rng.uniform(*SCALE)}

    def __call__(self, u):
        return self.mean + self.scale * jnp.clip(standard_normal(u), -BOUND, BOUND)
