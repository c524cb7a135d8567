"""RFF-heteroskedastic noise (paper A.1)."""

from typing import Annotated, Literal

import jax
import jax.numpy as jnp
from jaxtyping import Float
from pydantic import Field

from mechanisms import fastmath
from mechanisms.base import Array, Noise, Number, Parameters, param, standard_normal
from mechanisms.rff_gp import RffGp

# Paper A.1, RFF-heteroskedastic.
FEATURES = (64, 256)
LENGTH_SCALE = (0.25, 3.0)
OUTPUT_SCALE = (0.3, 1.8)


class RffHeteroskedasticParameters(Parameters, frozen=True):
    """Gaussian noise whose scale is the softplus of a random function of the parents; `seed` says which function."""

    family: Literal["rff_heteroskedastic"]
    n_features: Annotated[int, Field(ge=1, le=4096, description="number of random features")]
    length_scale: Annotated[Number, Field(gt=0, description="length scale of the kernel, in units of the parents")]
    output_scale: Annotated[Number, Field(gt=0, description="prior standard deviation of the function")]
    seed: Annotated[int, Field(ge=0, lt=2**53, description="which function is drawn")]


class RffHeteroskedastic(Noise, family="rff_heteroskedastic"):
    """signal + softplus(g(parents)) * standard normal, g a Gaussian-process draw like that of `rff_gp`.

    Prior (paper A.1): 64-256 features, length scale in [0.25, 3.0], output scale in [0.3, 1.8].
    """

    granularity = {"features": 256}  # one bank: few nodes have this noise

    frequency: Float[Array, "features parents"] = param("angular frequencies, one row a feature")
    phase: Float[Array, "features"] = param("phases, radians")
    amplitude: Float[Array, "features"] = param("amplitudes, the output scale included")

    @classmethod
    def parameters(cls):
        return RffHeteroskedasticParameters

    @classmethod
    def arrays(cls, parameters, parents):
        return RffGp.arrays(parameters, parents)

    @classmethod
    def prior(cls, rng):
        return {
            "n_features": int(rng.integers(FEATURES[0], FEATURES[1] + 1)),
            "length_scale": rng.uniform(*LENGTH_SCALE),
            "output_scale": rng.uniform(*OUTPUT_SCALE),
            "seed": int(rng.integers(2**53)),
        }

    def __call__(self, signal, u, parents):
        latent = jnp.sum(self.amplitude * fastmath.cos(self.frequency @ parents + self.phase))
        return signal + jax.nn.softplus(latent) * standard_normal(u)
