"""Centred beta noise (paper A.1)."""

from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field
from scipy.special import betaincinv

from mechanisms import quantiles
from mechanisms.base import Array, Noise, Number, Parameters, param

# Paper A.1, Beta noise.
SHAPE = (1.0, 10.0)
SCALE = (0.05, 0.45)


class BetaParameters(Parameters, frozen=True):
    """Additive beta noise of mean 0."""

    family: Literal["beta"]
    alpha: Annotated[quantiles.Shape, Field(description="shape at the lower end")]
    beta: Annotated[quantiles.Shape, Field(description="shape at the upper end")]
    scale: Annotated[Number, Field(gt=0, description="length of the interval that the noise lies in")]


class Beta(Noise, family="beta"):
    """signal + scale * (Beta(alpha, beta) - its mean).

    Prior (paper A.1): alpha and beta in [1, 10], scale in [0.05, 0.45].
    """

    granularity = quantiles.TABLE

    table: Float[Array, "four intervals"] = param("centred quantiles at scale 1")
    scale: Float[Array, ""] = param("length of the interval that the noise lies in", gt=0.0, pad=1.0)

    @classmethod
    def parameters(cls):
        return BetaParameters

    @classmethod
    def arrays(cls, parameters, parents):
        alpha, beta = parameters.alpha, parameters.beta
        table = quantiles.table(lambda p: betaincinv(alpha, beta, p) - alpha / (alpha + beta))
        return {"table": table, "scale": np.asarray(parameters.scale)}

    @classmethod
    def prior(cls, rng):
        return {"alpha": rng.uniform(*SHAPE), "beta": rng.uniform(*SHAPE), "scale": rng.uniform(*SCALE)}

    def __call__(self, signal, u, parents):
        return signal + self.scale * quantiles.lookup(self.table, u)
