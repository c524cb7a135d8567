"""Collider-rich graphs (paper A.1, Graph structure)."""

import numpy as np

from arena.synthetic.graphs.base import GraphFamily
from arena.synthetic.graphs.draw import edge_count, weighted_edges

#: Share of the nodes that are colliders, all past the first part of the causal order.
COLLIDERS, FIRST = 0.4, 0.4
#: Weight of an edge into a collider from another collider, and of one into any other node; 1 from other nodes.
FROM_COLLIDER, ELSEWHERE = 0.3, 0.05


class ColliderRich(GraphFamily):
    """DAGs that deliberately increase v-structure frequency; density 0.06-0.24.

    Most edges point at a few nodes, the colliders, and come from nodes that are rarely joined to each other. So parents
    meet in pairs, and their pairs are unshielded.
    """

    name, density, min_depth = "collider_rich", (0.06, 0.24), 2

    def candidate(self, rng, d, density):
        first = int(FIRST * d)
        collider = np.zeros(d, bool)
        collider[first + rng.choice(d - first, size=int(COLLIDERS * d), replace=False)] = True
        into_collider = np.where(collider[:, None], FROM_COLLIDER, 1.0)
        weight = np.where(collider[None, :], into_collider, ELSEWHERE)
        return weighted_edges(rng, weight, edge_count(d, density))
