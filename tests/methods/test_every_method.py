"""What holds for every registered method; a new one is picked up by itself."""

import jax
import numpy as np
import pytest

from arena.dataset import Dataset
from methods.base import Status
from methods.fit import fit
from methods.orient import is_acyclic
from methods.registry import get, names

KEY = jax.random.key(0)
# The control guesses; every other method must find a linear non-Gaussian collider.
DISCOVERING = [name for name in names() if name != "random_regress"]


def estimate(name: str, dataset: Dataset, key: jax.Array = KEY):
    outcome = fit(get(name), dataset, key)
    assert outcome.status is Status.completed, (outcome.reason, outcome.detail)
    assert outcome.estimate is not None
    return outcome.estimate


@pytest.mark.parametrize("name", names())
def test_shape_type_and_diagonal(name, network):
    found = estimate(name, network)
    for matrix in (found.adjacency, found.native):
        if matrix is not None:
            assert matrix.shape == (6, 6) and matrix.dtype == np.int8
            assert set(np.unique(matrix)) <= {0, 1} and not np.diagonal(matrix).any()
    capabilities = get(name).capabilities
    assert (found.scores is not None) == capabilities.scores
    assert (found.native is not None) == (capabilities.output in ("cpdag", "pag"))
    if found.scores is not None:
        assert found.scores.shape == (6, 6) and not np.diagonal(found.scores).any()
    if capabilities.output in ("dag", "cpdag"):
        assert is_acyclic(found.adjacency)


@pytest.mark.parametrize("name", DISCOVERING)
def test_collider_is_not_transposed(name, collider):
    found = estimate(name, collider)
    np.testing.assert_array_equal(found.adjacency, collider.truth)
    if found.native is not None:
        np.testing.assert_array_equal(found.native, collider.truth)
    if found.scores is not None:
        assert found.scores[0, 1] > found.scores[1, 0]


@pytest.mark.parametrize("name", DISCOVERING)
def test_network_is_found(name, network):
    np.testing.assert_array_equal(estimate(name, network).adjacency, network.truth)


@pytest.mark.parametrize("name", names())
def test_same_key_same_answer(name, network):
    first, second = estimate(name, network), estimate(name, network)
    np.testing.assert_array_equal(first.adjacency, second.adjacency)
    assert first.info == second.info
    if first.scores is not None:
        np.testing.assert_array_equal(first.scores, second.scores)


@pytest.mark.parametrize("name", names())
def test_input_is_not_modified(name, network):
    values, mask = network.values.copy(), network.mask.copy()
    estimate(name, network)
    np.testing.assert_array_equal(network.values, values)
    np.testing.assert_array_equal(network.mask, mask)


@pytest.mark.parametrize("name", names())
def test_unit_and_offset_do_not_matter(name, network):
    rescaled = Dataset(network.names, network.values * np.array([1e-6, 1, 1e3, 2, 5, 0.1]) + 7)
    np.testing.assert_array_equal(estimate(name, rescaled).adjacency, estimate(name, network).adjacency)


@pytest.mark.parametrize("name", names())
def test_constant_and_copied_columns_are_mapped_back(name, network):
    copy = -3.0 * network.values[:, :1] + 1.0
    values = np.concatenate([np.ones((network.n, 1)), network.values, copy], axis=1)
    found = estimate(name, Dataset(("still", *network.names, "d_copy"), values))
    assert found.adjacency.shape == (8, 8)
    assert not found.adjacency[0].any() and not found.adjacency[:, 0].any()
    report = found.info["preflight"]
    assert report["constant"] == ["still"] and report["copies"] == [["d", "d_copy"]]
    if get(name).capabilities.distinct_columns:
        expected = np.zeros((8, 8))
        expected[1:7, 1:7] = network.truth
        np.testing.assert_array_equal(found.adjacency, expected)


@pytest.mark.parametrize("name", names())
def test_linearly_dependent_columns_do_not_crash(name, network):
    total = network.values.sum(axis=1, keepdims=True)
    found = estimate(name, Dataset((*network.names, "total"), np.concatenate([network.values, total], 1)))
    assert found.info["preflight"]["rank"] == 6


@pytest.mark.parametrize("name", names())
def test_fewer_rows_than_columns_are_taken_or_refused(name, network):
    outcome = fit(get(name), Dataset(network.names, network.values[:5]), KEY)
    refused = outcome.status is Status.unsupported and "rows" in outcome.reason
    assert refused or outcome.status is Status.completed, (outcome.reason, outcome.detail)


@pytest.mark.parametrize("name", DISCOVERING)
def test_permuted_columns_permute_the_answer(name, network):
    order = [3, 0, 5, 1, 4, 2]
    permuted = network.select([network.names[j] for j in order])
    direct, after = estimate(name, network), estimate(name, permuted)
    matrices = (direct.native, after.native) if direct.native is not None else (direct.adjacency, after.adjacency)
    assert matrices[0] is not None
    np.testing.assert_array_equal(matrices[0][np.ix_(order, order)], matrices[1])


@pytest.mark.parametrize("name", names())
def test_an_undirected_pair_is_oriented_by_the_key(name):
    rng = np.random.default_rng(3)
    x = rng.normal(size=500)
    pair = Dataset(("x", "y"), np.stack([x, x + rng.normal(size=500)], 1))
    forward = [int(estimate(name, pair, jax.random.key(seed)).adjacency[0, 1]) for seed in range(40)]
    if get(name).capabilities.output == "cpdag" or name == "random_regress":
        assert 8 <= sum(forward) <= 32
    else:
        assert sum(forward) in (0, 40)
