"""CDIS against what the paper proves for small worlds, and its PAG against what follows from the marks."""

import jax
import numpy as np
import pytest

from arena.dataset import Dataset
from arena.errors import MethodError
from methods.adjacency import search
from methods.base import ARROW, CIRCLE, TAIL, Status
from methods.cdis import CDIS, correlation
from methods.fit import fit
from methods.pag import orient
from methods.partial_correlation import p_values

KEY = jax.random.key(0)


def dataset(*groups):
    """A table from (values `[n, d]`, targets)."""
    d = groups[0][0].shape[1]
    mask = np.concatenate([np.tile(np.isin(np.arange(d), targets), (len(values), 1)) for values, targets in groups])
    return Dataset(tuple(f"v{i}" for i in range(d)), np.concatenate([values for values, _ in groups]), mask)


def native(data, **settings):
    outcome = fit(CDIS(**settings), data, KEY)
    assert outcome.estimate is not None, outcome.reason
    return outcome.estimate


def edge(at_first, at_second):
    return [[0, at_second], [at_first, 0]]


@pytest.fixture(scope="module")
def selected():
    """Two independent variables of rows that were chosen by their sum: before, with 0 raised, with 1 raised."""
    rng = np.random.default_rng(0)
    table = rng.uniform(-1, 1, (5000, 2))
    table = table[table.sum(axis=1) > 0]
    raised = [table.copy(), table.copy()]
    for k in range(2):
        raised[k][:, k] += rng.uniform(0.5, 1, len(table))
    return table, *raised


def test_selection_shows_once_both_were_intervened_on(selected):
    before, first, second = selected
    np.testing.assert_array_equal(native(dataset((before, []))).native, edge(CIRCLE, CIRCLE))
    # Raising one alone could as well be an effect of the other.
    np.testing.assert_array_equal(native(dataset((before, []), (first, [0]))).native, edge(CIRCLE, CIRCLE))
    found = native(dataset((before, []), (first, [0]), (second, [1])))
    np.testing.assert_array_equal(found.native, edge(TAIL, TAIL))
    assert found.info["selected"] == 1 and found.info["groups"] == 2


def test_one_intervention_orients_a_chain():
    rng = np.random.default_rng(1)

    def chain(mean):
        x = rng.normal(size=3000) + mean
        y = x + rng.normal(size=3000)
        return np.stack([x, y, y + rng.normal(size=3000)], axis=1)

    before, after = chain(0.0), chain(2.0)
    undirected = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    np.testing.assert_array_equal(native(dataset((before, []))).native, CIRCLE * undirected)
    found = native(dataset((before, []), (after, [0])))
    np.testing.assert_array_equal(found.native, [[0, ARROW, 0], [TAIL, 0, ARROW], [0, TAIL, 0]])
    np.testing.assert_array_equal(found.adjacency, [[0, 1, 0], [0, 0, 1], [0, 0, 0]])


def test_the_reduced_configuration_conditions_on_one_variable_at_most():
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(2, 4000))
    first, second = (a + b + 0.5 * rng.normal(size=4000) for _ in range(2))
    data = dataset((np.stack([a, b, first, second], axis=1), []))
    whole, reduced = native(data), native(data, max_conditioning=1)
    assert whole.native[2, 3] == 0 and reduced.native[2, 3] != 0, "two common causes take a set of two"
    assert reduced.info["reduced"] and not whole.info["reduced"]


def test_without_a_control_group_there_is_no_answer():
    values = np.random.default_rng(3).normal(size=(50, 2))
    outcome = fit(CDIS(), dataset((values, [0])), KEY)
    assert outcome.status is Status.unsupported and "control group" in outcome.reason


@pytest.mark.parametrize("settings", [{"alpha": 0.0}, {"alpha": 1.0}, {"max_conditioning": -1}])
def test_settings_out_of_range(settings):
    with pytest.raises(MethodError, match=f"cdis: {next(iter(settings))} is"):
        CDIS(**settings)


def skeleton(d, *edges):
    adjacent = np.zeros((d, d), bool)
    for i, j in edges:
        adjacent[i, j] = adjacent[j, i] = True
    return adjacent


def test_colliders_and_what_follows_from_them():
    # 0 -> 2 <- 1, 2 - 3: the last one must point away (R1).
    marks = orient(skeleton(4, (0, 2), (1, 2), (2, 3)), {(0, 1): (), (0, 3): (2,), (1, 3): (2,)})
    assert marks[0, 2] == marks[1, 2] == marks[2, 3] == ARROW
    assert marks[2, 0] == marks[2, 1] == marks[3, 2] == TAIL, "nothing is latent"


def test_a_cycle_without_chords_means_selection():
    cycle = [(0, 1), (1, 2), (2, 3), (3, 0)]
    marks = orient(skeleton(4, *cycle), {(0, 2): (1, 3), (1, 3): (0, 2)})
    assert all(marks[i, j] == marks[j, i] == TAIL for i, j in cycle)


def test_no_edge_gets_two_arrowheads():
    # Two colliders claim the edge between 1 and 2.
    marks = orient(skeleton(4, (0, 1), (1, 2), (2, 3)), {(0, 2): (), (1, 3): (), (0, 3): ()})
    assert not ((marks == ARROW) & (marks.T == ARROW)).any() and marks[1, 2] != 0


def test_p_values_are_those_of_the_partial_correlation():
    rng = np.random.default_rng(4)
    values = rng.normal(size=(200, 5)) @ rng.normal(size=(5, 5))
    residuals = [values[:, k] - _fitted(values[:, [2, 4]], values[:, k]) for k in (0, 1)]
    r = np.corrcoef(*residuals)[0, 1]
    from scipy.stats import norm

    expected = 2 * norm.sf(np.sqrt(200 - 2 - 3) * abs(np.arctanh(r)))
    found = p_values(correlation(values), 200, 0, 1, np.array([[2, 4], [2, 3]]))
    np.testing.assert_allclose(found[0], expected, rtol=1e-6)
    assert found[0] != found[1]
    values[:, 4] = values[:, 0] + values[:, 2]  # now 2 and 4 determine 0
    assert p_values(correlation(values), 200, 0, 1, np.array([[2, 4]]))[0] == 1.0


def _fitted(predictors, target):
    design = np.column_stack([np.ones(len(target)), predictors])
    return design @ np.linalg.lstsq(design, target, rcond=None)[0]


def test_search_respects_what_is_known():
    rng = np.random.default_rng(5)
    matrix = correlation(rng.normal(size=(500, 3)))
    assert not search(matrix, 500, alpha=1e-6).adjacent.any()
    fixed = skeleton(3, (0, 1))
    found = search(matrix, 500, alpha=1e-6, fixed=fixed, dependent={(0, 2): {()}})
    assert found.adjacent[0, 1] and (0, 1) not in found.separators
    assert found.separators[0, 2] == (1,), "the empty set is known not to separate them"
