"""Student-t noise (paper A.1)."""

from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field
from scipy.special import stdtrit

from mechanisms import quantiles
from mechanisms.base import Array, Noise, Number, Parameters, param

# Paper A.1, Student-t.
DEGREES = (2.5, 8.0)
SCALE = (0.03, 0.30)


class StudentTParameters(Parameters, frozen=True):
    """Additive Student-t noise."""

    family: Literal["student_t"]
    degrees: Annotated[Number, Field(ge=1, le=1e4, description="degrees of freedom")]
    scale: Annotated[Number, Field(gt=0, description="scale; the standard deviation is larger")]


class StudentT(Noise, family="student_t"):
    """signal + scale * t. Prior (paper A.1): degrees of freedom in [2.5, 8], scale in [0.03, 0.30]."""

    link = "identity"

    granularity = quantiles.TABLE

    table: Float[Array, "four intervals"] = param("quantiles at scale 1")
    scale: Float[Array, ""] = param("scale", gt=0.0, pad=1.0)

    @classmethod
    def parameters(cls):
        return StudentTParameters

    @classmethod
    def arrays(cls, parameters, parents):
        def quantile(p):
            lower = stdtrit(parameters.degrees, p[: len(p) // 2 + 1])  # up to p = 1/2; the rest is its mirror image
            return np.concatenate([lower, -lower[-2::-1]])

        return {"table": quantiles.table(quantile), "scale": np.asarray(parameters.scale)}

    @classmethod
    def prior(cls, rng):
        return {"degrees": rng.uniform(*DEGREES), "scale": rng.uniform(*SCALE)}

    def __call__(self, signal, u, parents):
        return signal + self.scale * quantiles.lookup(self.table, u)
