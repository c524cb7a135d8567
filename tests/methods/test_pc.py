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
