"""Gaussian noise (paper A.1)."""

from jaxtyping import Float

from mechanisms.base import Array, Noise, param, standard_normal

SCALE = (0.05, 0.45)  # paper A.1, Gaussian


class Gaussian(Noise, family="gaussian"):
    """signal + scale * standard normal. Prior: scale in [0.05, 0.45]."""

    link = "identity"

    scale: Float[Array, ""] = param("standard deviation", gt=0.0, pad=1.0)

    @classmethod
    def prior(cls, rng):
        return {"scale": rng.uniform(*SCALE)}

    def __call__(self, signal, u, parents):
        return signal + self.scale * standard_normal(u)
