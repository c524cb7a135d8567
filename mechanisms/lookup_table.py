"""A table over discrete parents: what a dial, a chosen filter or a grade stands for (paper A.3, stage 4)."""

from typing import Annotated, Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from pydantic import Field

from mechanisms.base import Array, Mechanism, Number, ParameterError, Parameters, param
from mechanisms.parameters import Many

LEVELS = 2  # ours; the paper has no prior for tables
VALUE = (-1.5, 1.5)


class LookupTableParameters(Parameters, frozen=True):
    """One value for each combination of the parents' levels."""

    family: Literal["lookup_table"]
    levels: Annotated[
        Many[Annotated[int, Field(ge=1, le=1000)]], Field(description="number of levels of each parent: 0, 1, ...")
    ]
    value: Annotated[Many[Number], Field(description="values by level, those of the last parent side by side")]


class LookupTable(Mechanism, family="lookup_table"):
    """f(x) = value[x_1, x_2, ...], where x_k is rounded to the nearest of the levels 0, 1, ... of parent k."""

    stride: Float[Array, "parents"] = param("how far apart the values of neighbouring levels are")
    last: Float[Array, "parents"] = param("the highest level")
    value: Float[Array, "values"] = param("value of each combination")

    @classmethod
    def parameters(cls):
        return LookupTableParameters

    @classmethod
    def arrays(cls, parameters, parents):
        levels = parameters.levels
        if len(levels) != len(parents):
            wanted = f"one per parent: {', '.join(parents)}"
            raise ParameterError("levels", f"has {len(levels)} entries, expected {len(parents)} ({wanted})")
        stride = [int(np.prod(levels[k + 1 :], dtype=int)) for k in range(len(levels))]
        if len(parameters.value) != (wanted := int(np.prod(levels, dtype=int))):
            shape = " x ".join(map(str, levels))
            raise ParameterError("value", f"has {len(parameters.value)} entries, expected {wanted} ({shape} levels)")
        last, value = np.asarray(levels, np.float64) - 1.0, np.asarray(parameters.value, np.float64)
        return {"stride": np.asarray(stride, np.float64), "last": last, "value": value}

    @classmethod
    def prior(cls, rng, parents):
        """Two levels of each parent, values in [-1.5, 1.5]."""
        levels = [LEVELS] * len(parents)
        return {"levels": levels, "value": rng.uniform(*VALUE, size=int(np.prod(levels))).tolist()}

    def __call__(self, parents):
        place = jnp.sum(self.stride * jnp.clip(jnp.round(parents), 0.0, self.last))
        return jnp.asarray(self.value).at[place.astype(jnp.int32)].get(mode="promise_in_bounds")
