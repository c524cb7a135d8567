"""Floors: controls that show what artefacts of a benchmark alone would score. None of them discovers anything."""

import dataclasses

import jax
import numpy as np

from arena.dataset import Dataset
from arena.errors import MethodError
from arena.sortability import r2_of_columns, variances
from methods.base import Capabilities, Estimate, Method, generator
from methods.preflight import preflight
from methods.random_regress import sort_regress

_SORTING = Capabilities(
    scores=True,
    output="dag",
    packages=("sklearn.linear_model",),
    install="pip install 'causal-arena[classical]'",
    licence="BSD-3-Clause (scikit-learn)",
    discovers=False,
    control=True,
)


@dataclasses.dataclass(frozen=True)
class VarSortRegress(Method):
    """Regression along the order of the variances, in the units of the scenario: what the scales give away.

    Sees the columns unstandardised, which no other method does. Copies or not, interventions or not, rows are rows.
    """

    name = "var_sort_regress"
    title = "Var-sort regression"
    capabilities = dataclasses.replace(
        _SORTING,
        raw=True,
        citation="Reisach, Seiler and Weichwald (2021). Beware of the Simulated DAG! NeurIPS",
    )

    def fit(self, dataset: Dataset, key: jax.Array) -> Estimate:
        standard = preflight(dataset).dataset
        assert standard is not None and standard.d == dataset.d  # the columns vary: they have been through it
        return _regressed(standard, variances(dataset.values))


@dataclasses.dataclass(frozen=True)
class R2SortRegress(Method):
    """Regression along the order of R2, how well each variable is predicted by all others; scales do not matter."""

    name = "r2_sort_regress"
    title = "R2-sort regression"
    capabilities = dataclasses.replace(
        _SORTING,
        citation="Reisach, Tami, Seiler, Chambaz and Weichwald (2023). A Scale-Invariant Sorting Criterion to Find a "
        "Causal Order in Additive Noise Models. NeurIPS",
    )

    def fit(self, dataset: Dataset, key: jax.Array) -> Estimate:
        return _regressed(dataset, r2_of_columns(dataset.values))


@dataclasses.dataclass(frozen=True)
class Empty(Method):
    """No edge at all."""

    name = "empty"
    title = "Empty graph"
    capabilities = Capabilities(output="dag", discovers=False, control=True)

    def fit(self, dataset: Dataset, key: jax.Array) -> Estimate:
        return Estimate(np.zeros((dataset.d, dataset.d), np.int8))


@dataclasses.dataclass(frozen=True)
class ColumnOrder(Method):
    """Every edge from a column to a later one: what the order of the columns gives away."""

    name = "column_order"
    title = "Column order"
    capabilities = Capabilities(output="dag", discovers=False, control=True)

    def fit(self, dataset: Dataset, key: jax.Array) -> Estimate:
        return Estimate(np.triu(np.ones((dataset.d, dataset.d), np.int8), k=1))


@dataclasses.dataclass(frozen=True)
class RandomDag(Method):
    """A random DAG with as many edges as the true graph: a random order, and random pairs along it.

    It is told that number and nothing else; see `methods.base.Capabilities`.
    """

    name = "random_dag"
    title = "Random DAG"
    capabilities = Capabilities(output="dag", oracle_edges=True, discovers=False, control=True)

    def fit(self, dataset: Dataset, key: jax.Array) -> Estimate:
        """A graph from the key.

        Raises:
            MethodError: If the number of true edges is not known.
        """
        if "n_edges" not in dataset.info:
            raise MethodError("random_dag needs the number of true edges; give a table with its graph")
        rng, d = generator(key), dataset.d
        first, second = np.triu_indices(d, k=1)
        # Edges at a column that was left out have no place here.
        edges = min(int(dataset.info["n_edges"]), len(first))
        order, chosen = rng.permutation(d), rng.permutation(len(first))[:edges]
        adjacency = np.zeros((d, d), np.int8)
        adjacency[order[first[chosen]], order[second[chosen]]] = 1
        return Estimate(adjacency, info={"edges": edges})


def _regressed(dataset: Dataset, criterion: np.ndarray) -> Estimate:
    order = np.argsort(criterion, kind="stable")
    weights = sort_regress(dataset.values, order)
    info = {"order": [dataset.names[j] for j in order]}
    return Estimate((weights != 0).astype(np.int8), scores=np.abs(weights), info=info)
