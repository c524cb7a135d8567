"""What graph families share: densities that can pass, in-degree caps, validity filters (paper A.1, A.2)."""

import abc
import math
from typing import ClassVar

import numpy as np

from arena.errors import SpecError

MAX_TRIES = 20_000


class GraphFamily(abc.ABC):
    """A family of random DAGs. A concrete one draws a candidate; the base class caps, filters and shuffles it.

    Attributes:
        name: As used in specs, factors and file names.
        density: Range of edges / (d (d - 1) / 2) that candidates aim at.
        min_depth: Edges on the longest directed path, at least (paper A.2).
    """

    name: ClassVar[str]
    density: ClassVar[tuple[float, float]]
    min_depth: ClassVar[int]

    @abc.abstractmethod
    def candidate(self, rng: np.random.Generator, d: int, density: float) -> np.ndarray:
        """`[d, d]` bool, strictly upper triangular: columns stand in causal order.

        It has `draw.edge_count(d, density)` edges, or those of the skeleton that makes the family, if more.
        """

    def sample(self, rng: np.random.Generator, d: int, max_in_degree: int | None = None) -> np.ndarray:
        """A valid DAG.

        Args:
            rng: Source of randomness.
            d: Number of variables.
            max_in_degree: Nodes with more parents lose some at random; None for no cap.

        Returns:
            `[d, d]` int8, `A[i, j] == 1` for i -> j, columns in random order.

        Raises:
            SpecError: If no candidate passes the filters, which happens for very small d.
        """
        low, high = self.density_range(d)
        for _ in range(MAX_TRIES):
            graph = self.candidate(rng, d, rng.uniform(low, high))
            if max_in_degree is not None:
                _cap_in_degree(rng, graph, max_in_degree)
            if is_valid(graph, self.min_depth):
                order = rng.permutation(d)
                shuffled = np.zeros((d, d), np.int8)
                shuffled[np.ix_(order, order)] = graph
                return shuffled
        raise SpecError(f"no valid {self.name} graph with {d} variables in {MAX_TRIES} tries; use more variables")

    def density_range(self, d: int) -> tuple[float, float]:
        """The part of `density` that asks for ceil(0.8 d) edges or more: the rest could only be rejected.

        Where the whole range is too sparse (chains and trees of ten variables) it ends at the d - 1 edges of a tree.
        """
        pairs = max(1, d * (d - 1) / 2)
        low = max(self.density[0], (_min_edges(d) - 0.5) / pairs)
        return low, max(low, self.density[1], (d - 1) / pairs)


def in_degree_caps(d: int) -> tuple[int | None, ...]:
    """The caps that a graph with d variables draws from (paper A.1, Validity filters)."""
    return (None, 4, 5) if d <= 20 else (4, 5, 6) if d <= 50 else (5, 6, 8)


def is_valid(graph: np.ndarray, min_depth: int) -> bool:
    """No isolated variable, enough depth, at least ceil(0.8 d) edges (paper A.1)."""
    connected = graph.any(axis=0) | graph.any(axis=1)
    if not connected.all() or graph.sum() < _min_edges(len(graph)):
        return False
    ends = np.ones(len(graph), bool)  # of directed paths with 0, 1, ... edges
    for _ in range(min_depth):
        ends = graph[ends].any(axis=0)
    return bool(ends.any())


def _min_edges(d: int) -> int:
    return math.ceil(0.8 * d)


def _cap_in_degree(rng: np.random.Generator, graph: np.ndarray, cap: int) -> None:
    """Every node with more than `cap` parents keeps a random `cap` of them."""
    over = np.flatnonzero(graph.sum(axis=0) > cap)
    if len(over):
        keys = np.where(graph[:, over], rng.random((len(graph), len(over))), 2.0)
        graph[:, over] = keys <= np.partition(keys, cap - 1, axis=0)[cap - 1]
