"""Ratio mechanism (paper A.1, Rational/ratio)."""

import jax.numpy as jnp
from jaxtyping import Float

from mechanisms.base import Array, Mechanism, param
from mechanisms.priors import BIAS, signed_weights

# The paper says that offsets are bounded and ratios clipped, not where.
OFFSET = (0.5, 1.5)
CLIP = 10.0


class RationalRatio(Mechanism, family="rational_ratio"):
    """f(x) = (sum_k weight_k x_k + bias) / (offset + |sum_k divisor_k x_k|), clipped to [-10, 10].

    Prior (paper A.1, without ranges): offset in [0.5, 1.5]; weights, divisors and bias as in the linear family.
    """

    weight: Float[Array, "parents"] = param("effect of each parent on the numerator")
    bias: Float[Array, ""] = param("constant term of the numerator")
    divisor: Float[Array, "parents"] = param("effect of each parent on the denominator")
    offset: Float[Array, ""] = param("the least denominator", gt=0)

    @classmethod
    def prior(cls, rng, parents):
        return {
            "weight": signed_weights(rng, len(parents)),
            "bias": rng.uniform(*BIAS),
            "divisor": signed_weights(rng, len(parents)),
            "offset": rng.uniform(*OFFSET),
        }

    def __call__(self, parents):
        numerator = jnp.sum(self.weight * parents) + self.bias
        denominator = self.offset + jnp.abs(jnp.sum(self.divisor * parents))
        return jnp.clip(numerator / denominator, -CLIP, CLIP)
