"""Joint distributions of several roots (paper A.1, Root dependency)."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from mechanisms.base import Array, Kind, Root, standard_normal


class GivenRoot(Root):
    """The root distribution of a variable whose value a joint block gives: what comes in is the value."""

    kind: ClassVar[Kind] = "root"
    family: ClassVar[str] = "given"  # not registered: no spec asks for it by name

    def __call__(self, u):
        return u


class RootBlock(eqx.Module):
    """Standardised values of dependent roots, as a function of the roots' own noise.

    Attributes:
        member: `[d]`, the columns that the block gives; all three with a leading axis where blocks are stacked.
        mix: `[d, d]`, values = mix @ normals for a Gaussian block; its rows and columns are 0 outside the block.
        ball: Whether the block is uniform on a ball instead.
    """

    member: Bool[Array, "*batch d"]
    mix: Float[Array, "*batch d d"]
    ball: Bool[Array, "*batch"]

    def __call__(self, u: Float[Array, "d n"]) -> Float[Array, "d n"]:
        """The members' values `[d, n]`, 0 elsewhere; `u` is uniform noise by column."""
        normals = jnp.where(self.member[:, None], standard_normal(u), 0.0)
        return jax.lax.cond(self.ball, lambda z: self._uniform_on_ball(z), lambda z: jnp.asarray(self.mix) @ z, normals)

    def _uniform_on_ball(self, normals: Float[Array, "d n"]) -> Float[Array, "d n"]:
        # The direction and the length of a normal vector are independent, so the length's own quantile is the
        # uniform that gives the radius U^(1/r). A coordinate of the unit ball has variance 1 / (r + 2).
        r = jnp.sum(self.member).astype(normals.dtype)
        squared = jnp.sum(normals**2, axis=0)
        radius = jax.scipy.special.gammainc(r / 2, squared / 2) ** (1 / r)
        return normals * (radius * jnp.sqrt((r + 2) / squared))


def gaussian_mix(covariance: np.ndarray) -> np.ndarray:
    """`[r, r]` lower triangular, such that mixing independent normals gives the correlation of `covariance`."""
    deviation = np.sqrt(np.diag(covariance))
    return np.linalg.cholesky(covariance / np.outer(deviation, deviation))
