"""Saturating mechanism (paper A.1, Saturation/clipping)."""

import jax
import jax.numpy as jnp
from jaxtyping import Float, Int

from mechanisms.base import Array, Mechanism, param
from mechanisms.priors import BIAS, signed_weights

SCALE = (0.8, 2.5)  # paper A.1, Saturation/clipping; it does not name the nonlinearities

#: Slope 1 at 0, within [-1, 1].
SHAPES = {
    "tanh": jnp.tanh,
    "softsign": lambda z: z / (1.0 + jnp.abs(z)),
    "algebraic": lambda z: z / jnp.sqrt(1.0 + z * z),
    "clip": lambda z: jnp.clip(z, -1.0, 1.0),
}


class SaturationClip(Mechanism, family="saturation_clip"):
    """f(x) = sum_k weight_k scale_k g(x_k / scale_k) + bias: a parent's response has slope 1 and ends at +-scale_k.

    g is tanh(z), z / (1 + |z|), z / sqrt(1 + z^2), or z clipped to [-1, 1]; one for all parents.

    Prior (paper A.1): scales in [0.8, 2.5]; weights and bias as in the linear family.
    """

    shape: Int[Array, ""] = param("how responses saturate", choices=tuple(SHAPES))
    weight: Float[Array, "parents"] = param("effect of each parent's response")
    scale: Float[Array, "parents"] = param("where each parent's response saturates", gt=0, pad=1.0)
    bias: Float[Array, ""] = param("constant term")

    @classmethod
    def prior(cls, rng, parents):
        k = len(parents)
        return {
            "shape": str(rng.choice(list(SHAPES))),
            "weight": signed_weights(rng, k),
            "scale": rng.uniform(*SCALE, size=k).tolist(),
            "bias": rng.uniform(*BIAS),
        }

    def __call__(self, parents):
        response = self.scale * jax.lax.switch(self.shape, list(SHAPES.values()), parents / self.scale)
        return jnp.sum(self.weight * response) + self.bias
