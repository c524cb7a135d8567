"""Aggregating mechanism (paper A.1, Aggregation nonlinearities)."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Float, Int

from mechanisms.base import Array, Mechanism, param
from mechanisms.priors import WEIGHT_SCALE, signed_weights

TEMPERATURE = (0.3, 1.5)  # paper A.1, Aggregation nonlinearities
SHIFT = (-0.5, 0.5)
FLOOR = (-1.0, 0.0)
NEVER = -1e30


def _largest(values, floor, temperature):
    return jnp.maximum(jnp.max(values), floor)


def _log_sum_exp(values, floor, temperature):
    top = jax.lax.stop_gradient(_largest(values, floor, temperature))
    total = jnp.sum(jnp.exp((values - top) / temperature)) + jnp.exp((floor - top) / temperature)
    return top + temperature * jnp.log(total)


AGGREGATIONS = {"max": _largest, "log_sum_exp": _log_sum_exp}


class AggregationNonlinearity(Mechanism, family="aggregation_nonlinearity"):
    """f(x) = max(v_1, ..., v_k, floor) or temperature log(sum_k exp(v_k / temperature) + exp(floor / temperature)).

    v_k = weight_k x_k + shift_k. The floor keeps the aggregate of a single parent nonlinear.

    Prior (paper A.1): temperatures in [0.3, 1.5]; shifts in [-0.5, 0.5], floor in [-1, 0], weights as in the linear
    family but without the 1/sqrt(k), since nothing is summed.
    """

    aggregation: Int[Array, ""] = param("how parents are aggregated", choices=tuple(AGGREGATIONS))
    weight: Float[Array, "parents"] = param("effect of each parent")
    shift: Float[Array, "parents"] = param("added to each effect", pad=NEVER)
    floor: Float[Array, ""] = param("the constant among the aggregated values")
    temperature: Float[Array, ""] = param("of `log_sum_exp`; `max` ignores it", gt=0, default=1.0)

    @classmethod
    def prior(cls, rng, parents):
        k, aggregation = len(parents), str(rng.choice(list(AGGREGATIONS)))
        extra = {"log_sum_exp": {"temperature": rng.uniform(*TEMPERATURE)}}
        return {
            "aggregation": aggregation,
            "weight": signed_weights(rng, k, WEIGHT_SCALE * math.sqrt(k)),
            "shift": rng.uniform(*SHIFT, size=k).tolist(),
            "floor": rng.uniform(*FLOOR),
            **extra.get(aggregation, {}),
        }

    def __call__(self, parents):
        values = self.weight * parents + self.shift
        return jax.lax.switch(self.aggregation, list(AGGREGATIONS.values()), values, self.floor, self.temperature)
