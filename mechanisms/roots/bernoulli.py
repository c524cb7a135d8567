"""Bernoulli roots (paper A.1)."""

import numpy as np
from jaxtyping import Float

from mechanisms.base import Array, Root, param

PROBABILITY = (0.15, 0.85)  # paper A.1, Bernoulli roots


class BernoulliRoot(Root, family="bernoulli"):
    """1 with the given probability, else 0. Prior: probability in [0.15, 0.85]."""

    value_kind = "binary"

    probability: Float[Array, ""] = param("probability of 1", ge=0.0, le=1.0, pad=0.5)

    @classmethod
    def prior(cls, rng):
        return {"probability": rng.uniform(*PROBABILITY)}

    @classmethod
    def support(cls, parameters):
        return np.array([0.0, 1.0], np.float32), np.array([1.0 - parameters.probability, parameters.probability])

    def __call__(self, u):
        return (u > 1.0 - self.probability).astype(u.dtype)
