"""Gaussian roots (paper A.1)."""

from jaxtyping import Float

from mechanisms.base import Array, Root, param, standard_normal

SCALE = (0.5, 2.0)  # paper A.1, Gaussian roots


class GaussianRoot(Root, family="gaussian"):
    """Normal. Prior: mean from N(0, 1), standard deviation in [0.5, 2]."""

    mean: Float[Array, ""] = param("mean")
    scale: Float[Array, ""] = param("standard deviation", gt=0.0, pad=1.0)

    @classmethod
    def prior(cls, rng):
        return {"mean": rng.normal(), "scale": rng.uniform(*SCALE)}

    def __call__(self, u):
        return self.mean + self.scale * standard_normal(u)
