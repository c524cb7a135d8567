"""AUROC and average precision of many graphs at once on the host; ties as in scikit-learn."""

import numpy as np


def ranking_metrics(truth: np.ndarray, scores: np.ndarray) -> dict[str, np.ndarray]:
    """`auroc` and `average_precision`, `[b]` each, the diagonal left out; see `eval.metrics.score` for what is nan.

    AUROC gives tied scores their average rank; average precision treats a group of ties as one threshold. Only true
    edges are looked up among the sorted scores.

    Args:
        truth: `[b, d, d]` bool, true edges.
        scores: `[b, d, d]` floats, larger is more likely.
    """
    label, value = off_diagonal(truth), off_diagonal(scores)
    count, pairs = value.shape
    ordered = np.sort(value, axis=1)
    positives = label.sum(axis=1)
    ends = np.cumsum(positives)
    mine = value[label]  # graph by graph
    below, up_to, hits = (np.zeros(len(mine), np.int64) for _ in range(3))
    for g in np.flatnonzero(positives):
        part = slice(ends[g] - positives[g], ends[g])
        wanted = np.sort(mine[part])
        below[part] = np.searchsorted(ordered[g], wanted, side="left")
        up_to[part] = np.searchsorted(ordered[g], wanted, side="right")
        hits[part] = positives[g] - np.searchsorted(wanted, wanted, side="left")

    graph = np.repeat(np.arange(count), positives)
    total = lambda terms: np.bincount(graph, weights=terms, minlength=count)  # noqa: E731
    negatives = pairs - positives
    wins = total((below + up_to + 1) / 2) - positives * (positives + 1) / 2
    # Each true edge adds 1/P of recall at the threshold that equals its own score.
    precision = total(hits / (pairs - below))
    unranked = np.isnan(ordered[:, -1]) if pairs else np.ones(count, bool)  # sorted, nan comes last
    with np.errstate(invalid="ignore", divide="ignore"):
        auroc = np.where(unranked | (negatives == 0), np.nan, wins / (positives * negatives))
        return {"auroc": auroc, "average_precision": np.where(unranked, np.nan, precision / positives)}


def off_diagonal(matrices: np.ndarray) -> np.ndarray:
    """The entries of `[b, d, d]` that are not on the diagonal, `[b, d (d - 1)]`, row by row."""
    b, d, _ = matrices.shape
    # Dropping the last entry and folding into rows of d + 1 lines the diagonal up as the first column.
    return matrices.reshape(b, d * d)[:, :-1].reshape(b, d - 1, d + 1)[:, :, 1:].reshape(b, d * (d - 1))
