"""Sortability: how far the causal order shows in the columns' variances or R^2 (Reisach et al. 2021, 2023).

0.5 is no information, 1 an order by the criterion that is causal, 0 one against it. Standardising a table takes the
first away, not the second.
"""

import numpy as np


def var_sortability(values: np.ndarray, adjacency: np.ndarray) -> float | None:
    """Share of directed paths along which the variance grows; None for a graph without edges.

    Args:
        values: `[n, d]`.
        adjacency: `[d, d]` of a DAG, `adjacency[i, j] != 0` for i -> j.
    """
    return order_alignment(variances(values), path_lengths(adjacency))


def r2_sortability(values: np.ndarray, adjacency: np.ndarray) -> float | None:
    """Share of directed paths along which the R^2 on all other columns grows; otherwise as `var_sortability`."""
    return order_alignment(r2_of_columns(values), path_lengths(adjacency))


def variances(values: np.ndarray) -> np.ndarray:
    """`[d]`, the variance of each column, up to a factor that all share, so that large values do not overflow."""
    values = np.asarray(values, np.float64)
    return (values / (np.abs(values).max(initial=0.0) or 1.0)).var(axis=0)


def path_lengths(adjacency: np.ndarray) -> np.ndarray:
    """`[d, d]`, for how many k there is a directed path of k edges from i to j in a DAG."""
    edges = (np.asarray(adjacency) != 0).astype(np.float32)
    paths, lengths = edges, np.zeros(edges.shape)
    while paths.any():
        lengths += paths
        paths = (paths @ edges > 0).astype(np.float32)
    return lengths


def order_alignment(scores: np.ndarray, lengths: np.ndarray) -> float | None:
    """Share of the paths counted in `lengths` `[d, d]` whose end has the higher score `[d]`; ties count half.

    Reisach et al. 2021, section 3.1: a pair counts once for each length of a path between the two.
    """
    if not lengths.any():
        return None
    difference = scores[None, :] - scores[:, None]
    agreement = (np.sign(difference) + 1.0) / 2.0
    return float((lengths * agreement).sum() / lengths.sum())


def r2_of_columns(values: np.ndarray) -> np.ndarray:
    """`[d]`, the R^2 of each column regressed on all others; 0 for a constant column."""
    values = np.asarray(values, np.float64)
    values = values / np.maximum(np.abs(values).max(axis=0, initial=0.0), np.finfo(np.float64).tiny)
    centred = values - values.mean(axis=0)
    size = np.sqrt((centred**2).sum(axis=0))
    varies = size > 0
    standard = centred[:, varies] / size[varies]
    r2 = np.zeros(values.shape[1])
    # Over all directions that the table has: a column that is a sum of others has R^2 1.
    eigenvalues, vectors = np.linalg.eigh(standard.T @ standard)
    empty = eigenvalues <= len(eigenvalues) * np.finfo(np.float64).eps * eigenvalues.max(initial=0.0)
    determined = (vectors[:, empty] ** 2).sum(axis=1) > np.sqrt(np.finfo(np.float64).eps)
    residual = 1.0 / (vectors[:, ~empty] ** 2 / eigenvalues[~empty]).sum(axis=1)
    r2[varies] = np.where(determined, 1.0, 1.0 - residual)
    return np.clip(r2, 0.0, 1.0)
