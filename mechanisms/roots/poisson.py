"""Poisson roots (paper A.1)."""

import math
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field
from scipy.special import pdtr

from mechanisms import quantiles
from mechanisms.base import Array, Number, Parameters, Root, param

RATE = (1.0, 12.0)  # paper A.1, Poisson roots


class PoissonParameters(Parameters, frozen=True):
    """Poisson counts."""

    family: Literal["poisson"]
    rate: Annotated[Number, Field(gt=0, le=1000, description="mean count")]


class PoissonRoot(Root, family="poisson"):
    """Poisson counts. Prior: rate in [1, 12]."""

    value_kind = "count"
    granularity = {"counts": 64}

    cumulative: Float[Array, "counts"] = param("cumulative probability of 0, 1, ...", pad=1.0)

    @classmethod
    def parameters(cls):
        return PoissonParameters

    @classmethod
    def arrays(cls, parameters, parents):
        # Above this count is less than 2^-24, the least that a u of 23 bits can tell from 0.
        most = math.ceil(parameters.rate + 7.0 * math.sqrt(parameters.rate) + 12.0)
        return {"cumulative": pdtr(np.arange(most + 1), parameters.rate)}

    @classmethod
    def prior(cls, rng):
        return {"rate": rng.uniform(*RATE)}

    def __call__(self, u):
        return quantiles.level(self.cumulative, u)
