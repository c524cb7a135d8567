"""Joint distributions of dependent roots, as data (paper A.1, Root dependency)."""

import abc
from typing import Annotated, Literal

import numpy as np
from pydantic import ConfigDict, Field, Strict

from mechanisms.base import Number, ParameterError
from mechanisms.parameters import ONLY_LISTS, WHOLE, Data, Many

Names = Annotated[tuple[str, ...], Strict(False), Field(min_length=2), ONLY_LISTS]

#: Variance that is each root's own in a random covariance L L' + 0.15 I (paper A.1).
OWN_VARIANCE = 0.15


class _Block(Data, abc.ABC, frozen=True):
    model_config = ConfigDict(revalidate_instances="always")  # `model_copy` checks nothing

    roots: Names

    def covariance(self) -> np.ndarray | None:
        """`[r, r]` covariance of a Gaussian block, None for a ball.

        Raises:
            ParameterError: If a parameter's length does not fit the roots.
        """
        return None

    def _one_each(self, field: str, found: int) -> None:
        if found != len(self.roots):
            raise ParameterError(field, f"has {found} entries, expected {len(self.roots)} (one per root)")


class CorrelatedNormal(_Block, frozen=True):
    """Normals with a common factor: correlation `sign_i sign_j rho`."""

    family: Literal["correlated_normal"]
    rho: Annotated[Number, Field(ge=0.0, lt=1.0)]
    signs: Many[Annotated[Literal[-1, 1], WHOLE]]

    def covariance(self):
        self._one_each("signs", len(self.signs))
        signs = np.array(self.signs, float)
        return self.rho * np.outer(signs, signs) + (1.0 - self.rho) * np.eye(len(signs))


class RandomCovarianceNormal(_Block, frozen=True):
    """Normals with covariance L L' + 0.15 I, standardised; `loadings` is L, one row a root."""

    family: Literal["random_covariance_normal"]
    loadings: Many[Many[Number]]

    def covariance(self):
        self._one_each("loadings", len(self.loadings))
        if len({len(row) for row in self.loadings}) != 1:
            raise ParameterError("loadings", "has rows of different lengths, expected one length")
        if not self.loadings[0]:
            raise ParameterError("loadings", "has empty rows, expected one entry or more in each")
        loadings = np.array(self.loadings)
        return loadings @ loadings.T + OWN_VARIANCE * np.eye(len(loadings))


class UniformBall(_Block, frozen=True):
    """Uniform on a ball, each coordinate standardised: where it lies and how large it is then cancels."""

    family: Literal["uniform_ball"]


RootBlockSpec = Annotated[CorrelatedNormal | RandomCovarianceNormal | UniformBall, Field(discriminator="family")]
BLOCKS: dict[str, type[_Block]] = {
    "correlated_normal": CorrelatedNormal,
    "random_covariance_normal": RandomCovarianceNormal,
    "uniform_ball": UniformBall,
}
