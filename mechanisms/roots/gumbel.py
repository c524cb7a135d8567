"""Gumbel roots (paper A.1)."""

import jax.numpy as jnp
from jaxtyping import Float

from mechanisms.base import Array, Root, param

# Paper A.1, Gumbel roots.
LOCATION = (-1.0, 1.0)
SCALE = (0.3, 1.8)


class GumbelRoot(Root, family="gumbel"):
    """Gumbel, long tail upwards. Prior: location (the mode) in [-1, 1], scale in [0.3, 1.8]."""

    location: Float[Array, ""] = param("mode")
    scale: Float[Array, ""] = param("scale; the standard deviation is 1.28 times as large", gt=0.0, pad=1.0)

    @classmethod
    def prior(cls, rng):
        return {"location": rng.uniform(*LOCATION), "scale": rng.uniform(*SCALE)}

    def __call__(self, u):
        return self.location - self.scale * jnp.log(-jnp.log(u))
