"""Erdos-Renyi graphs (paper A.1, Graph structure)."""

import numpy as np

from arena.synthetic.graphs.base import GraphFamily
from arena.synthetic.graphs.draw import edge_count, weighted_edges


class ErdosRenyi(GraphFamily):
    """Every set of pairs in a random order is equally likely; density 0.05-0.25.

    This is G(d, m), Erdos & Renyi's own model: the density drawn is the density of the graph.
    """

    name, density, min_depth = "erdos_renyi", (0.05, 0.25), 2

    def candidate(self, rng, d, density):
        return weighted_edges(rng, np.ones((d, d)), edge_count(d, density))
