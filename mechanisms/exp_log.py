"""Exponential / logarithmic mechanism (paper A.1)."""

import jax.numpy as jnp
from jaxtyping import Float, Int

from mechanisms.base import Array, Mechanism, param
from mechanisms.priors import BIAS, signed_weights

CLIP = 3.0  # paper A.1, Exponential/log
RATE = (0.3, 1.0)
LOG_GAIN = (1.0, 4.0)
RESPONSES = ("exp", "log", "signed_log")


class ExpLog(Mechanism, family="exp_log"):
    """f(x) = sum_k weight_k g_k(x_k) + bias.

    g_k is exp(z) with z = rate_k x_k clipped to [-3, 3], or log(1 + gain_k |x_k|), or the latter with the sign of x_k.

    Prior (paper A.1): exponential inputs clipped to [-3, 3]; a random response for each parent, rates in [0.3, 1.0],
    gains in [1, 4], weights and bias as in the linear family.
    """

    response: Int[Array, "parents"] = param("function of each parent", choices=RESPONSES)
    weight: Float[Array, "parents"] = param("effect of each parent's response")
    rate: Float[Array, "parents"] = param("factor of each parent inside an exponential")
    gain: Float[Array, "parents"] = param("factor of each parent inside a logarithm", ge=0)
    bias: Float[Array, ""] = param("constant term")

    @classmethod
    def prior(cls, rng, parents):
        k = len(parents)
        return {
            "response": rng.choice(RESPONSES, size=k).tolist(),
            "weight": signed_weights(rng, k),
            "rate": rng.uniform(*RATE, size=k).tolist(),
            "gain": rng.uniform(*LOG_GAIN, size=k).tolist(),
            "bias": rng.uniform(*BIAS),
        }

    def __call__(self, parents):
        exponential = jnp.exp(jnp.clip(self.rate * parents, -CLIP, CLIP))
        logarithm = jnp.log(1.0 + self.gain * jnp.abs(parents))
        signed = jnp.sign(parents) * logarithm
        response = jnp.where(self.response == 0, exponential, jnp.where(self.response == 1, logarithm, signed))
        return jnp.sum(self.weight * response) + self.bias
