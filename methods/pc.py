"""PC: constraint-based search, from causal-learn."""

import dataclasses
import warnings

import jax
import numpy as np

from arena.dataset import Dataset
from arena.errors import MethodError
from methods.base import Capabilities, Estimate, Method, generator
from methods.orient import extension, undirected
from methods.partial_correlation import FEWEST_ROWS
from methods.preflight import preflight


@dataclasses.dataclass(frozen=True)
class PC(Method):
    """Stable PC with Fisher's z (paper B.4). The CPDAG is kept; a seeded consistent extension is scored.

    An edge that PC leaves bidirected (two colliders claim it) has no place in a CPDAG and is kept as
    undirected; their number is in `info`. Where columns are linearly dependent, or rows too few for every
    test, the p-values come from `methods.fisherz` in place of the library's test, which would stop with an
    error; `info` says which it was.

    Attributes:
        alpha: Level of the independence tests, in (0, 1).
        max_rows: Of a longer table so many rows are drawn, and what is constant or a copy in those is left out; None
            for all rows.

    Raises:
        MethodError: If a setting is out of range.
    """

    alpha: float = 0.05
    max_rows: int | None = None

    name = "pc"
    title = "PC"
    reduced = {"alpha": 0.001, "max_rows": 200}
    capabilities = Capabilities(
        splits=("obs",),
        output="cpdag",
        positional=True,
        packages=("causallearn.search.ConstraintBased.PC",),
        install="pip install 'causal-arena[classical]'",
        distinct_columns=True,
        licence="MIT (causal-learn)",
        citation="Spirtes, Glymour and Scheines (2000). Causation, Prediction, and Search; "
        "Zheng et al. (2024). Causal-learn. JMLR 25(60)",
    )

    def __post_init__(self):
        if not 0 < self.alpha < 1:
            raise MethodError(f"pc: alpha is {self.alpha}; it must lie between 0 and 1")
        if self.max_rows is not None and self.max_rows < 2:
            raise MethodError(f"pc: max_rows is {self.max_rows}; it must be at least 2, or None for all rows")

    def fit(self, dataset: Dataset, key: jax.Array) -> Estimate:
        """Estimate the graph.

        Raises:
            MethodError: If there are fewer than 4 rows, or fewer than two columns vary in the rows that were drawn.
        """
        if dataset.n < FEWEST_ROWS:
            raise MethodError(f"pc needs at least {FEWEST_ROWS} rows, found {dataset.n}")
        if self.max_rows is None or dataset.n <= self.max_rows:
            return self._fit(dataset, key)
        rows = np.sort(generator(key).choice(dataset.n, self.max_rows, replace=False))
        sample = dataclasses.replace(dataset, values=dataset.values[rows], intervention_mask=dataset.mask[rows])
        ready = preflight(sample, distinct_columns=True)
        if ready.dataset is None:
            raise MethodError(f"pc: fewer than 2 columns vary in the {self.max_rows} rows that were drawn")
        found = self._fit(ready.dataset, key)
        assert found.native is not None
        return Estimate(
            ready.restore(found.adjacency),
            native=ready.restore(found.native),
            info={**found.info, "rows": self.max_rows, "sample": ready.report},
        )

    def _fit(self, dataset: Dataset, key: jax.Array) -> Estimate:
        from causallearn.search.ConstraintBased.PC import pc

        test = _test_for(dataset.values)
        with warnings.catch_warnings():
            # Fewer rows than columns: `test` is then one that can take it.
            warnings.filterwarnings("ignore", "The number of features is much larger", UserWarning)
            graph = pc(
                dataset.values,
                alpha=self.alpha,
                indep_test=test,
                stable=True,
                uc_rule=0,
                uc_priority=2,
                show_progress=False,
            )
        native, bidirected = from_endpoints(graph.G.graph)
        adjacency, orientation = extension(native, key)
        info = {
            "test": test,
            "orientation": orientation,
            "undirected": int(undirected(native).sum()) // 2,
            "bidirected": bidirected,
        }
        return Estimate(adjacency, native=native, info=info)


def from_endpoints(endpoints: np.ndarray) -> tuple[np.ndarray, int]:
    """causal-learn's endpoint matrix as a PDAG `[d, d]` int8, and the number of bidirected edges in it.

    There, `endpoints[i, j]` is the mark at i of the edge between i and j: -1 a tail, 1 an arrowhead. So i ->
    j is `endpoints[i, j] == -1` and `endpoints[j, i] == 1`, and two equal marks are undirected (-1) or
    bidirected (1).
    """
    tail, head = endpoints == -1, endpoints == 1
    bidirected = head & head.T
    native = (tail & head.T) | (tail & tail.T) | bidirected
    return native.astype(np.int8), int(bidirected.sum()) // 2


def _test_for(values: np.ndarray) -> str:
    """The library's Fisher z where every one of its tests is defined, ours where one may not be."""
    n, d = values.shape
    # The smallest eigenvalue of a principal submatrix is never below that of the whole matrix.
    if n > d + 3 and np.linalg.eigvalsh(np.corrcoef(values.T)).min() > 1e-9:
        return "fisherz"
    from methods import fisherz

    return fisherz.NAME
