"""Polynomial mechanism (paper A.1, Polynomial additive)."""

import jax.numpy as jnp
from jaxtyping import Float

from mechanisms.base import Array, Mechanism, param
from mechanisms.priors import BIAS, INPUT_LIMIT, signed_weights
from mechanisms.tails import compress

# Paper A.1, Polynomial additive; it gives no range for the fourth power.
POWER = (2, 4)
QUADRATIC = (-0.5, 0.5)
CUBIC = (-0.15, 0.15)
QUARTIC = (-0.05, 0.05)


class PolynomialPower(Mechanism, family="polynomial_power"):
    """f(x) = sum_k (weight_k x_k + quadratic_k z_k^2 + cubic_k z_k^3 + quartic_k z_k^4) + bias.

    z is x, compressed beyond |x| = 3: a heavy tail enters the powers by its logarithm.

    Prior (paper A.1): each parent's highest power is 2, 3 or 4, coefficients above it are 0; quadratic ones in
    [-0.5, 0.5], cubic ones in [-0.15, 0.15], quartic ones in [-0.05, 0.05]; weights and bias as in the linear family.
    """

    weight: Float[Array, "parents"] = param("linear coefficient of each parent")
    quadratic: Float[Array, "parents"] = param("coefficient of each parent's second power")
    cubic: Float[Array, "parents"] = param("coefficient of each parent's third power")
    quartic: Float[Array, "parents"] = param("coefficient of each parent's fourth power")
    bias: Float[Array, ""] = param("constant term")

    @classmethod
    def prior(cls, rng, parents):
        k = len(parents)
        highest = rng.integers(POWER[0], POWER[1] + 1, size=k)
        return {
            "weight": signed_weights(rng, k),
            "quadratic": rng.uniform(*QUADRATIC, size=k).tolist(),
            "cubic": (rng.uniform(*CUBIC, size=k) * (highest >= 3)).tolist(),
            "quartic": (rng.uniform(*QUARTIC, size=k) * (highest >= 4)).tolist(),
            "bias": rng.uniform(*BIAS),
        }

    def __call__(self, parents):
        z = compress(parents, INPUT_LIMIT)
        powers = z * z * (self.quadratic + z * (self.cubic + z * self.quartic))
        return jnp.sum(self.weight * parents + powers) + self.bias
