"""Settings that take few values: the positions of a dial, standard sizes, grades."""

from typing import Annotated, Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from pydantic import Field

from mechanisms import quantiles
from mechanisms.base import Array, Number, ParameterError, Parameters, Root, param
from mechanisms.parameters import Many

VALUES = (3, 6)  # ours


class GridParameters(Parameters, frozen=True):
    """Ascending values, each with its probability."""

    family: Literal["grid"]
    value: Annotated[Many[Number], Field(min_length=2, max_length=1000, description="the values, ascending")]
    probability: Annotated[
        Many[Annotated[Number, Field(ge=0)]], Field(description="probability of each value; they sum to 1")
    ]


class GridRoot(Root, family="grid"):
    """One of some values. Prior: 3 to 6 of them, equally likely, one apart."""

    value_kind = "ordinal"

    cumulative: Float[Array, "values"] = param("cumulative probability of each value", pad=1.0)
    value: Float[Array, "values"] = param("the values")

    @classmethod
    def parameters(cls):
        return GridParameters

    @classmethod
    def arrays(cls, parameters, parents):
        if len(parameters.probability) != len(parameters.value):
            found = f"has {len(parameters.probability)} entries"
            raise ParameterError("probability", f"{found}, expected {len(parameters.value)} (one per value)")
        if (np.diff(parameters.value) <= 0).any():
            raise ParameterError("value", f"found {list(parameters.value)}, expected ascending numbers")
        quantiles.check_sum("probability", parameters.probability)
        cumulative = quantiles.cumulative(parameters.probability)
        return {"cumulative": cumulative, "value": np.asarray(parameters.value, np.float64)}

    @classmethod
    def prior(cls, rng):
        n = int(rng.integers(VALUES[0], VALUES[1] + 1))
        return {"value": list(range(n)), "probability": [1.0 / n] * n}

    @classmethod
    def support(cls, parameters):
        return np.asarray(parameters.value, np.float32), np.asarray(parameters.probability)

    def __call__(self, u):
        place = quantiles.level(self.cumulative, u).astype(jnp.int32)
        return jnp.asarray(self.value).at[place].get(mode="promise_in_bounds")
