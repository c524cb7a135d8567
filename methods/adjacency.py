"""The adjacency search of the PC algorithm: who stays adjacent to whom, and what separates the others."""

import dataclasses
import itertools
from collections.abc import Iterator

import numpy as np

from methods.partial_correlation import p_values

# Conditioning sets tested at a time; most pairs need few.
_CHUNKS = (16, 128, 1024)

Pair = tuple[int, int]
Known = dict[Pair, set[tuple[int, ...]]]


@dataclasses.dataclass(frozen=True)
class Skeleton:
    """What an adjacency search found.

    Attributes:
        adjacent: `[d, d]` bool, symmetric.
        separators: For each pair (i, j) with i < j that is not adjacent, unless it was cut off before any test, the set
            that separates it.
        dependent: For each pair the sets given which it was found dependent.
    """

    adjacent: np.ndarray
    separators: dict[Pair, tuple[int, ...]]
    dependent: Known


def search(
    correlation: np.ndarray,
    n: int,
    *,
    alpha: float,
    largest: int | None = None,
    fixed: np.ndarray | None = None,
    dependent: Known | None = None,
) -> Skeleton:
    """Remove every edge whose ends some set of neighbours separates (Spirtes, Glymour and Scheines 2000).

    Pairs and sets are taken in the order of the columns, and an edge is gone as soon as it is removed, so that the
    answer depends on that order.

    Args:
        correlation: `[d, d]` correlation matrix.
        n: Rows that it is from.
        alpha: Level of the tests.
        largest: Largest size of a conditioning set, None for no limit.
        fixed: `[d, d]` bool, pairs that are known to be adjacent and are not tested.
        dependent: Sets that are known not to separate a pair.
    """
    d = len(correlation)
    adjacent = ~np.eye(d, dtype=bool)
    fixed = np.zeros((d, d), bool) if fixed is None else fixed
    known: Known = {pair: set(sets) for pair, sets in (dependent or {}).items()}
    separators: dict[Pair, tuple[int, ...]] = {}
    for size in range(d - 1 if largest is None else min(largest, d - 2) + 1):
        degree = adjacent.sum(axis=0) - 1
        todo = [
            (i, j)
            for i, j in zip(*np.nonzero(np.triu(adjacent & ~fixed)), strict=True)
            if max(degree[i], degree[j]) >= size
        ]
        if not todo:
            break
        for i, j in todo:
            pair = (int(i), int(j))
            refuted = known.setdefault(pair, set())
            for sets in _in_chunks(_candidates(adjacent, pair, size, refuted)):
                p = p_values(correlation, n, *pair, np.array(sets, dtype=np.intp).reshape(len(sets), size))
                independent = np.flatnonzero(p > alpha)
                refuted.update(sets[: independent[0] if len(independent) else None])
                if len(independent):
                    separators[pair] = sets[independent[0]]
                    adjacent[i, j] = adjacent[j, i] = False
                    break
    return Skeleton(adjacent, separators, known)


def _candidates(
    adjacent: np.ndarray, pair: Pair, size: int, refuted: set[tuple[int, ...]]
) -> Iterator[tuple[int, ...]]:
    """Sets of that size among the neighbours of either end, once each, without those known not to separate."""
    i, j = pair
    first = np.flatnonzero(adjacent[i])
    second = np.flatnonzero(adjacent[j])
    first, second = first[first != j].tolist(), second[second != i].tolist()
    near = set(first)
    for chosen in itertools.combinations(first, size):
        if chosen not in refuted:
            yield chosen
    for chosen in itertools.combinations(second, size):
        if not near.issuperset(chosen) and chosen not in refuted:
            yield chosen


def _in_chunks(sets: Iterator[tuple[int, ...]]) -> Iterator[list[tuple[int, ...]]]:
    for length in itertools.chain(_CHUNKS, itertools.repeat(_CHUNKS[-1])):
        chunk = list(itertools.islice(sets, length))
        if not chunk:
            return
        yield chunk
