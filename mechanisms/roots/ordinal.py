"""Ordinal categorical roots (paper A.1)."""

from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field, Strict
from scipy.special import softmax

from mechanisms import quantiles
from mechanisms.base import Array, Number, Parameters, Root, param
from mechanisms.parameters import ONLY_LISTS

LEVELS = (3, 6)  # paper A.1, Ordinal categorical roots


class OrdinalParameters(Parameters, frozen=True):
    """Ordered levels 0, 1, ..., each with its probability."""

    family: Literal["ordinal"]
    probability: Annotated[
        tuple[Annotated[Number, Field(ge=0)], ...],
        Strict(False),
        Field(min_length=2, max_length=1000, description="probability of each level, in order; they sum to 1"),
        ONLY_LISTS,
    ]


class OrdinalRoot(Root, family="ordinal"):
    """Levels 0 ... k - 1. Prior (paper A.1): k in 3-6, probabilities by a softmax over normal logits."""

    value_kind = "ordinal"

    cumulative: Float[Array, "levels"] = param("cumulative probability of each level", pad=1.0)

    @classmethod
    def parameters(cls):
        return OrdinalParameters

    @classmethod
    def arrays(cls, parameters, parents):
        quantiles.check_sum("probability", parameters.probability)
        return {"cumulative": quantiles.cumulative(parameters.probability)}

    @classmethod
    def prior(cls, rng):
        k = int(rng.integers(LEVELS[0], LEVELS[1] + 1))
        return {"probability": softmax(rng.normal(size=k)).tolist()}

    @classmethod
    def support(cls, parameters):
        return np.arange(len(parameters.probability), dtype=np.float32), np.asarray(parameters.probability)

    def __call__(self, u):
        return quantiles.level(self.cumulative, u)
