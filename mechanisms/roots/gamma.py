"""Gamma roots (paper A.1)."""

from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field
from scipy.special import gammaincinv

from mechanisms import quantiles
from mechanisms.base import Array, Number, Parameters, Root, param

# Paper A.1, Gamma roots.
CONCENTRATION = (1.0, 5.0)
RATE = (0.5, 2.0)


class GammaParameters(Parameters, frozen=True):
    """Gamma distribution of mean concentration / rate."""

    family: Literal["gamma"]
    concentration: Annotated[quantiles.Shape, Field(description="shape; 1 is an exponential distribution")]
    rate: Annotated[Number, Field(gt=0, description="inverse scale")]


class GammaRoot(Root, family="gamma"):
    """Gamma. Prior (paper A.1): concentration in [1, 5], rate in [0.5, 2]."""

    granularity = quantiles.TABLE

    table: Float[Array, "four intervals"] = param("quantiles at rate 1")
    rate: Float[Array, ""] = param("inverse scale", gt=0.0, pad=1.0)

    @classmethod
    def parameters(cls):
        return GammaParameters

    @classmethod
    def arrays(cls, parameters, parents):
        table = quantiles.table(lambda p: gammaincinv(parameters.concentration, p))
        return {"table": table, "rate": np.asarray(parameters.rate)}

    @classmethod
    def prior(cls, rng):
        return {"concentration": rng.uniform(*CONCENTRATION), "rate": rng.uniform(*RATE)}

    def __call__(self, u):
        return quantiles.lookup(self.table, u) / self.rate
