"""IGSP: interventional greedy sparsest permutation."""

import dataclasses

import jax
import numpy as np

from arena.dataset import Dataset
from arena.errors import MethodError
from methods.base import Capabilities, Estimate, Method, generator
from methods.gauss_tests import Independence, Invariance, Moments, mask_of
from methods.gies import environments
from methods.gies_graph import EssentialGraph, members
from methods.orient import undirected
from methods.sparsest_permutation import Interventions, Search, starting_order

# Fewer rows of a group of targets than this are not compared to the others.
_FEWEST_ROWS = 3


@dataclasses.dataclass(frozen=True)
class IGSP(Method):
    """IGSP with Gaussian tests, Fisher's z and invariance (paper B.4); without interventions it is GSP.

    Independence is tested on the observational rows. The rows of each set of targets are compared to them. The DAG that
    the search ends on is reported, as in the paper. What the interventions leave open in it comes from the key; the
    interventional CPDAG of that DAG is kept.

    Attributes:
        alpha: Level of the independence tests, in (0, 1).
        alpha_inv: Level of the invariance tests, in (0, 1).
        depth: Most edge reversals between one graph and the next better one.
        runs: Starting orders; the best result is reported.

    Raises:
        MethodError: If a setting is out of range.
    """

    alpha: float = 1e-3
    alpha_inv: float = 1e-3
    depth: int = 4
    runs: int = 5

    name = "igsp"
    title = "IGSP"
    capabilities = Capabilities(
        output="cpdag",
        distinct_columns=True,
        positional=True,
        licence="Apache-2.0 (own code)",
        citation="Yang, Katcoff and Uhler (2018). Characterizing and Learning Equivalence Classes of Causal DAGs under "
        "Interventions. ICML; Wang, Solus, Yang and Uhler (2017). Permutation-based Causal Inference Algorithms with "
        "Interventions. NeurIPS",
    )

    def __post_init__(self):
        for name in ("alpha", "alpha_inv"):
            if not 0 < getattr(self, name) < 1:
                raise MethodError(f"igsp: {name} is {getattr(self, name)}; it must lie between 0 and 1")
        for name in ("depth", "runs"):
            if getattr(self, name) < 1:
                raise MethodError(f"igsp: {name} is {getattr(self, name)}; it must be at least 1")

    def fit(self, dataset: Dataset, key: jax.Array) -> Estimate:
        """Estimate the graph.

        Raises:
            MethodError: If there are fewer than d + 2 rows without a target, on which the tests are not all defined.
        """
        rng = generator(key)
        tables, targets = environments(dataset)
        rows, fewest = 0 if targets[0] else len(tables[0]), dataset.d + 2
        if rows < fewest:  # a variable is tested given all others before it
            raise MethodError(f"igsp needs at least d + 2 = {fewest} rows in which nothing is set, found {rows}")
        independence = Independence(tables[0], self.alpha)
        used = [t for t, table in enumerate(tables) if len(table) >= _FEWEST_ROWS]
        interventions = None
        if len(used) > 1:
            invariance = Invariance([Moments.of(tables[t]) for t in used], self.alpha_inv)
            interventions = Interventions(tuple(mask_of(targets[t]) for t in used), invariance)

        search = Search(independence, interventions, self.depth, rng)
        starts = [search.start(starting_order(independence, dataset.d, rng)) for _ in range(self.runs)]
        (_, contradicting), best = min((search.run(start) for start in starts), key=lambda found: found[0])
        adjacency = np.zeros((dataset.d, dataset.d), np.int8)
        for j, parents in enumerate(best):
            adjacency[members(parents), j] = 1
        native = EssentialGraph.of(adjacency, [targets[t] for t in used]).matrix()
        info = {
            "contradicting": contradicting,
            "undirected": int(undirected(native).sum()) // 2,
            "targets": [[dataset.names[j] for j in targets[t]] for t in used[1:]],
            "too_few_rows": [[dataset.names[j] for j in targets[t]] for t in range(len(tables)) if t not in used],
        }
        return Estimate(adjacency, native=native, info=info)
