import dataclasses
import itertools

import gies
import jax
import numpy as np
import pytest

from arena.dataset import Dataset
from arena.errors import MethodError
from methods import gies_graph, gies_score
from methods.base import Status
from methods.fit import fit
from methods.gies import GIES, environments
from methods.gies_search import search
from methods.orient import extension, is_acyclic

KEY = jax.random.key(0)


def instance(rng: np.random.Generator, d: int, n_targets: int) -> tuple[list[np.ndarray], list[list[int]]]:
    """Tables of a random SCM: one observational, one for each set of one to three targets; half are not linear."""
    order, linear, bell = rng.permutation(d), rng.random() < 0.5, rng.random() < 0.5
    weights = np.triu(rng.random((d, d)) < rng.uniform(0.2, 0.6), 1) * rng.uniform(0.3, 1.2, (d, d))
    weights *= rng.choice([-1, 1], (d, d))
    groups = {
        tuple(sorted(rng.choice(d, rng.integers(1, min(3, d)), replace=False).tolist())) for _ in range(n_targets)
    }
    targets = [[], *map(list, sorted(groups))]
    tables = []
    for group in targets:
        n = int(rng.integers(10, 80)) if group else int(rng.integers(60, 300))
        table = rng.normal(size=(n, d)) if bell else rng.uniform(-1.7, 1.7, (n, d))
        for place, j in enumerate(order):
            signal = table[:, order] @ weights[:, place]
            table[:, j] += signal if linear else 1.5 * np.tanh(signal) + np.cos(signal)
            if j in group:
                table[:, j] = rng.normal(1, 2, n)
        tables.append(table)
    return tables, targets


@pytest.mark.parametrize("seed", range(10))
def test_equal_to_the_package(seed):
    """Twenty instances each; without interventions, and with up to three sets of targets."""
    rng = np.random.default_rng(seed)
    for number in range(20):
        tables, targets = instance(rng, d=int(rng.integers(3, 8 if number % 5 else 11)), n_targets=number % 4)
        essential, score = gies.fit_bic(tables, targets)
        found = search(tables, targets, 4096)
        np.testing.assert_array_equal(found.essential, essential != 0)
        assert found.score == pytest.approx(score, rel=1e-8)
        assert found.ridge == 0 and found.truncated == 0


def test_score_is_that_of_a_dag_of_the_class():
    tables, targets = instance(np.random.default_rng(0), d=9, n_targets=3)
    found = search(tables, targets, 4096)
    dag, _ = extension(found.essential, KEY)
    rows = sum(len(table) for table in tables)
    total = 0.0
    for j in range(9):
        free = [table - table.mean(axis=0) for table, group in zip(tables, targets, strict=True) if j not in group]
        stacked = np.concatenate(free)
        parents = stacked[:, dag[:, j] == 1]
        left = stacked[:, j] - parents @ np.linalg.lstsq(parents, stacked[:, j], rcond=None)[0]
        total -= len(stacked) / 2 * (1 + np.log((left**2).mean())) + np.log(rows) / 2 * (parents.shape[1] + 1)
    assert found.score == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("d, n_targets", [(15, 0), (15, 5)])
def test_order_of_columns_does_not_matter(d, n_targets):
    rng = np.random.default_rng(d + n_targets)
    tables, targets = instance(rng, d, n_targets)
    order = rng.permutation(d)
    place = np.argsort(order)
    moved = search([table[:, order] for table in tables], [place[group].tolist() for group in targets], 4096)
    found = search(tables, targets, 4096)
    np.testing.assert_array_equal(moved.essential, found.essential[np.ix_(order, order)])


