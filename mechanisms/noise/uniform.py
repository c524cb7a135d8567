"""Uniform noise (paper A.1)."""

from jaxtyping import Float

from mechanisms.base import Array, Noise, param

SCALE = (0.05, 0.45)  # paper A.1, Uniform


class Uniform(Noise, family="uniform"):
    """signal + uniform on [-scale, scale]. Prior: scale in [0.05, 0.45]."""

    link = "identity"

    scale: Float[Array, ""] = param("half-width", gt=0.0, pad=1.0)

    @classmethod
    def prior(cls, rng):
        return {"scale": rng.uniform(*SCALE)}

    def __call__(self, signal, u, parents):
        return signal + self.scale * (2.0 * u - 1.0)
