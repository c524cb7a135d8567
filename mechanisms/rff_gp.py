"""Random-feature (GP-style) mechanism (paper A.1)."""

import math
from typing import Annotated, Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from pydantic import Field

from mechanisms import fastmath
from mechanisms.base import Array, Mechanism, Number, Parameters, param

# Paper A.1, RFF/GP-style.
FEATURES = (64, 256)
LENGTH_SCALE = (0.25, 3.0)
OUTPUT_SCALE = (0.4, 2.5)


class RffGpParameters(Parameters, frozen=True):
    """A draw from a Gaussian process with a squared-exponential kernel, by random Fourier features.

    The frequencies, phases and amplitudes follow from `seed`, so that a spec stays readable.
    """

    family: Literal["rff_gp"]
    n_features: Annotated[int, Field(ge=1, le=4096, description="number of random features")]
    length_scale: Annotated[Number, Field(gt=0, description="length scale of the kernel, in units of the parents")]
    output_scale: Annotated[Number, Field(gt=0, description="prior standard deviation of the function")]
    seed: Annotated[int, Field(ge=0, lt=2**53, description="which function is drawn")]


class RffGp(Mechanism, family="rff_gp"):
    """f(x) = sum_m amplitude_m cos(frequency_m . x + phase_m).

    Prior (paper A.1): 64-256 features, length scale in [0.25, 3.0], output scale in [0.4, 2.5].
    """

    granularity = {"features": 64}

    frequency: Float[Array, "features parents"] = param("angular frequencies, one row a feature")
    phase: Float[Array, "features"] = param("phases, radians")
    amplitude: Float[Array, "features"] = param("amplitudes, the output scale included")

    @classmethod
    def parameters(cls):
        return RffGpParameters

    @classmethod
    def arrays(cls, parameters, parents):
        m, k = parameters.n_features, len(parents)
        uniforms = _uniforms(parameters.seed, m * (k + 2) + 2)
        normals = _normals(uniforms[m:], m * (k + 1))
        frequency = normals[: m * k].reshape(m, k) / parameters.length_scale
        amplitude = normals[m * k :] * parameters.output_scale * math.sqrt(2.0 / m)
        phase = 2.0 * np.pi * uniforms[:m]
        return {"frequency": frequency, "phase": phase, "amplitude": amplitude}

    @classmethod
    def prior(cls, rng, parents):
        return {
            "n_features": int(rng.integers(FEATURES[0], FEATURES[1] + 1)),
            "length_scale": rng.uniform(*LENGTH_SCALE),
            "output_scale": rng.uniform(*OUTPUT_SCALE),
            "seed": int(rng.integers(2**53)),
        }

    def __call__(self, parents):
        return jnp.sum(self.amplitude * fastmath.cos(self.frequency @ parents + self.phase))


def _uniforms(seed: int, size: int) -> np.ndarray:
    """Uniforms in (0, 1) from raw Philox bits, which numpy keeps stable across versions."""
    bits = np.random.Philox(key=seed).random_raw(size)
    return ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def _normals(uniforms: np.ndarray, size: int) -> np.ndarray:
    """`size` standard normals by Box-Muller from at least `size + 1` uniforms."""
    half = (size + 1) // 2
    radius = np.sqrt(-2.0 * np.log(uniforms[:half]))
    angle = 2.0 * np.pi * uniforms[half : 2 * half]
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:size]
