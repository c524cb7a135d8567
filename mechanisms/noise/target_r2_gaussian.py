"""Target-R^2 Gaussian noise (paper A.1)."""

import jax.numpy as jnp
from jaxtyping import Float

from mechanisms.base import Array, Noise, param, standard_normal

R2 = (0.1, 0.9)  # paper A.1, Target-R^2 Gaussian


class TargetR2Gaussian(Noise, family="target_r2_gaussian"):
    """signal + scale * standard normal, with the scale at which the signal explains r2 of the variance.

    Calibrated: scale = sd(signal) sqrt((1 - r2) / r2). It is then a constant: an intervention that moves the signal's
    variance moves the R^2. Prior: r2 in [0.1, 0.9].
    """

    calibrated = ("scale",)

    r2: Float[Array, ""] = param("share of the variance that the signal explains", gt=0.0, lt=1.0, pad=0.5)
    scale: Float[Array, ""] = param("standard deviation; follows from r2 and the signal", ge=0.0, pad=1.0)

    @classmethod
    def prior(cls, rng):
        return {"r2": rng.uniform(*R2)}

    def __call__(self, signal, u, parents):
        return signal + self.scale * standard_normal(u)

    def calibrate(self, signal, u):
        return (jnp.std(signal) * jnp.sqrt((1.0 - self.r2) / self.r2),)
