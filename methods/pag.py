"""Orientation of a partial ancestral graph where nothing is latent but rows may be selected (Zhang 2008)."""

from collections.abc import Mapping

import numpy as np

from methods.base import ARROW, CIRCLE, TAIL


def orient(
    adjacent: np.ndarray, separators: Mapping[tuple[int, int], tuple[int, ...]], known: np.ndarray | None = None
) -> np.ndarray:
    """The marks that follow from a skeleton, the separating sets and what is known already.

    Colliders first, then Zhang's rules R1 to R3 and R5 to R7 until nothing changes. Without latent variables no edge
    has two arrowheads, so that a circle opposite an arrowhead is a tail: that takes the place of R8 to R10, and leaves
    R4 nothing that R2 would not find. Estimated separating sets may contradict each other; a mark once made stays.

    Args:
        adjacent: `[d, d]` bool, symmetric.
        separators: For pairs (i, j), i < j, that are not adjacent, the set that separates them; a pair without one
            makes no collider.
        known: `[d, d]` marks to start from.

    Returns:
        `[d, d]` int8: at (i, j) the mark at j of the edge between i and j, 0 where there is none.
    """
    marks = np.where(adjacent, CIRCLE, 0).astype(np.int8)
    if known is not None:
        for i, j in np.argwhere(adjacent & (known > CIRCLE)).tolist():
            put(marks, i, j, int(known[i, j]))
    for (i, j), between in separators.items():
        if not adjacent[i, j]:
            for middle in np.flatnonzero(adjacent[i] & adjacent[j]).tolist():
                if middle not in between:
                    put(marks, i, middle, ARROW)
                    put(marks, j, middle, ARROW)
    apart = ~adjacent & ~np.eye(len(adjacent), dtype=bool)
    rules = (_away_from_collider, _away_from_cycle, _double_triangle, _selected_cycle, _selected_lines, _no_latents)
    while sum(rule(marks, apart) for rule in rules):
        pass
    return marks


def put(marks: np.ndarray, i: int, j: int, mark: int) -> bool:
    """Make the mark at j of the edge between i and j, if there is a circle and no second arrowhead comes of it."""
    if marks[i, j] != CIRCLE or (mark == ARROW and marks[j, i] == ARROW):
        return False
    marks[i, j] = mark
    return True


def _some(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The boolean matrix product: whether some k has a[i, k] and b[k, j]."""
    return a.astype(np.float32) @ b.astype(np.float32) > 0


def _directed(marks: np.ndarray) -> np.ndarray:
    return (marks == ARROW) & (marks.T == TAIL)


def _away_from_collider(marks: np.ndarray, apart: np.ndarray) -> int:
    """R1: a *-> b o-* c with a and c apart makes b -> c."""
    found = _some((marks == ARROW).T, apart) & (marks == CIRCLE).T
    return sum(put(marks, c, b, TAIL) + put(marks, b, c, ARROW) for b, c in np.argwhere(found).tolist())


def _away_from_cycle(marks: np.ndarray, apart: np.ndarray) -> int:
    """R2: a -> b *-> c or a *-> b -> c, with a *-o c, makes a *-> c."""
    into, along = marks == ARROW, _directed(marks)
    found = (_some(along, into) | _some(into, along)) & (marks == CIRCLE)
    return sum(put(marks, a, c, ARROW) for a, c in np.argwhere(found).tolist())


def _double_triangle(marks: np.ndarray, apart: np.ndarray) -> int:
    """R3: a *-> b <-* c, a *-o t o-* c, a and c apart, t *-o b makes t *-> b."""
    into, circle = marks == ARROW, marks == CIRCLE
    count = 0
    for t, b in np.argwhere(circle & (into.sum(axis=0)[None, :] > 1)).tolist():
        around = circle[:, t] & into[:, b]
        if apart[np.ix_(around, around)].any():
            count += put(marks, t, b, ARROW)
    return count


def _selected_cycle(marks: np.ndarray, apart: np.ndarray) -> int:
    """R5: a o-o b on a cycle of circles no three in a row of which are shielded: tails all round."""
    count = 0
    for a, b in np.argwhere(np.triu((marks == CIRCLE) & (marks.T == CIRCLE))).tolist():
        if marks[a, b] == marks[b, a] == CIRCLE:
            cycle = _uncovered_cycle(marks, apart, a, b)
            for i, j in zip(cycle, [*cycle[1:], *cycle[:1]], strict=True):
                count += put(marks, i, j, TAIL) + put(marks, j, i, TAIL)
    return count


def _uncovered_cycle(marks: np.ndarray, apart: np.ndarray, a: int, b: int) -> list[int]:
    """A cycle a, ..., b of at least four nodes, all circles, without a shielded triple; empty if none is found.

    Breadth first, each step taken once.
    """
    circles = (marks == CIRCLE) & (marks.T == CIRCLE)
    paths = [[a, int(first)] for first in np.flatnonzero(circles[a] & apart[b])]
    seen = {tuple(path) for path in paths}
    for path in paths:
        before, here = path[-2:]
        for after in np.flatnonzero(circles[here] & apart[before]).tolist():
            if after == b and apart[a, here]:
                return [*path, b]
            if after not in path and after != b and (here, after) not in seen:
                seen.add((here, after))
                paths.append([*path, after])
    return []


def _selected_lines(marks: np.ndarray, apart: np.ndarray) -> int:
    """R6: a --- b o-* c makes b --* c. R7: a --o b o-* c with a and c apart makes b --* c."""
    tail, circle = marks == TAIL, marks == CIRCLE
    line = (tail & tail.T).any(axis=0)
    found = (line[:, None] | _some((circle & tail.T).T, apart)) & circle.T
    return sum(put(marks, c, b, TAIL) for b, c in np.argwhere(found).tolist())


def _no_latents(marks: np.ndarray, apart: np.ndarray) -> int:
    """a o-> b is a -> b."""
    found = (marks == CIRCLE) & (marks.T == ARROW)
    return sum(put(marks, i, j, TAIL) for i, j in np.argwhere(found).tolist())
