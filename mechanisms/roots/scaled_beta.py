"""Scaled beta roots (paper A.1)."""

from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field
from scipy.special import betaincinv

from mechanisms import quantiles
from mechanisms.base import Array, Number, ParameterError, Parameters, Root, param

# Paper A.1, Scaled beta roots.
SHAPE = (0.8, 5.0)
LOW = (-1.0, 0.0)
HIGH = (0.8, 3.0)


class ScaledBetaParameters(Parameters, frozen=True):
    """Beta distribution on an interval."""

    family: Literal["scaled_beta"]
    alpha: Annotated[quantiles.Shape, Field(description="shape at the lower end")]
    beta: Annotated[quantiles.Shape, Field(description="shape at the upper end")]
    low: Annotated[Number, Field(description="lower end")]
    high: Annotated[Number, Field(description="upper end, above low")]


class ScaledBetaRoot(Root, family="scaled_beta"):
    """low + (high - low) * Beta(alpha, beta).

    Prior (paper A.1): alpha and beta in [0.8, 5], low in [-1, 0], high in [0.8, 3].
    """

    granularity = quantiles.TABLE

    table: Float[Array, "four intervals"] = param("quantiles on [0, 1]")
    low: Float[Array, ""] = param("lower end")
    high: Float[Array, ""] = param("upper end", pad=1.0)

    @classmethod
    def parameters(cls):
        return ScaledBetaParameters

    @classmethod
    def arrays(cls, parameters, parents):
        low, high = parameters.low, parameters.high
        if not high > low:
            raise ParameterError("high", f"is {high}, expected more than low = {low}")
        table = quantiles.table(lambda p: betaincinv(parameters.alpha, parameters.beta, p))
        return {"table": table, "low": np.asarray(low), "high": np.asarray(high)}

    @classmethod
    def prior(cls, rng):
        return {
            "alpha": rng.uniform(*SHAPE),
            "beta": rng.uniform(*SHAPE),
            "low": rng.uniform(*LOW),
            "high": rng.uniform(*HIGH),
        }

    def __call__(self, u):
        return self.low + (self.high - self.low) * quantiles.lookup(self.table, u)
