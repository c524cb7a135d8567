"""Directed graphs as 0/1 matrices `[d, d]`, `A[i, j] == 1` for i -> j: order, depth, cycles."""

import numpy as np


def topological_order(adjacency: np.ndarray) -> list[int]:
    """Columns such that parents come first; among the ready ones, in column order."""
    waiting = adjacency.sum(axis=0).astype(int)
    ready, order = sorted(np.flatnonzero(waiting == 0).tolist(), reverse=True), []
    while ready:
        j = ready.pop()
        order.append(j)
        for child in np.flatnonzero(adjacency[j])[::-1].tolist():
            waiting[child] -= 1
            if waiting[child] == 0:
                ready.append(child)
    return order


def depth(adjacency: np.ndarray) -> int:
    """Edges on the longest directed path of a DAG `[d, d]`."""
    level = np.zeros(len(adjacency), int)
    for _ in range(len(adjacency)):
        deeper = np.where(adjacency > 0, level[:, None] + 1, 0).max(axis=0, initial=0)
        if (deeper == level).all():
            break
        level = deeper
    return int(level.max(initial=0))


def find_cycle(adjacency: np.ndarray) -> list[int] | None:
    """The nodes of one directed cycle of a 0/1 matrix `[d, d]`, in order; None when there is none.

    Roots are peeled off until none is left. Whatever remains has a parent in the remainder, so walking from
    parent to parent must close a cycle. (Faster than building a graph object, and every load runs it.)
    """
    rest = np.arange(len(adjacency))
    while len(rest):
        inner = adjacency[np.ix_(rest, rest)].any(axis=0)
        if inner.all():
            break
        rest = rest[inner]
    if not len(rest):
        return None
    seen: list[int] = []
    node = int(rest[0])
    while node not in seen:
        seen.append(node)
        node = int(next(parent for parent in rest if adjacency[parent, node]))
    return seen[seen.index(node) :][::-1]
