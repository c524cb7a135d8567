"""Layered graphs (paper A.1, Graph structure)."""

import numpy as np

from arena.synthetic.graphs.base import GraphFamily
from arena.synthetic.graphs.draw import edge_count, layer_count, one_parent, split, weighted_edges

#: Weight of an edge that skips k layers: SKIP ** k.
SKIP = 0.3


class Layered(GraphFamily):
    """Layer-respecting DAGs: edges go from a layer to a later one; density 0.04-0.20.

    There are 3 to sqrt(d) layers. Every node past the first layer has a parent in the layer before, so that layers
    are depths; the other edges prefer the next layer.
    """

    name, density, min_depth = "layered", (0.04, 0.20), 2

    def candidate(self, rng, d, density):
        ahead = layers_ahead(self.layers(rng, d))
        weight = np.where(one_parent(rng, ahead == 1), np.inf, layer_weight(ahead))
        return weighted_edges(rng, weight, edge_count(d, density))

    def layers(self, rng: np.random.Generator, d: int) -> np.ndarray:
        """`[d]` the layer of each node, in causal order."""
        return split(rng, d, layer_count(rng, d))


def layers_ahead(layer: np.ndarray) -> np.ndarray:
    """`[d, d]` how many layers j lies ahead of i."""
    return layer[None, :] - layer[:, None]


def layer_weight(ahead: np.ndarray) -> np.ndarray:
    """Weights of pairs that lie so many layers ahead; zero for none."""
    return np.where(ahead > 0, SKIP ** np.maximum(ahead - 1.0, 0.0), 0.0)
