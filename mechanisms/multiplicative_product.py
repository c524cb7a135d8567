"""Multiplicative parent product (paper A.1)."""

import jax.numpy as jnp
from jaxtyping import Float

from mechanisms.base import Array, Mechanism, param
from mechanisms.priors import INPUT_LIMIT, signed_weights
from mechanisms.tails import compress

BIAS = (-0.4, 0.4)  # paper A.1, Multiplicative parent product
OUTPUT_LIMIT = 5.0  # the paper does not say how a product of heavy tails is held


class MultiplicativeProduct(Mechanism, family="multiplicative_product", tag="multiplicative"):
    """f(x) = prod_k (1 + weight_k z_k + bias_k).

    Effects are relative to 1, so that the 0.8/sqrt(k) of the weights keeps the product of order one for any number of
    parents. z is x, compressed beyond |x| = 3; the product is compressed beyond 5.

    Prior (paper A.1): weights +-[0.5, 1.5] times 0.8/sqrt(k), biases in [-0.4, 0.4].
    """

    weight: Float[Array, "parents"] = param("relative effect of each parent")
    bias: Float[Array, "parents"] = param("added to 1 in each factor")

    @classmethod
    def prior(cls, rng, parents):
        k = len(parents)
        return {"weight": signed_weights(rng, k), "bias": rng.uniform(*BIAS, size=k).tolist()}

    def __call__(self, parents):
        factors = 1.0 + self.weight * compress(parents, INPUT_LIMIT) + self.bias
        return compress(jnp.prod(factors), OUTPUT_LIMIT)
