"""Periodic mechanism (paper A.1, Trigonometric/periodic)."""

import math

import jax.numpy as jnp
from jaxtyping import Float

from mechanisms import fastmath
from mechanisms.base import Array, Mechanism, param
from mechanisms.priors import BIAS, signed_weights

# The paper says that frequency and phase are random, not in which range.
FREQUENCY = (0.5, 3.0)
PHASE = (0.0, 2.0 * math.pi)


class TrigPeriodic(Mechanism, family="trig_periodic"):
    """f(x) = sum_k weight_k sin(frequency_k x_k + phase_k) + bias; a phase of pi/2 is the cosine.

    Prior (paper A.1, without ranges): angular frequencies in [0.5, 3.0], phases in [0, 2 pi]; weights and bias as in
    the linear family.
    """

    weight: Float[Array, "parents"] = param("amplitude of each parent's wave")
    frequency: Float[Array, "parents"] = param("angular frequency, radians per unit of the parent")
    phase: Float[Array, "parents"] = param("phase, radians")
    bias: Float[Array, ""] = param("constant term")

    @classmethod
    def prior(cls, rng, parents):
        k = len(parents)
        return {
            "weight": signed_weights(rng, k),
            "frequency": rng.uniform(*FREQUENCY, size=k).tolist(),
            "phase": rng.uniform(*PHASE, size=k).tolist(),
            "bias": rng.uniform(*BIAS),
        }

    def __call__(self, parents):
        angle = self.frequency * parents + (self.phase - 0.5 * math.pi)
        return jnp.sum(self.weight * fastmath.cos(angle)) + self.bias
