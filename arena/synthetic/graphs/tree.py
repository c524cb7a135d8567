"""Trees (paper A.1, Graph structure)."""

import numpy as np

from arena.synthetic.graphs.base import GraphFamily
from arena.synthetic.graphs.draw import edge_count, weighted_edges

#: Trees in a graph, at most.
MAX_TREES = 3


class Tree(GraphFamily):
    """Branching sparse DAGs; density 0.03-0.16.

    One to three random recursive trees, each node the child of a random earlier one. Extra edges join close kin:
    a pair k steps apart in the same tree has weight exp(-k), so graphs branch at any density.
    """

    name, density, min_depth = "tree", (0.03, 0.16), 3

    def candidate(self, rng, d, density):
        parent = self.forest(rng, d)
        steps = np.full((d, d), np.inf)
        for node, up in enumerate(parent.tolist()):
            if up >= 0:
                steps[node, :node] = steps[:node, node] = steps[up, :node] + 1
            steps[node, node] = 0.0
        weight = np.exp(-steps)
        child = np.flatnonzero(parent >= 0)
        weight[parent[child], child] = np.inf
        return weighted_edges(rng, weight, edge_count(d, density))

    def forest(self, rng: np.random.Generator, d: int) -> np.ndarray:
        """`[d]` the parent of each node, an earlier one, or -1; no tree is a single node."""
        trees = int(rng.integers(1, max(1, min(MAX_TREES, d // 3)) + 1))
        parent = np.floor(rng.random(d) * np.arange(d)).astype(int)
        parent[:trees] = -1
        parent[trees : 2 * trees] = np.arange(trees)[: max(0, d - trees)]
        return parent
