"""Random neural mechanism: one hidden layer (paper A.1)."""

import math

import jax.numpy as jnp
from jaxtyping import Float

from mechanisms.base import Array, Mechanism, param
from mechanisms.priors import BIAS

HIDDEN = (3, 8)  # paper A.1, Random neural
INPUT_SCALE, OUTPUT_SCALE = 1.5, 1.5  # the paper gives the width only
HIDDEN_BIAS = (-1.0, 1.0)


class RandomNeural(Mechanism, family="random_neural", tag="neural_random"):
    """f(x) = output . tanh(input x + hidden_bias) + bias.

    Prior (paper A.1): 3-8 hidden units; normal weights scaled by the square root of the fan-in.
    """

    input: Float[Array, "hidden parents"] = param("weights of the parents, one row a hidden unit")
    hidden_bias: Float[Array, "hidden"] = param("bias of each hidden unit")
    output: Float[Array, "hidden"] = param("weight of each hidden unit")
    bias: Float[Array, ""] = param("constant term")

    @classmethod
    def prior(cls, rng, parents):
        k, h = len(parents), int(rng.integers(HIDDEN[0], HIDDEN[1] + 1))
        return {
            "input": (rng.normal(size=(h, k)) * INPUT_SCALE / math.sqrt(k)).tolist(),
            "hidden_bias": rng.uniform(*HIDDEN_BIAS, size=h).tolist(),
            "output": (rng.normal(size=h) * OUTPUT_SCALE / math.sqrt(h)).tolist(),
            "bias": rng.uniform(*BIAS),
        }

    def __call__(self, parents):
        return jnp.sum(self.output * jnp.tanh(self.input @ parents + self.hidden_bias)) + self.bias
