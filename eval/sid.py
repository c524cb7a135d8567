"""The exact structural intervention distance (Peters and Buehlmann 2015), computed by gadjid."""

from typing import Any

import numpy as np


def sid(truth: Any, prediction: Any) -> float:
    """Ordered pairs (i, j) whose effect p(x_j | do(x_i)) the predicted parents of i would get wrong.

    The paper's tables print another quantity under this name; see `eval.metrics.score`.

    Args:
        truth: `[d, d]` adjacency of the true DAG, `truth[i, j] != 0` for i -> j.
        prediction: `[d, d]` predicted adjacency; its diagonal is ignored.

    Returns:
        The count, between 0 and d(d-1), or nan for a cyclic prediction, for which it is not defined.
    """
    import gadjid

    true, guess = _graph(truth), _graph(prediction)
    if not is_acyclic(guess):
        return float("nan")
    return float(gadjid.sid(true, guess, edge_direction="from row to column")[1])  # pyright: ignore


def sids(truth: Any, prediction: Any) -> np.ndarray:
    """`sid` of many pairs, one after another: gadjid does not let go of the interpreter.

    Args:
        truth: `[..., d, d]` adjacencies of true DAGs.
        prediction: The same for the predictions.

    Returns:
        Float64 counts of the leading shape.

    Raises:
        ValueError: If the shapes disagree.
    """
    truth, prediction = np.asarray(truth), np.asarray(prediction)
    if truth.shape != prediction.shape or truth.ndim < 2:
        raise ValueError(f"predictions have shape {prediction.shape}, truths {truth.shape}; both must be [..., d, d]")
    shape = (-1, *truth.shape[-2:])
    found = [sid(*pair) for pair in zip(truth.reshape(shape), prediction.reshape(shape), strict=True)]
    return np.array(found, np.float64).reshape(truth.shape[:-2])


def is_acyclic(adjacency: np.ndarray) -> bool:
    """Whether a `[d, d]` graph with an empty diagonal has no directed cycle."""
    parents = (np.asarray(adjacency) != 0).sum(axis=0)
    ready = list(np.flatnonzero(parents == 0))
    ordered = 0
    while ready:
        node = ready.pop()
        ordered += 1
        for child in np.flatnonzero(adjacency[node]):
            parents[child] -= 1
            if parents[child] == 0:
                ready.append(child)
    return ordered == len(parents)


def _graph(adjacency: Any) -> np.ndarray:
    graph = np.ascontiguousarray(np.asarray(adjacency) != 0, dtype=np.int8)
    np.fill_diagonal(graph, 0)
    return graph
