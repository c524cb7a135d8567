"""GIES: greedy search over interventional equivalence classes, from the package gies."""

import dataclasses

import jax
import numpy as np

from arena.dataset import Dataset
from arena.errors import MethodError
from methods.base import Capabilities, Estimate, Method
from methods.orient import extension, undirected


@dataclasses.dataclass(frozen=True)
class GIES(Method):
    """GIES with the Gaussian BIC score (paper B.4); without interventions it is GES.

    Rows are grouped by their set of targets, read from the intervention mask; each group is an environment
    with its own mean. The interventional CPDAG is kept; a seeded consistent extension of it is scored.
    """

    name = "gies"
    title = "GIES"
    capabilities = Capabilities(
        output="cpdag",
        packages=("gies",),
        install="pip install 'causal-arena[classical]'",
        distinct_columns=True,
        licence="BSD-3-Clause (gies)",
        citation="Hauser and Bühlmann (2012). Characterization and Greedy Learning of Interventional Markov "
        "Equivalence Classes of Directed Acyclic Graphs. JMLR 13",
    )

    def fit(self, dataset: Dataset, key: jax.Array) -> Estimate:
        """Estimate the graph.

        Raises:
            MethodError: If some variable is set in every row, so that no row tells about its causes.
        """
        from gies import fit_bic

        always = dataset.mask.all(axis=0)
        if always.any():
            name = dataset.names[int(np.flatnonzero(always)[0])]
            raise MethodError(f"gies: '{name}' is set in every row; GIES needs rows in which it is not")
        tables, targets = environments(dataset)
        # Columns that are linear functions of others have a residual variance of 0, whose logarithm it takes.
        with np.errstate(divide="ignore", invalid="ignore"):
            essential, score = fit_bic(tables, targets)
        native = (essential != 0).astype(np.int8)
        adjacency, orientation = extension(native, key)
        info = {
            "orientation": orientation,
            "undirected": int(undirected(native).sum()) // 2,
            "targets": [[dataset.names[j] for j in group] for group in targets],
            "score": float(score) if np.isfinite(score) else None,
        }
        return Estimate(adjacency, native=native, info=info)


def environments(dataset: Dataset) -> tuple[list[np.ndarray], list[list[int]]]:
    """The rows grouped by their set of targets: tables `[n_e, d]`, and the target columns of each."""
    groups, group = np.unique(dataset.mask, axis=0, return_inverse=True)
    tables = [dataset.values[group.ravel() == e] for e in range(len(groups))]
    return tables, [np.flatnonzero(targets).tolist() for targets in groups]
