"""Centred Gumbel noise (paper A.1)."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from mechanisms.base import Array, Noise, param

SCALE = (0.03, 0.35)  # paper A.1, Gumbel noise


class Gumbel(Noise, family="gumbel"):
    """signal + scale * (G - Euler's constant), G standard Gumbel: mean 0, long tail upwards.

    Prior: scale in [0.03, 0.35].
    """

    link = "identity"

    scale: Float[Array, ""] = param("scale; the standard deviation is 1.28 times as large", gt=0.0, pad=1.0)

    @classmethod
    def prior(cls, rng):
        return {"scale": rng.uniform(*SCALE)}

    def __call__(self, signal, u, parents):
        return signal + self.scale * (-jnp.log(-jnp.log(u)) - np.euler_gamma)
