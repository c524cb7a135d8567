"""Tests of Gaussian tables from moments: which of many variables one depends on, and whether a conditional moved."""

import dataclasses
from collections.abc import Iterable

import numpy as np
from scipy.special import fdtr, fdtrc, ndtri

from methods.gies_graph import members
from methods.partial_correlation import p_values

# Smallest eigenvalue of a correlation matrix that is inverted without ado.
_SINGULAR = 1e-9


@dataclasses.dataclass(frozen=True)
class Moments:
    """What the tests need of a table.

    Attributes:
        n: Number of rows.
        mean: `[d]`.
        cross: `[d, d]`, sums over rows of products of centred columns.
    """

    n: int
    mean: np.ndarray
    cross: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray) -> "Moments":
        """The moments of a table `[n, d]`."""
        mean = values.mean(axis=0)
        return cls(len(values), mean, (values - mean).T @ (values - mean))


class Independence:
    """Fisher's z tests of one variable against each of several, given the others of them; remembered.

    Args:
        values: `[n, d]` rows of one distribution.
        alpha: Level of a test.
    """

    def __init__(self, values: np.ndarray, alpha: float):
        self._n = len(values)
        spread = values.std(axis=0)
        scaled = (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        self._correlation = scaled.T @ scaled / self._n
        np.fill_diagonal(self._correlation, 1.0)
        self._alpha = alpha
        self._limit = -ndtri(alpha / 2)
        self._known: dict[tuple[int, int], int] = {}

    def needed(self, node: int, candidates: int) -> int:
        """Those candidates that `node` is not independent of given all others of them; sets are bit masks."""
        if (node, candidates) not in self._known:
            others = members(candidates)
            dependent = self._dependent(node, others) if others else []
            self._known[node, candidates] = mask_of(c for c, found in zip(others, dependent, strict=True) if found)
        return self._known[node, candidates]

    def _dependent(self, node: int, others: list[int]) -> list[bool]:
        freedom = self._n - (len(others) - 1) - 3
        if freedom <= 0:
            return [False] * len(others)
        columns = [node, *others]
        among = self._correlation[np.ix_(columns, columns)]
        if np.linalg.eigvalsh(among)[0] < _SINGULAR:
            return [self._alone(node, c, [other for other in others if other != c]) for c in others]
        precision = np.linalg.inv(among)
        r = -precision[0, 1:] / np.sqrt(precision[0, 0] * np.diagonal(precision)[1:])
        limit = np.tanh(self._limit / np.sqrt(freedom))
        return (np.abs(r) > limit).tolist()

    def _alone(self, node: int, other: int, given: list[int]) -> bool:
        sets = np.array(given, np.intp).reshape(1, len(given))
        return bool(p_values(self._correlation, self._n, node, other, sets)[0] < self._alpha)


class Invariance:
    """Whether the distribution of a variable given others is the same in two Gaussian tables; remembered.

    Two tests share the level: a Wald test that the regression coefficients, with the intercept, are equal, and an F
    test that the residual variances are. Of a table with too few rows to estimate a residual variance nothing is known.

    Args:
        tables: Moments of the tables; the first is what the others are compared to.
        alpha: Level of the two tests together.
    """

    def __init__(self, tables: list[Moments], alpha: float):
        self._tables = tables
        self._alpha = alpha
        self._known: dict[tuple[int, int, tuple[int, ...]], bool | None] = {}

    def same(self, table: int, node: int, given: tuple[int, ...] = ()) -> bool | None:
        """Whether `node` given a set of others is in a table as it is in the first; None if that cannot be told."""
        key = (table, node, tuple(sorted(given)))
        if key not in self._known:
            self._known[key] = self._same(*key)
        return self._known[key]

    def _same(self, table: int, node: int, given: tuple[int, ...]) -> bool | None:
        here, there = self._tables[0], self._tables[table]
        k = len(given) + 1
        if min(here.n, there.n) <= k:
            return None
        coefficients, covariances, variances = zip(*(_regression(m, node, given) for m in (here, there)), strict=True)
        if min(variances) <= 0:
            return max(variances) <= 0 and bool(np.allclose(coefficients[0], coefficients[1]))
        moved = coefficients[0] - coefficients[1]
        wald = moved @ np.linalg.pinv(covariances[0] + covariances[1], hermitian=True) @ moved / k
        p_coefficients = fdtrc(k, here.n + there.n - 2 * k, wald)
        ratio, freedom = variances[0] / variances[1], (here.n - k, there.n - k)
        p_variance = 2 * min(fdtr(*freedom, ratio), fdtrc(*freedom, ratio))
        return bool(min(p_coefficients, p_variance) >= self._alpha / 2)


def _regression(moments: Moments, node: int, given: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, float]:
    """The intercept and coefficients of `node` on others, their covariance matrix, and the residual variance."""
    columns, k = list(given), len(given) + 1
    inverse = np.linalg.pinv(moments.cross[np.ix_(columns, columns)], hermitian=True)
    slopes = inverse @ moments.cross[columns, node]
    centre = moments.mean[columns]
    left = moments.cross[node, node] - slopes @ moments.cross[columns, node]
    # Rounding leaves something where there is nothing.
    variance = left / (moments.n - k) if left > 1e-12 * max(moments.cross[node, node], 1e-300) else 0.0
    coefficients = np.concatenate([[moments.mean[node] - slopes @ centre], slopes])
    across = -inverse @ centre
    corner = 1 / moments.n + centre @ inverse @ centre
    covariance = np.block([[np.array([[corner]]), across[None, :]], [across[:, None], inverse]])
    return coefficients, variance * covariance, float(variance)


def mask_of(nodes: Iterable[int]) -> int:
    """The set of some numbers, as a bit mask."""
    mask = 0
    for node in nodes:
        mask |= 1 << node
    return mask
