"""Censored Gaussian noise (paper A.1)."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from mechanisms.base import Array, Noise, ParameterError, param, standard_normal
from mechanisms.noise.gaussian import SCALE  # the paper gives the percentiles only

PERCENTILES = (3.0, 97.0)  # paper A.1, Censored


class Censored(Noise, family="censored"):
    """signal + scale * standard normal, clipped to [low, high].

    Calibrated: low and high are the 3rd and 97th percentiles of the noisy values. They are then constants: under an
    intervention more or less of the mass lies at the ends. Prior: scale as of Gaussian noise, in [0.05, 0.45].
    """

    calibrated = ("low", "high")

    scale: Float[Array, ""] = param("standard deviation before clipping", gt=0.0, pad=1.0)
    low: Float[Array, ""] = param("least value")
    high: Float[Array, ""] = param("greatest value")

    @classmethod
    def arrays(cls, parameters, parents):
        if parameters.low > parameters.high:
            raise ParameterError("high", f"is {parameters.high}, expected no less than low = {parameters.low}")
        return super().arrays(parameters, parents)

    @classmethod
    def prior(cls, rng):
        return {"scale": rng.uniform(*SCALE)}

    def __call__(self, signal, u, parents):
        return jnp.clip(self._noisy(signal, u), self.low, self.high)

    def calibrate(self, signal, u):
        return tuple(jnp.percentile(self._noisy(signal, u), np.asarray(PERCENTILES)))

    def _noisy(self, signal, u):
        return signal + self.scale * standard_normal(u)
