"""Small worlds (paper A.1, Graph structure)."""

import math

import numpy as np

from arena.synthetic.graphs.base import GraphFamily
from arena.synthetic.graphs.draw import edge_count, weighted_edges

#: Probability that a local edge is replaced by a shortcut.
REWIRING = 0.1


class SmallWorld(GraphFamily):
    """Locally clustered DAGs with short directed paths; density 0.04-0.20.

    Nodes stand on a ring and are joined to near ones, up to k places away for the least k >= 2 that has room; a tenth
    of the edges joins any two nodes instead (Watts & Strogatz 1998). The causal order is independent of the places,
    so that directed paths do not run along the ring.
    """

    name, density, min_depth = "small_world", (0.04, 0.20), 3

    def candidate(self, rng, d, density):
        edges = edge_count(d, density)
        place = rng.permutation(d)
        gap = np.abs(place[:, None] - place[None, :])
        near = np.minimum(gap, d - gap) <= max(2, math.ceil(edges / max(d, 1)))
        local = weighted_edges(rng, near.astype(float), edges - rng.binomial(edges, REWIRING))
        return weighted_edges(rng, np.where(local, np.inf, 1.0), edges)
