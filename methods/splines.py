"""Additive regression on B-splines: the basis of one variable, and the test of each variable in a sum."""

import dataclasses

import numpy as np
from scipy.interpolate import BSpline
from scipy.stats import f as f_distribution

# Share of the largest eigenvalue of a Gram matrix below which a direction counts as empty.
_EMPTY = 1e-9


@dataclasses.dataclass(frozen=True)
class Basis:
    """The B-splines of one variable.

    Attributes:
        knots: Non-decreasing, the ends repeated.
        degree: Of the pieces.
    """

    knots: np.ndarray
    degree: int

    def __call__(self, column: np.ndarray) -> np.ndarray:
        """The splines `[n, k]` of a column `[n]`; beyond the knots those at the nearest knot."""
        inside = np.clip(column, self.knots[0], self.knots[-1])
        return BSpline.design_matrix(inside, self.knots, self.degree).toarray()


def basis(column: np.ndarray, count: int, degree: int = 3) -> Basis:
    """`count` splines with their knots at quantiles of the column, or fewer where it has too few values.

    A column with few distinct values gets at most as many splines as values, at a lower degree if need be.

    Args:
        column: `[n]`, not constant.
        count: Number of splines, more than `degree`.
        degree: Of the pieces.
    """
    values = np.unique(column)
    count = min(count, len(values))
    degree = min(degree, count - 1)
    inner = np.unique(np.quantile(column, np.linspace(0, 1, count - degree + 1)[1:-1]))
    inner = inner[(inner > values[0]) & (inner < values[-1])]
    ends = [values[0]] * (degree + 1), [values[-1]] * (degree + 1)
    return Basis(np.concatenate([ends[0], inner, ends[1]]), degree)


def additive_p_values(predictors: np.ndarray, target: np.ndarray, count: int, degree: int = 3) -> np.ndarray:
    """The p-value of each predictor in an additive model of the target.

    Each predictor is expanded in splines, all are fitted by least squares at once, and each is tested by the F test of
    its splines against none of them. A predictor that the others determine has a p-value of 1.

    Args:
        predictors: `[n, p]`, no constant column.
        target: `[n]`.
        count: Splines a predictor; fewer if there are less than three rows to each of them all (CAM).
        degree: Of the splines.

    Returns:
        `[p]`; all 1 where not even two splines a predictor leave rows to estimate the noise from.
    """
    n, p = predictors.shape
    count = min(count, max(2, n // (3 * p)))
    degree = min(degree, count - 1)
    blocks = [_centred(basis(column, count, degree)(column)) for column in predictors.T]
    ends = np.cumsum([0, *(block.shape[1] for block in blocks)])
    design = np.concatenate(blocks, axis=1)
    gram, moment = design.T @ design, design.T @ (target - target.mean())
    inverse, rank = _pseudo_inverse(gram)
    freedom = n - 1 - rank
    if freedom <= 0:
        return np.ones(p)
    coefficients = inverse @ moment
    residual = max(float(((target - target.mean()) ** 2).sum() - coefficients @ moment), 0.0)
    noise = max(residual / freedom, np.finfo(float).tiny)
    p_values = np.ones(p)
    for k in range(p):
        rows = np.r_[0 : ends[k], ends[k + 1] : ends[-1]]
        others, without = _pseudo_inverse(gram[np.ix_(rows, rows)])
        lost = coefficients @ moment - moment[rows] @ others @ moment[rows]
        if rank > without:
            p_values[k] = f_distribution.sf(max(lost, 0.0) / (rank - without) / noise, rank - without, freedom)
    return p_values


def _centred(block: np.ndarray) -> np.ndarray:
    return block - block.mean(axis=0)


def _pseudo_inverse(gram: np.ndarray) -> tuple[np.ndarray, int]:
    """The inverse of a positive semidefinite matrix on its range, and its rank."""
    if not gram.size:
        return gram, 0
    eigenvalues, vectors = np.linalg.eigh(gram)
    keep = eigenvalues > _EMPTY * eigenvalues[-1]
    return (vectors[:, keep] / eigenvalues[keep]) @ vectors[:, keep].T, int(keep.sum())
