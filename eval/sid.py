"""The exact structural intervention distance (Peters and Buehlmann 2015), computed by gadjid."""

from typing import Any

import numpy as np


def sid(truth: Any, prediction: Any) -> float:
    """Ordered pairs (i, j) whose effect p(x_j | do(x_i)) the predicted parents of i would get wrong.

    The paper's tables print another quantity under this name; see `eval.metrics.graph_metrics`.

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
