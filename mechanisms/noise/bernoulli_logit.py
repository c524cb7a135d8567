"""Binary outcomes: the signal is the log-odds of 1."""

import jax
from jaxtyping import Float

from mechanisms.base import Array, Noise, param

BIAS = (-1.0, 1.0)  # ours; the paper has no binary mechanisms


class BernoulliLogit(Noise, family="bernoulli_logit"):
    """1 with probability 1 / (1 + exp(-(signal + bias))), else 0: the quantile function of that, at u.

    Prior: bias in [-1, 1].
    """

    link = "logit"

    bias: Float[Array, ""] = param("log-odds of 1 where the signal is 0", default=0.0)

    @classmethod
    def prior(cls, rng):
        return {"bias": rng.uniform(*BIAS)}

    def __call__(self, signal, u, parents):
        return (u > jax.nn.sigmoid(-(signal + self.bias))).astype(signal.dtype)
