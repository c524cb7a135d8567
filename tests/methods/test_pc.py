import jax
import numpy as np
import pytest

from arena.dataset import Dataset
from arena.errors import MethodError
from methods.fit import fit
from methods.pc import PC, from_endpoints

KEY = jax.random.key(0)


def test_chain_is_undirected_in_the_class_and_directed_in_the_answer():
    rng = np.random.default_rng(0)
    a = rng.normal(size=2000)
    b = a + rng.normal(size=2000)
    c = b + rng.normal(size=2000)
    estimate = fit(PC(), Dataset(("a", "c", "b"), np.stack([a, c, b], 1)), KEY).estimate
    assert estimate is not None and estimate.native is not None
    np.testing.assert_array_equal(estimate.native, [[0, 0, 1], [0, 0, 1], [1, 1, 0]])
    assert estimate.info["undirected"] == 2 and estimate.info["orientation"] == "consistent extension"
    assert estimate.adjacency[:, 2].sum() < 2, "the extension made a collider that the class has not"


def test_endpoints_of_the_library():
    tail, head = -1, 1
    marks = np.zeros((4, 4))
    marks[0, 1], marks[1, 0] = tail, head
    marks[1, 2], marks[2, 1] = tail, tail
    marks[2, 3], marks[3, 2] = head, head
    native, bidirected = from_endpoints(marks)
    np.testing.assert_array_equal(native, [[0, 1, 0, 0], [0, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]])
    assert bidirected == 1


def test_alpha_reaches_the_library(collider):
    weak = Dataset(collider.names, collider.values[:30])
    edges = [fit(PC(alpha=alpha), weak, KEY).estimate.adjacency.sum() for alpha in (1e-12, 0.5)]
    assert edges[0] < edges[1]


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, float("nan")])
def test_alpha_out_of_range(alpha):
    with pytest.raises(MethodError, match="alpha"):
        PC(alpha=alpha)


def test_singular_test_agrees_with_the_library_where_both_are_defined(network):
    from causallearn.utils.cit import CIT

    from methods import fisherz

    theirs, ours = CIT(network.values, "fisherz"), CIT(network.values, fisherz.NAME)
    for x, y, given in [(0, 1, ()), (2, 3, (0,)), (1, 3, (0, 5)), (4, 5, (0, 1, 2))]:
        assert ours(x, y, given) == pytest.approx(theirs(x, y, given), abs=1e-12)


def test_singular_test_where_the_set_determines_a_variable(network):
    from causallearn.utils.cit import CIT

    from methods import fisherz

    total = network.values[:, 0] + network.values[:, 1]
    test = CIT(np.concatenate([network.values, total[:, None]], 1), fisherz.NAME)
    assert test(6, 2, (0, 1)) == 1.0
    assert test(6, 0, ()) < 1e-6
    assert test(0, 6, (1,)) < 1e-6


def test_dependent_columns_use_it(network):
    total = network.values[:, 0] + network.values[:, 1]
    table = Dataset((*network.names, "sum"), np.concatenate([network.values, total[:, None]], 1))
    assert fit(PC(), table, KEY).estimate.info["test"] == "fisherz_singular"
    assert fit(PC(), network, KEY).estimate.info["test"] == "fisherz"


def test_the_reduced_configuration_draws_rows_and_leaves_out_what_is_constant_there():
    assert PC().as_reduced() == PC(alpha=0.001, max_rows=200)
    rng = np.random.default_rng(3)
    a, c = rng.normal(size=(2, 2000))
    rare = np.zeros(2000)
    rare[rng.integers(2000)] = 1.0  # one row in ten is drawn
    table = Dataset(("a", "rare", "b", "c"), np.stack([a, rare, a + c, c], 1))
    method = PC(alpha=0.001, max_rows=200)
    keys = [jax.random.key(seed) for seed in range(4)]
    found = [fit(method, table, key).estimate for key in keys]
    infos = [estimate.info for estimate in found]
    assert any(info["sample"]["constant"] == ["rare"] for info in infos) and infos[0]["rows"] == 200
    for estimate in found:  # mapped back to the columns of the table
        np.testing.assert_array_equal(estimate.adjacency, np.eye(4, dtype=int)[[2, 1, 2, 2]] * [[1], [0], [0], [1]])
        assert estimate.native.shape == (4, 4)
    again = fit(method, table, keys[0]).estimate
    np.testing.assert_array_equal(again.native, found[0].native)
    whole = fit(PC(alpha=0.001, max_rows=2000), table, keys[0]).estimate
    assert "rows" not in whole.info


def test_rows_that_leave_nothing_to_search():
    values = np.zeros((500, 2))
    values[:, 0] = np.arange(500)
    values[7, 1] = 1.0
    outcome = fit(PC(max_rows=3), Dataset(("x", "y"), values), KEY)
    assert outcome.status == "unsupported" and "fewer than 2 columns vary in the 3 rows" in outcome.reason
    with pytest.raises(MethodError, match="max_rows is 1; it must be at least 2"):
        PC(max_rows=1)
