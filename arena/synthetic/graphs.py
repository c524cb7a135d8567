"""Random DAGs: graph families, in-degree caps and validity filters (paper A.1, Graph structure)."""

import abc
import math
from typing import ClassVar

import numpy as np

from arena.dag import depth
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
        """`[d, d]` bool, strictly upper triangular: columns stand in causal order."""

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
        for _ in range(MAX_TRIES):
            graph = self.candidate(rng, d, rng.uniform(*self.density))
            if max_in_degree is not None:
                _cap_in_degree(rng, graph, max_in_degree)
            if is_valid(graph, self.min_depth):
                order = rng.permutation(d)
                shuffled = np.zeros((d, d), np.int8)
                shuffled[np.ix_(order, order)] = graph
                return shuffled
        raise SpecError(f"no valid {self.name} graph with {d} variables in {MAX_TRIES} tries; use more variables")


class ErdosRenyi(GraphFamily):
    """Every pair in a random order is an edge with the same probability; density 0.05-0.25."""

    name, density, min_depth = "erdos_renyi", (0.05, 0.25), 2

    def candidate(self, rng, d, density):
        return np.triu(rng.random((d, d)) < density, k=1)


class ScaleFree(GraphFamily):
    """A preferential-attachment skeleton, oriented by a random order; density 0.04-0.22."""

    name, density, min_depth = "scale_free", (0.04, 0.22), 3

    def candidate(self, rng, d, density):
        mean_edges = max(1.0, density * (d - 1) / 2)  # of each arriving node
        skeleton = np.zeros((d, d), bool)
        degree = np.zeros(d)
        degree[0] = 1.0
        for node in range(1, d):
            whole, part = divmod(mean_edges, 1.0)
            edges = min(node, int(whole) + (rng.random() < part))
            old = rng.choice(node, size=edges, replace=False, p=degree[:node] / degree[:node].sum())
            skeleton[node, old] = skeleton[old, node] = True
            degree[old] += 1
            degree[node] += edges
        order = rng.permutation(d)
        return np.triu(skeleton[np.ix_(order, order)], k=1)


FAMILIES: dict[str, GraphFamily] = {family.name: family for family in (ErdosRenyi(), ScaleFree())}


def in_degree_caps(d: int) -> tuple[int | None, ...]:
    """The caps that a graph with d variables draws from (paper A.1, Validity filters)."""
    return (None, 4, 5) if d <= 20 else (4, 5, 6) if d <= 50 else (5, 6, 8)


def is_valid(graph: np.ndarray, min_depth: int) -> bool:
    """No isolated variable, enough depth, at least ceil(0.8 d) edges (paper A.1); `graph` in causal order."""
    d = len(graph)
    connected = graph.any(axis=0) | graph.any(axis=1)
    return bool(connected.all()) and int(graph.sum()) >= math.ceil(0.8 * d) and depth(graph) >= min_depth


def _cap_in_degree(rng: np.random.Generator, graph: np.ndarray, cap: int) -> None:
    for j in np.flatnonzero(graph.sum(axis=0) > cap):
        parents = np.flatnonzero(graph[:, j])
        graph[rng.choice(parents, size=len(parents) - cap, replace=False), j] = False
