"""Heteroskedastic noise (paper A.1)."""

import jax
import jax.numpy as jnp
from jaxtyping import Float

from mechanisms.base import Array, Noise, param, standard_normal

# Paper A.1, Heteroskedastic.
BASE = (0.02, 0.15)
SLOPE = (0.02, 0.20)


class Heteroskedastic(Noise, family="heteroskedastic"):
    """signal + (base + slope * sigmoid(|signal|)) * standard normal.

    Prior (paper A.1): base in [0.02, 0.15], slope in [0.02, 0.20].
    """

    base: Float[Array, ""] = param("scale that does not depend on the signal", ge=0.0, pad=1.0)
    slope: Float[Array, ""] = param("scale that grows with the signal", ge=0.0)

    @classmethod
    def prior(cls, rng):
        return {"base": rng.uniform(*BASE), "slope": rng.uniform(*SLOPE)}

    def __call__(self, signal, u, parents):
        scale = self.base + self.slope * jax.nn.sigmoid(jnp.abs(signal))
        return signal + scale * standard_normal(u)
