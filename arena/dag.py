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
    return int(levels(adjacency).max(initial=0))


def levels(adjacency: np.ndarray) -> np.ndarray:
    """`[d]`, for each node of a DAG `[d, d]` the edges on the longest directed path that ends in it."""
    level = np.zeros(len(adjacency), int)
    for _ in range(len(adjacency)):
        deeper = np.where(adjacency > 0, level[:, None] + 1, 0).max(axis=0, initial=0)
        if (deeper == level).all():
            break
        level = deeper
    return level


def find_cycle(adjacency: np.ndarray) -> list[int] | None:
    """The nodes of one directed cycle of a 0/1 matrix `[d, d]`, in order; None when there is none."""
    order = topological_order(adjacency)
    rest = np.setdiff1d(np.arange(len(adjacency)), order)
    if not len(rest):
        return None
    # Whatever has no place in the order has a parent without one, so walking from parent to parent closes a cycle.
    seen: list[int] = []
    node = int(rest[0])
    while node not in seen:
        seen.append(node)
        node = int(next(parent for parent in rest if adjacency[parent, node]))
    return seen[seen.index(node) :][::-1]
