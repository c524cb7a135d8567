"""Bipartite layered graphs (paper A.1, Graph structure)."""

import numpy as np

from arena.synthetic.graphs.base import GraphFamily
from arena.synthetic.graphs.draw import edge_count, one_parent, split, weighted_edges
from arena.synthetic.graphs.layered import layers_ahead


class BipartiteLayered(GraphFamily):
    """Two-stage or multi-stage bipartite-like DAGs; density 0.04-0.20.

    A stage is a bipartite graph from one layer to the next. There are 2 to 4 stages, hence 3 to 5 layers, and all
    edges are within a stage: the graph is bipartite (odd against even layers). A single stage would have depth 1.
    Every node past the first layer has a parent.
    """

    name, density, min_depth = "bipartite_layered", (0.04, 0.20), 2

    def candidate(self, rng, d, density):
        within = layers_ahead(self.layers(rng, d)) == 1
        weight = np.where(one_parent(rng, within), np.inf, within.astype(float))
        return weighted_edges(rng, weight, edge_count(d, density))

    def layers(self, rng: np.random.Generator, d: int) -> np.ndarray:
        """`[d]` the layer of each node, in causal order."""
        stages = int(rng.integers(2, 5))
        return split(rng, d, stages + 1)
