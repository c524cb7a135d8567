"""Dense local modules (paper A.1, Graph structure)."""

import numpy as np

from arena.synthetic.graphs.base import GraphFamily
from arena.synthetic.graphs.draw import edge_count, split, weighted_edges

#: Weight of a pair in two modules, against 1 for one within a module.
BETWEEN = 0.1
#: Pairs within modules that would be edges if all edges were there, at most.
MAX_FILL = 0.5
#: Nodes in a module, on average, at least.
MIN_SIZE = 5


class DenseLocalModules(GraphFamily):
    """Modular DAGs with denser within-module connectivity; density 0.06-0.24.

    Two or more modules, as many at most as leave half of the pairs within modules free. A pair within a module is ten
    times as likely an edge as one between modules. Modules are spread over the causal order.
    """

    name, density, min_depth = "dense_local_modules", (0.06, 0.24), 2

    def candidate(self, rng, d, density):
        module = self.modules(rng, d, density)
        weight = np.where(module[:, None] == module[None, :], 1.0, BETWEEN)
        return weighted_edges(rng, weight, edge_count(d, density))

    def modules(self, rng: np.random.Generator, d: int, density: float) -> np.ndarray:
        """`[d]` the module of each node, in causal order."""
        most = min(d // MIN_SIZE, int(MAX_FILL / density))
        return rng.permutation(split(rng, d, int(rng.integers(2, max(2, most) + 1))))
