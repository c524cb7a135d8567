"""The score of GIES: Gaussian log-likelihood of a node given its parents with the BIC penalty, from scatter."""

from collections.abc import Sequence

import numpy as np
from scipy.linalg import solve_triangular

#: Smallest eigenvalue, after scaling by the columns' variances, below which scatter counts as singular; and what is
#: then added to every scaled variance. Residual variances are then never below it.
RIDGE = 1e-10
#: Rows that are kept before they are forgotten; 800 bytes each at d = 100.
_CACHE = 200_000


class Score:
    """Local scores of node y with parents P: -n/2 (1 + log s) - log(N)/2 (|P| + 1) (Hauser and Bühlmann 2012).

    Rows in which y is a target say nothing about its parents. n is the number of the others, s the residual
    variance in their scatter, pooled over environments with a mean for each; N is the number of all rows.

    Where scatter is singular (columns that are sums of others, few rows, a column that moves only between
    environments), all scatter gets a ridge, so that the score is that of a proper Gaussian and every graph of
    an equivalence class has the same.

    Args:
        tables: One `[n_e, d]` for each environment.
        targets: The target columns of each.

    Attributes:
        d: Number of variables.
        ridge: What was added, relative to a column's variance over all rows; 0 where scatter is regular.
        empty: Score of the graph without edges.
    """

    def __init__(self, tables: Sequence[np.ndarray], targets: Sequence[Sequence[int]]):
        counts = np.array([len(table) for table in tables])
        within = np.stack([_scatter(table) for table in tables])
        self.d = within.shape[1]
        observed = np.ones((self.d, len(tables)), bool)
        for e, group in enumerate(targets):
            observed[list(group), e] = False
        patterns, self._pattern = np.unique(observed, axis=0, return_inverse=True)
        self._pattern = self._pattern.ravel()
        rows = patterns @ counts
        pooled = np.einsum("pe,eij->pij", patterns.astype(float), within) / rows[:, None, None]

        scale = np.concatenate(tables).std(axis=0)
        scaled = pooled / np.outer(scale, scale)
        self.ridge = RIDGE if np.linalg.eigvalsh(scaled).min() < RIDGE else 0.0
        self._covariance = pooled + self.ridge * np.diag(scale**2)
        self._rows = rows[self._pattern]
        self._penalty = 0.5 * np.log(counts.sum())
        own = self._covariance[self._pattern, np.arange(self.d), np.arange(self.d)]
        self.empty = float((-0.5 * self._rows * (1 + np.log(own)) - self._penalty).sum())
        self._changes: dict[tuple[int, tuple[int, ...]], np.ndarray] = {}

    def changes(self, node: int, parents: Sequence[int]) -> np.ndarray:
        """`[d]`: what the local score gains when a variable becomes a parent, or, if it is one, no longer is.

        The entry of the node itself means nothing. `parents` are sorted.
        """
        key = (node, tuple(parents))
        found = self._changes.get(key)
        if found is None:
            if len(self._changes) >= _CACHE:
                self._changes.clear()
            found = self._changes[key] = self._compute(node, list(parents))
        return found

    def _compute(self, node: int, parents: list[int]) -> np.ndarray:
        s, half = self._covariance[self._pattern[node]], 0.5 * self._rows[node]
        residual, with_node = s.diagonal(), s[node]
        if not parents:
            return -half * np.log1p(-_share(with_node, residual, residual[node], node)) - self._penalty
        k = len(parents)
        factor = np.linalg.cholesky(s[np.ix_(parents, parents)])
        # Both L^-1 S[P, :] and L^-1, where L L^T = S[P, P].
        right = np.concatenate([s[parents], np.eye(k)], axis=1)
        solved = solve_triangular(factor, right, lower=True, check_finite=False)
        projected, inverse = solved[:, : self.d], solved[:, self.d :]
        residual = residual - (projected**2).sum(axis=0)
        with_node = with_node - projected[:, node] @ projected
        residual[parents] = 1.0  # of themselves they leave nothing; overwritten below
        variance = residual[node]
        out = -half * np.log1p(-_share(with_node, residual, variance, node)) - self._penalty
        weights = projected[:, node] @ inverse
        more = weights**2 / (inverse**2).sum(axis=0)  # how much the residual variance grows without each parent
        out[parents] = -half * np.log1p(more / variance) + self._penalty
        return out


def _scatter(table: np.ndarray) -> np.ndarray:
    centred = table - table.mean(axis=0)
    return centred.T @ centred


def _share(with_node: np.ndarray, residual: np.ndarray, variance: float, node: int) -> np.ndarray:
    """Squared partial correlations of the node with every column, 0 with itself."""
    share = with_node**2 / (residual * variance)
    share[node] = 0.0
    return share