def test_changes_of_the_score_are_those_of_regressions():
    tables, targets = instance(np.random.default_rng(5), d=6, n_targets=2)
    score = gies_score.Score(tables, targets)
    reference = gies.GaussIntL0Pen(tables, targets)
    for node in range(6):
        others = [j for j in range(6) if j != node]
        for parents in itertools.chain.from_iterable(itertools.combinations(others, k) for k in range(4)):
            old = reference.local_score(node, set(parents))
            expected = [reference.local_score(node, set(parents) ^ {j}) - old for j in others]
            np.testing.assert_allclose(score.changes(node, parents)[others], expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_essential_graph_is_the_union_of_its_class(seed):
    """Whatever moves led to it: of all DAGs with the same skeleton, colliders, and arrows that a target tells."""
    rng = np.random.default_rng(seed)
    tables, targets = instance(rng, d=5, n_targets=seed % 3)
    found = search(tables, targets, 4096).essential
    dag, how = extension(found, KEY)
    assert how == "consistent extension"
    edges = np.argwhere(dag)
    union = np.zeros_like(dag)
    for flips in itertools.product([False, True], repeat=len(edges)):
        other = np.zeros_like(dag)
        for (i, j), flip in zip(edges, flips, strict=True):
            other[(j, i) if flip else (i, j)] = 1
        told_apart = [(i, j) for i, j in edges for group in targets if (i in group) != (j in group)]
        same = all(other[i, j] for i, j in told_apart)
        if same and is_acyclic(other) and _colliders(other) == _colliders(dag):
            union |= other
    np.testing.assert_array_equal(found, union)


def _colliders(dag: np.ndarray) -> set[tuple[int, int, int]]:
    pairs = itertools.combinations(range(len(dag)), 2)
    apart = [(a, b) for a, b in pairs if not dag[a, b] and not dag[b, a]]
    return {(a, j, b) for a, b in apart for j in np.flatnonzero(dag[a] & dag[b]).tolist()}


def test_cliques_are_all_sets_that_are_joined_pairwise():
    graph = gies_graph.EssentialGraph(6, [])
    for a, b in [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (2, 3), (1, 3), (4, 5)]:
        graph.lines[a] |= 1 << b
        graph.lines[b] |= 1 << a
    found, more = graph.cliques(0, 100)
    sets = [set(gies_graph.members(clique)) for clique in found]
    inner = [{1}, {2}, {3}, {4}, {1, 2}, {1, 3}, {2, 3}, {1, 2, 3}]
    assert not more and sets[0] == set() and len(sets) == 9
    assert all(one in sets for one in inner)
    assert [len(one) for one in sets] == sorted(len(one) for one in sets)
    found, more = graph.cliques(0, 7)  # the three pairs would make it eight
    assert more and len(found) == 5


def test_a_limit_on_subsets_is_recorded(network):
    dense = np.random.default_rng(0).normal(size=(300, 1)) + 0.5 * np.random.default_rng(1).normal(size=(300, 6))
    limited = fit(GIES(max_subsets=2), Dataset(network.names, dense), KEY).estimate
    free = fit(GIES(), Dataset(network.names, dense), KEY).estimate
    assert limited is not None and free is not None
    assert limited.info["truncated"] > 0 and free.info["truncated"] == 0
    with pytest.raises(MethodError, match="max_subsets is 0"):
        GIES(max_subsets=0)


@pytest.mark.parametrize("rows", [6, 12, 400])
def test_dependent_columns_and_few_rows_end_with_a_finite_score(rows):
    """A column without noise, a sum, and one that moves only where it was set."""
    rng = np.random.default_rng(rows)
    x = rng.normal(size=(rows, 6))
    mask = np.zeros((rows, 9), bool)
    mask[rows // 2 :, 8] = True
    values = np.concatenate([x, x[:, :1] + x[:, 1:2], x.sum(axis=1, keepdims=True), mask[:, 8:] * 1.0], axis=1)
    outcome = fit(GIES(), Dataset(tuple("abcdefghi"), values, mask), KEY)
    assert outcome.estimate is not None, (outcome.reason, outcome.detail)
    assert outcome.estimate.info["ridge"] > 0 and np.isfinite(outcome.estimate.info["score"])
    assert is_acyclic(outcome.estimate.adjacency)
    if rows == 400:
        joined = outcome.estimate.adjacency | outcome.estimate.adjacency.T
        assert joined[0, 6] and joined[1, 6], "a + b has a and b around it"


def test_targets_orient_an_edge(intervened_pair):
    estimate = fit(GIES(), intervened_pair, KEY).estimate
    assert estimate is not None
    np.testing.assert_array_equal(estimate.native, intervened_pair.truth)
    np.testing.assert_array_equal(estimate.adjacency, intervened_pair.truth)


def test_the_mask_changes_the_answer(intervened_pair):
    without = dataclasses.replace(intervened_pair, intervention_mask=None, split="obs")
    estimate = fit(GIES(), without, KEY).estimate
    assert estimate is not None
    np.testing.assert_array_equal(estimate.native, [[0, 1], [1, 0]])


def test_rows_are_grouped_by_their_targets():
    mask = np.array([[0, 1, 0], [0, 0, 0], [1, 0, 1], [0, 1, 0]], bool)
    values = np.arange(12.0).reshape(4, 3)
    tables, targets = environments(Dataset(("a", "b", "c"), values, mask))
    assert targets == [[], [1], [0, 2]]
    np.testing.assert_array_equal(tables[1], values[[0, 3]])
    assert [len(table) for table in tables] == [1, 2, 1]


def test_a_variable_set_in_every_row_is_refused():
    rng = np.random.default_rng(0)
    mask = np.zeros((50, 2), bool)
    mask[:, 1] = True
    outcome = fit(GIES(), Dataset(("x", "y"), rng.normal(size=(50, 2)), mask), KEY)
    assert outcome.status is Status.unsupported and "'y' is set in every row" in outcome.reason


def test_single_targets_of_a_linear_gaussian_scm_give_its_graph():
    """Mean F1 of five SCMs with ten variables, each of which was set in 100 rows."""
    rng, f1 = np.random.default_rng(0), []
    for _ in range(5):
        order = rng.permutation(10)
        weights = (
            np.triu(rng.random((10, 10)) < 0.3, 1) * rng.uniform(0.5, 1.5, (10, 10)) * rng.choice([-1, 1], (10, 10))
        )
        mask = np.zeros((2000, 10), bool)
        mask[np.arange(1000, 2000), np.repeat(np.arange(10), 100)] = True
        values = rng.normal(size=(2000, 10))
        for place, j in enumerate(order):
            natural = values[:, j] + values[:, order] @ weights[:, place]
            values[:, j] = np.where(mask[:, j], 2 * values[:, j], natural)
        truth = np.zeros((10, 10), int)
        truth[np.ix_(order, order)] = weights != 0
        estimate = fit(GIES(), Dataset(tuple("abcdefghij"), values, mask), KEY).estimate
        assert estimate is not None
        right = (estimate.adjacency & truth).sum()
        f1.append(2 * right / (estimate.adjacency.sum() + truth.sum()))
    assert np.mean(f1) >= 0.85
