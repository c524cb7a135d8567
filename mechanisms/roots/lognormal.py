"""Lognormal roots (paper A.1)."""

import jax.numpy as jnp
from jaxtyping import Float

from mechanisms.base import Array, Root, param, standard_normal

# Paper A.1, Lognormal roots.
LOG_MEAN = (-0.3, 0.7)
LOG_SCALE = (0.25, 0.9)


class LognormalRoot(Root, family="lognormal"):
    """exp of a normal. Prior: log mean in [-0.3, 0.7], log standard deviation in [0.25, 0.9]."""

    log_mean: Float[Array, ""] = param("mean of the logarithm")
    log_scale: Float[Array, ""] = param("standard deviation of the logarithm", gt=0.0, pad=1.0)

    @classmethod
    def prior(cls, rng):
        return {"log_mean": rng.uniform(*LOG_MEAN), "log_scale": rng.uniform(*LOG_SCALE)}

    def __call__(self, u):
        return jnp.exp(self.log_mean + self.log_scale * standard_normal(u))
