"""Quantized Gaussian noise (paper A.1)."""

import jax.numpy as jnp
from jaxtyping import Float

from mechanisms.base import Array, Noise, param, standard_normal
from mechanisms.noise.gaussian import SCALE  # the paper gives the step only

STEP = (0.05, 0.35)  # paper A.1, Quantized


class Quantized(Noise, family="quantized"):
    """signal + scale * standard normal, rounded to the nearest multiple of step.

    Prior: scale as of Gaussian noise, in [0.05, 0.45]; step in [0.05, 0.35].
    """

    scale: Float[Array, ""] = param("standard deviation before rounding", gt=0.0, pad=1.0)
    step: Float[Array, ""] = param("distance of the grid's values", gt=0.0, pad=1.0)

    @classmethod
    def prior(cls, rng):
        return {"scale": rng.uniform(*SCALE), "step": rng.uniform(*STEP)}

    def __call__(self, signal, u, parents):
        return self.step * jnp.round((signal + self.scale * standard_normal(u)) / self.step)
