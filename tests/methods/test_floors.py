"""The floors: each scores by the artefact that it is named after and by nothing else."""

import dataclasses

import jax
import numpy as np
import pytest

from arena.dataset import Dataset
from arena.sortability import r2_of_columns
from methods.base import Capabilities, Estimate, Method, Status
from methods.fit import fit
from methods.floors import ColumnOrder, Empty, R2SortRegress, RandomDag, VarSortRegress
from methods.isolate import Worker
from methods.orient import is_acyclic
from methods.preflight import blind, preflight

KEY = jax.random.key(0)


def answer(method, dataset, key=KEY):
    outcome = fit(method, dataset, key)
    assert outcome.estimate is not None, outcome.reason
    return outcome.estimate


@pytest.fixture(scope="module")
def growing():
    """A linear chain whose variances grow along it, columns in another order."""
    rng = np.random.default_rng(0)
    columns = [rng.normal(size=1000)]
    for _ in range(4):
        columns.append(1.5 * columns[-1] + rng.normal(size=1000))
    order = [3, 1, 4, 0, 2]
    adjacency = np.eye(5, k=1, dtype=np.int8)[np.ix_(order, order)]
    return Dataset(tuple("abcde"), np.stack(columns, axis=1)[:, order], adjacency=adjacency)


def test_variances_give_the_order_away_until_units_change(growing):
    found = answer(VarSortRegress(), growing)
    np.testing.assert_array_equal(found.adjacency, growing.truth)
    assert found.info["preflight"]["standardised"] is False
    standard = dataclasses.replace(growing, values=growing.values / growing.values.std(axis=0))
    assert (answer(VarSortRegress(), standard).adjacency != growing.truth).any()


def test_r2_gives_the_same_order_in_all_units(growing):
    found = answer(R2SortRegress(), growing)
    rescaled = dataclasses.replace(growing, values=growing.values * [1, 100, 0.01, 7, 3])
    np.testing.assert_array_equal(found.adjacency, answer(R2SortRegress(), rescaled).adjacency)
    values = np.random.default_rng(1).normal(size=(200, 3))
    ready = preflight(Dataset(("a", "b", "c"), values @ [[1, 1, 0], [0, 1, 1], [0, 0, 1]])).dataset
    assert ready is not None
    np.testing.assert_allclose(r2_of_columns(ready.values), 1 - 1 / np.diag(np.linalg.inv(np.corrcoef(ready.values.T))))


def test_sorting_regressions_equal_causaldisco(growing):
    baselines = pytest.importorskip("CausalDisco.baselines", reason="needs the extra `test`")
    # Theirs in the units of the data: the order is by variance, the regression does not depend on units.
    pairs = (VarSortRegress(), baselines.var_sort_regress), (R2SortRegress(), baselines.r2_sort_regress)
    for method, theirs in pairs:
        expected = theirs(growing.values.copy())
        np.testing.assert_array_equal(answer(method, growing).adjacency, expected != 0)


def test_the_empty_graph_and_the_column_order(growing):
    assert not answer(Empty(), growing).adjacency.any()
    np.testing.assert_array_equal(answer(ColumnOrder(), growing).adjacency, np.triu(np.ones((5, 5)), k=1))


def test_a_random_dag_has_the_true_number_of_edges(growing):
    graphs = [answer(RandomDag(), growing, jax.random.key(seed)).adjacency for seed in range(200)]
    assert all(graph.sum() == 4 and is_acyclic(graph) for graph in graphs)
    share = np.mean(graphs, axis=0)[~np.eye(5, dtype=bool)]
    assert share.min() > 0.1 and share.max() < 0.3, "every edge is as likely as any other: 4 of 20"
    without = fit(RandomDag(), Dataset(growing.names, growing.values), KEY)
    assert without.status is Status.unsupported and "number of true edges" in without.reason


def test_the_number_of_edges_reaches_a_worker(growing):
    with Worker() as worker:
        outcome = worker.fit(RandomDag(), growing, seed=1, timeout=60)
    assert outcome.estimate is not None and outcome.estimate.adjacency.sum() == 4


@dataclasses.dataclass(frozen=True)
class Curious(Method):
    """Reports all that it can see of the truth, and of the units."""

    told: bool = False
    raw: bool = False

    name = "curious"
    title = "Curious"

    @property
    def capabilities(self):  # pyright: ignore[reportIncompatibleVariableOverride]
        return Capabilities(oracle_edges=self.told, raw=self.raw)

    def fit(self, dataset, key):
        assert dataset.adjacency is None and dataset.noise is None and not dataset.values.flags.writeable
        info = {"known": dataset.info, "spread": dataset.values.std(axis=0)}
        return Estimate(np.zeros((dataset.d, dataset.d)), info=info)


def test_nothing_else_is_handed_over_and_only_to_who_declares_it(growing):
    marked = dataclasses.replace(growing, info={"n_edges": 9, "secret": 1})
    assert answer(Curious(), marked).info["known"] == {}
    assert answer(Curious(told=True), marked).info["known"] == {"n_edges": 4}, "the graph is believed first"
    assert blind(dataclasses.replace(marked, adjacency=None), oracle_edges=True).info == {"n_edges": 9}
    np.testing.assert_allclose(answer(Curious(), growing).info["spread"], 1.0)
    np.testing.assert_allclose(answer(Curious(raw=True), growing).info["spread"], growing.values.std(axis=0))
