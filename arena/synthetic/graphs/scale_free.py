"""Scale-free graphs (paper A.1, Graph structure)."""

import numpy as np

from arena.synthetic.graphs.base import GraphFamily
from arena.synthetic.graphs.draw import edge_count


class ScaleFree(GraphFamily):
    """A preferential-attachment skeleton, oriented by a random order; density 0.04-0.22.

    Nodes arrive one after the other and are joined to old ones, drawn in proportion to their degrees (Barabasi &
    Albert 1999). All arrivals bring the same number of edges, or one less; at least one, so the graph is connected.
    """

    name, density, min_depth = "scale_free", (0.04, 0.22), 3

    def candidate(self, rng, d, density):
        skeleton, degree = np.zeros((d, d), bool), np.zeros(d)
        arrival = rng.standard_exponential((d, d))
        degree[:1] = 1.0
        for node, edges in enumerate(_edges_brought(rng, d, edge_count(d, density)).tolist()):
            if edges:
                old = (arrival[node, :node] / degree[:node]).argpartition(edges - 1)[:edges]
                skeleton[node, old] = True
                degree[old] += 1
                degree[node] += edges
        order = rng.permutation(d)
        return np.triu((skeleton | skeleton.T)[np.ix_(order, order)], k=1)


def _edges_brought(rng: np.random.Generator, d: int, edges: int) -> np.ndarray:
    """Edges that each arriving node brings: min(arrived before, k) for the right k, one less for some."""
    arrived, k = np.arange(d), 1
    while k < d - 1 and np.minimum(arrived, k).sum() < edges:
        k += 1
    brought = np.minimum(arrived, k)
    surplus = brought.sum() - edges
    if k > 1 and surplus > 0:
        brought[rng.choice(np.flatnonzero(brought == k), size=surplus, replace=False)] -= 1
    return brought
