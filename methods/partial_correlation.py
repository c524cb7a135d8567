"""Fisher's z test of partial correlations, from a correlation matrix; defined also where that has no inverse."""

import numpy as np
from scipy.special import ndtr

# Share of a variable's variance left given others below which they determine it.
_DETERMINED = 1e-9
#: Below this no test is defined, not even an unconditional one.
FEWEST_ROWS = 4
_LARGEST = 1.0 - np.finfo(float).eps


def p_values(correlation: np.ndarray, n: int, x: int, y: int, given: np.ndarray) -> np.ndarray:
    """P-values of "x and y are independent given S", for several sets S of one size.

    A variable that the conditioning set determines is a constant given it, and so independent of everything; too few
    rows for the size of the conditioning set are no evidence against independence. Both give a p-value of 1.

    Args:
        correlation: `[d, d]` correlation matrix, which may be singular.
        n: Number of rows that it is from.
        x: A variable.
        y: Another.
        given: `[m, k]` conditioning sets, a row each.

    Returns:
        `[m]` two-sided p-values.
    """
    given = np.asarray(given, dtype=np.intp)
    m, k = given.shape
    freedom = n - k - 3
    if freedom <= 0:
        return np.ones(m)
    pair = np.array([x, y])
    left = np.broadcast_to(correlation[np.ix_(pair, pair)], (m, 2, 2))
    if k:
        across = correlation[pair[None, :, None], given[:, None, :]]
        among = correlation[given[:, :, None], given[:, None, :]]
        left = left - across @ _solved(among, across.transpose(0, 2, 1))
    spread = np.stack([left[:, 0, 0], left[:, 1, 1]])
    determined = (spread < _DETERMINED).any(axis=0)
    scale = np.sqrt(np.where(determined, 1.0, spread).prod(axis=0))
    r = np.clip(left[:, 0, 1] / scale, -_LARGEST, _LARGEST)
    return np.where(determined, 1.0, 2 * ndtr(-np.sqrt(freedom) * np.abs(np.arctanh(r))))


def _solved(matrices: np.ndarray, right: np.ndarray) -> np.ndarray:
    """`matrices^-1 right`, by the pseudo-inverse where one is singular."""
    if np.linalg.eigvalsh(matrices)[:, 0].min() > _DETERMINED:
        return np.linalg.solve(matrices, right)
    return np.linalg.pinv(matrices, rcond=_DETERMINED, hermitian=True) @ right
