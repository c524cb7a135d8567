"""Stein estimates of the curvature of a log density from a sample (Li and Turner 2018; Rolland et al. 2022)."""

import dataclasses

import numpy as np
from scipy.linalg import cho_factor, cho_solve


@dataclasses.dataclass(frozen=True)
class Curvature:
    """The Hessian of log p at the `n` points of a sample, by ridge regression in a Gaussian kernel's feature space.

    Everything is written in products of `[n, n]` and `[n, d]` matrices; no array of differences `[n, n, d]` is made.

    Attributes:
        values: `[n, d]` sample.
        kernel: `[n, n]`.
        width: Of the kernel, the median distance, as in SCORE.
        gradient: `[n, d]` of log p.
        factor: The Cholesky factor of the kernel with the Hessian's ridge.
    """

    values: np.ndarray
    kernel: np.ndarray
    width: float
    gradient: np.ndarray
    factor: tuple[np.ndarray, bool]

    @classmethod
    def of(cls, values: np.ndarray, ridge_gradient: float, ridge_hessian: float) -> "Curvature":
        """The estimate on a sample `[n, d]`, with the ridges of the gradient (eta_G) and the Hessian (eta_H)."""
        n = len(values)
        kernel, width = _kernel(values)
        factor = cho_factor(kernel + ridge_gradient * np.eye(n), check_finite=False)
        # The kernel's derivative by x_k at (x_k, x_i), summed over k, with the sign of Stein's identity.
        slope = (kernel @ values - values * kernel.sum(axis=1, keepdims=True)) / width**2
        gradient = cho_solve(factor, slope, check_finite=False)
        if ridge_hessian != ridge_gradient:
            factor = cho_factor(kernel + ridge_hessian * np.eye(n), check_finite=False)
        return cls(values, kernel, width, gradient, factor)

    def diagonal(self) -> np.ndarray:
        """`[n, d]`: the second derivatives by each variable."""
        x, kernel, total = self.values, self.kernel, self.kernel.sum(axis=1, keepdims=True)
        squares = x**2 * total - 2 * x * (kernel @ x) + kernel @ x**2
        return self._solve(squares / self.width**4 - total / self.width**2) - self.gradient**2

    def column(self, k: int) -> np.ndarray:
        """`[n, d]`: the derivatives by each variable of the derivative by variable `k`."""
        x, kernel = self.values, self.kernel
        own, total = x[:, k : k + 1], kernel.sum(axis=1, keepdims=True)
        products = own * x * total - own * (kernel @ x) - x * (kernel @ own) + kernel @ (own * x)
        mixed = products / self.width**4
        mixed[:, k] -= total[:, 0] / self.width**2
        return self._solve(mixed) - self.gradient[:, k : k + 1] * self.gradient

    def _solve(self, right: np.ndarray) -> np.ndarray:
        return cho_solve(self.factor, right, check_finite=False)


def _kernel(values: np.ndarray) -> tuple[np.ndarray, float]:
    """The kernel matrix exp(-|x - y|^2 / (2 s^2)) / s and its width s, the median of all distances."""
    squares = (values**2).sum(axis=1)
    distances = np.maximum(squares[:, None] + squares[None, :] - 2 * values @ values.T, 0.0)
    width = float(np.sqrt(np.median(distances)))
    if width == 0.0:  # more than half of the pairs are equal
        width = float(np.sqrt(distances.mean()))
    return np.exp(distances / (-2 * width**2)) / width, width
