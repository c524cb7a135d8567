"""FLOP: score-based search over orders with iterated local search, from the package flopsearch."""

import dataclasses

import jax
import numpy as np

from arena.dataset import Dataset
from arena.errors import MethodError
from methods.base import Capabilities, Estimate, Method
from methods.orient import extension, undirected

# Singular values of a standardised table below this, divided by the root of its rows, count as none.
_RANK = 1e-6


@dataclasses.dataclass(frozen=True)
class FLOP(Method):
    """FLOP with the Gaussian BIC. The CPDAG is kept; a seeded consistent extension of it is scored.

    The search is random and its seed cannot be set, so that answers may differ where one search does not find the best
    score. It is not a method of the paper.

    Attributes:
        penalty: Weight of the BIC's penalty, positive; 2 is the library's advice.
        restarts: Of the iterated local search; more is slower and better.

    Raises:
        MethodError: If a setting is out of range.
    """

    penalty: float = 2.0
    restarts: int = 20

    name = "flop"
    title = "FLOP"
    capabilities = Capabilities(
        splits=("obs",),
        output="cpdag",
        packages=("flopsearch",),
        install="pip install 'causal-arena[flop]'",
        distinct_columns=True,
        licence="MPL-2.0 (flopsearch)",
        citation="Wienöbst, Henckel and Weichwald (2025). Embracing Discrete Search: A Reasonable Approach to Causal "
        "Structure Learning. arXiv:2510.04970",
    )

    def __post_init__(self):
        if not self.penalty > 0:
            raise MethodError(f"flop: penalty is {self.penalty}; it must be positive")
        if self.restarts < 0:
            raise MethodError(f"flop: restarts is {self.restarts}; it must not be negative")

    def fit(self, dataset: Dataset, key: jax.Array) -> Estimate:
        """Estimate the graph.

        Raises:
            MethodError: If there are not more rows than variables, or columns are linear functions of others; the
                library's BIC is defined for neither.
        """
        from flopsearch import flop

        if dataset.n <= dataset.d:
            raise MethodError(f"flop needs more rows than variables, found {dataset.n} and {dataset.d}")
        if np.linalg.matrix_rank(dataset.values, tol=_RANK * dataset.n**0.5) < dataset.d:
            raise MethodError("flop needs columns that are no linear functions of others; leave one of them out")
        answer = np.asarray(flop(dataset.values, self.penalty, restarts=self.restarts))
        # The library's matrix: 1 at [i, j] is i -> j, and 2 at both entries an undirected edge.
        native = (answer != 0).astype(np.int8)
        adjacency, orientation = extension(native, key)
        info = {"seeded": False, "orientation": orientation, "undirected": int(undirected(native).sum()) // 2}
        return Estimate(adjacency, native=native, info=info)
