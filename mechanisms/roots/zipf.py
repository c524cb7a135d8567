"""Zipf (power-law) roots (paper A.1)."""

from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field

from mechanisms import quantiles
from mechanisms.base import Array, Number, Parameters, Root, param

# Paper A.1, Zipf/power-law roots.
SUPPORT = (8, 20)
EXPONENT = (2.0, 4.0)
CAP = 10


class ZipfParameters(Parameters, frozen=True):
    """Power law on 1 ... support, capped and centred."""

    family: Literal["zipf"]
    support: Annotated[int, Field(ge=2, le=10_000, description="largest value before capping at 10")]
    exponent: Annotated[Number, Field(ge=0, le=20, description="probabilities fall as value ** -exponent")]


class ZipfRoot(Root, family="zipf"):
    """min(v, 10) - mean, where v in 1 ... support has probability proportional to v^-exponent.

    Centred by the distribution's own mean, so the values are ordered levels rather than counts.
    Prior (paper A.1): support in 8-20, exponent in [2, 4].
    """

    value_kind = "ordinal"
    granularity = {"values": 16}

    cumulative: Float[Array, "values"] = param("cumulative probability of 1, 2, ...", pad=1.0)
    mean: Float[Array, ""] = param("mean of the capped value", pad=1.0)

    @classmethod
    def parameters(cls):
        return ZipfParameters

    @classmethod
    def arrays(cls, parameters, parents):
        value = np.arange(1, parameters.support + 1)
        weight = value ** -float(parameters.exponent)
        probability = np.bincount(np.minimum(value, CAP), weight)[1:] / weight.sum()
        mean = probability @ value[: len(probability)]
        return {"cumulative": quantiles.cumulative(probability), "mean": np.asarray(mean)}

    @classmethod
    def prior(cls, rng):
        return {"support": int(rng.integers(SUPPORT[0], SUPPORT[1] + 1)), "exponent": rng.uniform(*EXPONENT)}

    @classmethod
    def support(cls, parameters):
        arrays = cls.arrays(parameters, [])
        value = 1.0 + np.arange(len(arrays["cumulative"]), dtype=np.float32) - np.float32(arrays["mean"])
        return value, np.diff(arrays["cumulative"], prepend=0.0)

    def __call__(self, u):
        return 1.0 + quantiles.level(self.cumulative, u) - self.mean
