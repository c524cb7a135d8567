"""Linear additive mechanism (paper A.1)."""

import jax.numpy as jnp
from jaxtyping import Float

from mechanisms.base import Array, Mechanism, param
from mechanisms.priors import BIAS, signed_weights


class LinearAdditive(Mechanism, family="linear_additive"):
    """f(x) = sum_k weight_k x_k + bias.

    Prior (paper A.1): weights +-[0.5, 1.5] times 0.8/sqrt(k), bias in [-0.5, 0.5].
    """

    weight: Float[Array, "parents"] = param("effect of each parent")
    bias: Float[Array, ""] = param("constant term")

    @classmethod
    def prior(cls, rng, parents):
        return {"weight": signed_weights(rng, len(parents)), "bias": rng.uniform(*BIAS)}

    def __call__(self, parents):
        return jnp.sum(self.weight * parents) + self.bias
