"""Multinomial discrete roots (paper A.1)."""

from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field, Strict
from scipy.special import softmax

from mechanisms import quantiles
from mechanisms.base import Array, Number, ParameterError, Parameters, Root, param
from mechanisms.parameters import ONLY_LISTS

# Paper A.1, Multinomial discrete roots.
CATEGORIES = (2, 10)
LOGIT = (-1.5, 1.5)


class MultinomialParameters(Parameters, frozen=True):
    """Unordered categories, each with its probability."""

    family: Literal["multinomial"]
    probability: Annotated[
        tuple[Annotated[Number, Field(ge=0)], ...],
        Strict(False),
        Field(min_length=2, max_length=1000, description="probability of each category; they sum to 1"),
        ONLY_LISTS,
    ]


class MultinomialRoot(Root, family="multinomial"):
    """(index - mean) / deviation of a category's index 0 ... k - 1, by the index's own mean and standard deviation.

    Prior (paper A.1): k in 2-10, probabilities by a softmax over logits in [-1.5, 1.5].
    """

    value_kind = "categorical"
    granularity = {"categories": 16}

    cumulative: Float[Array, "categories"] = param("cumulative probability of each category", pad=1.0)
    mean: Float[Array, ""] = param("mean of the index")
    deviation: Float[Array, ""] = param("standard deviation of the index", gt=0.0, pad=1.0)

    @classmethod
    def parameters(cls):
        return MultinomialParameters

    @classmethod
    def arrays(cls, parameters, parents):
        probability = np.asarray(parameters.probability)
        quantiles.check_sum("probability", parameters.probability)
        index = np.arange(len(probability))
        mean = probability @ index
        deviation = np.sqrt(probability @ (index - mean) ** 2)
        if not deviation > 1e-6:
            raise ParameterError("probability", "leaves one category only, expected two that occur")
        return {
            "cumulative": quantiles.cumulative(probability),
            "mean": np.asarray(mean),
            "deviation": np.asarray(deviation),
        }

    @classmethod
    def prior(cls, rng):
        k = int(rng.integers(CATEGORIES[0], CATEGORIES[1] + 1))
        return {"probability": softmax(rng.uniform(*LOGIT, size=k)).tolist()}

    @classmethod
    def support(cls, parameters):
        arrays = cls.arrays(parameters, [])
        index = np.arange(len(parameters.probability), dtype=np.float32)
        value = (index - np.float32(arrays["mean"])) / np.float32(arrays["deviation"])
        return value, np.asarray(parameters.probability)

    def __call__(self, u):
        return (quantiles.level(self.cumulative, u) - self.mean) / self.deviation
