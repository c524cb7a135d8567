"""Random-function product (paper A.1)."""

import math

import jax.numpy as jnp
from jaxtyping import Float, Int

from mechanisms import fastmath
from mechanisms.base import Array, Mechanism, param
from mechanisms.priors import signed_weights

OUTPUT_SCALE = (0.4, 1.6)  # paper A.1, Random-function product; it does not name the functions
FREQUENCY = (0.5, 2.0)
SHIFT = (-1.0, 1.0)

#: Responses in [-1, 1].
RESPONSES = {
    "tanh": jnp.tanh,
    "sine": lambda z: fastmath.cos(z - 0.5 * math.pi),
    "softsign": lambda z: z / (1.0 + jnp.abs(z)),
    "bump": lambda z: 2.0 / (1.0 + z * z) - 1.0,
}


class RandomFunctionProduct(Mechanism, family="random_function_product", tag="multiplicative"):
    """f(x) = scale prod_k (1 + weight_k g_k(frequency_k x_k + shift_k)).

    g_k is a random one of tanh(z), sin(z), z / (1 + |z|) and 2 / (1 + z^2) - 1, all in [-1, 1].

    Prior (paper A.1): scale in [0.4, 1.6]; weights as in the linear family, frequencies in [0.5, 2.0], shifts in
    [-1, 1].
    """

    response: Int[Array, "parents"] = param("function of each parent", choices=tuple(RESPONSES))
    weight: Float[Array, "parents"] = param("relative effect of each parent's response")
    frequency: Float[Array, "parents"] = param("factor of each parent, inside its function")
    shift: Float[Array, "parents"] = param("shift of each parent, inside its function")
    scale: Float[Array, ""] = param("factor of the product")

    @classmethod
    def prior(cls, rng, parents):
        k = len(parents)
        return {
            "response": rng.choice(list(RESPONSES), size=k).tolist(),
            "weight": signed_weights(rng, k),
            "frequency": rng.uniform(*FREQUENCY, size=k).tolist(),
            "shift": rng.uniform(*SHIFT, size=k).tolist(),
            "scale": rng.uniform(*OUTPUT_SCALE),
        }

    def __call__(self, parents):
        z = self.frequency * parents + self.shift
        # Four cheap functions of all parents in one fused loop are faster than a switch for each parent.
        responses = jnp.select([self.response == i for i in range(len(RESPONSES))], [g(z) for g in RESPONSES.values()])
        return self.scale * jnp.prod(1.0 + self.weight * responses)
