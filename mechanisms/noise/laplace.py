"""Laplace noise (paper A.1)."""

import jax.numpy as jnp
from jaxtyping import Float

from mechanisms.base import Array, Noise, param

SCALE = (0.03, 0.35)  # paper A.1, Laplace


class Laplace(Noise, family="laplace"):
    """signal + Laplace of scale b, whose standard deviation is b sqrt(2). Prior: scale in [0.03, 0.35]."""

    link = "identity"

    scale: Float[Array, ""] = param("scale b", gt=0.0, pad=1.0)

    @classmethod
    def prior(cls, rng):
        return {"scale": rng.uniform(*SCALE)}

    def __call__(self, signal, u, parents):
        tail = jnp.log(2.0 * jnp.minimum(u, 1.0 - u))
        return signal + self.scale * jnp.where(u < 0.5, tail, -tail)
