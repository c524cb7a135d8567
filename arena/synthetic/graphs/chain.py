"""Chains (paper A.1, Graph structure)."""

import math

import numpy as np

from arena.synthetic.graphs.base import GraphFamily
from arena.synthetic.graphs.draw import edge_count, weighted_edges

#: Share of the nodes on the path that runs through a chain, at least.
MIN_SPINE = 0.8
#: Extra edges that span k places of the causal order have weight exp(-k / SPAN).
SPAN = 2.0


class Chain(GraphFamily):
    """Sparse path-like DAGs with long directed propagation; density 0.03-0.16.

    A directed path runs through 80-100% of the nodes; every other node is attached to the path where it stands in
    the causal order, as a cause or as an effect. Extra edges skip a few places forward, so that information has to
    travel the chain at any density.
    """

    name, density, min_depth = "chain", (0.03, 0.16), 3

    def candidate(self, rng, d, density):
        span = np.subtract.outer(np.arange(d), np.arange(d)).T
        weight = np.where(self.backbone(rng, d), np.inf, np.exp(-np.abs(span) / SPAN))
        return weighted_edges(rng, weight, edge_count(d, density))

    def backbone(self, rng: np.random.Generator, d: int) -> np.ndarray:
        """`[d, d]` bool: the path and the nodes attached to it, d - 1 edges."""
        on_path = np.ones(d, bool)
        beside = int(rng.integers(0, d - math.ceil(MIN_SPINE * d) + 1))
        on_path[rng.choice(np.arange(1, d - 1), size=min(beside, max(0, d - 2)), replace=False)] = False
        path = np.flatnonzero(on_path)
        edges = np.zeros((d, d), bool)
        edges[path[:-1], path[1:]] = True
        for node in np.flatnonzero(~on_path):
            place = np.searchsorted(path, node)
            if rng.random() < 0.5:
                edges[path[place - 1], node] = True
            else:
                edges[node, path[place]] = True
        return edges
