"""Block-sparse layered graphs (paper A.1, Graph structure)."""

import numpy as np

from arena.synthetic.graphs.base import GraphFamily
from arena.synthetic.graphs.draw import edge_count, layer_count, one_parent, split, weighted_edges
from arena.synthetic.graphs.layered import layer_weight, layers_ahead

#: Weight of an edge across blocks, against one within a block over as many layers.
CROSS = 0.05
#: Pairs within blocks that would be edges if all edges were there, at most.
MAX_FILL = 0.4
#: Nodes in a block, on average, at least.
MIN_SIZE = 5


class BlockSparseLayered(GraphFamily):
    """Block-structured layered DAGs with sparse cross-block edges; density 0.04-0.20.

    Two or more blocks, each a layered graph; the blocks share the layers, and edges across blocks respect them too,
    but are twenty times less likely. Every node past the first layer has a parent in its own block.
    """

    name, density, min_depth = "block_sparse_layered", (0.04, 0.20), 2

    def candidate(self, rng, d, density):
        block, layer = self.blocks_and_layers(rng, d, density)
        ahead, same = layers_ahead(layer), block[:, None] == block[None, :]
        weight = layer_weight(ahead) * np.where(same, 1.0, CROSS)
        weight[one_parent(rng, same & (ahead == 1))] = np.inf
        return weighted_edges(rng, weight, edge_count(d, density))

    def blocks_and_layers(self, rng: np.random.Generator, d: int, density: float) -> tuple[np.ndarray, np.ndarray]:
        """`[d]` the block and `[d]` the layer of each node, in causal order."""
        most = min(d // MIN_SIZE, int(MAX_FILL / density))
        block = split(rng, d, int(rng.integers(2, max(2, most) + 1)))
        sizes = np.bincount(block)
        layers = layer_count(rng, d // len(sizes))
        layer = np.concatenate([split(rng, int(size), layers) for size in sizes])
        order = np.argsort(layer, kind="stable")
        return block[order], layer[order]
