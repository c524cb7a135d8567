"""What holds for every registered method; a new one is picked up by itself.

A method is let off a test by what it declares, never by its name. One that cannot run here is skipped, with what it
needs. Pretrained methods run on tiny random weights, so that of them everything is asked but the right answer.
"""

import dataclasses
import importlib.util

import jax
import numpy as np
import pytest

from arena.dataset import Dataset
from methods.base import ARROW, CIRCLE, Capabilities, Estimate, Method, Status
from methods.fit import checked, fit
from methods.needs import missing
from methods.orient import is_acyclic
from methods.registry import get, names

KEY = jax.random.key(0)
CAN: dict[str, Capabilities] = {name: get(name).capabilities for name in names()}
DISCOVERING = [name for name in names() if CAN[name].discovers]
LEARNING = [name for name in DISCOVERING if CAN[name].checkpoint is None]
ORIENTING_BY_KEY = [name for name in names() if CAN[name].output in ("cpdag", "pag")]
UNTRAINED = {name for name in names() if CAN[name].checkpoint is not None}
TAKING_TARGETS = [name for name in DISCOVERING if "obs_int" in CAN[name].splits]


@pytest.fixture(scope="module", autouse=True)
def checkpoints(tmp_path_factory):
    if importlib.util.find_spec("torch") is None:
        yield
        return
    from tiny import publish_all

    with pytest.MonkeyPatch.context() as monkeypatch:
        publish_all(tmp_path_factory.mktemp("published"), monkeypatch)
        yield


def ready(name: str, quick: bool = False) -> Method:
    absent = missing(CAN[name])
    if absent:
        pytest.skip(absent)
    if CAN[name].environment:
        pytest.skip(
            f"runs in environment '{CAN[name].environment}', which takes too long here; it has tests of its own"
        )
    return get(name, **get(name).quick) if quick else get(name)


def estimate(name: str, dataset: Dataset, key: jax.Array = KEY, quick: bool = True) -> Estimate:
    if CAN[name].oracle_edges and dataset.adjacency is None:
        dataset = dataclasses.replace(dataset, info={"n_edges": 5})
    outcome = fit(ready(name, quick), dataset, key)
    assert outcome.status is Status.completed, (outcome.reason, outcome.detail)
    assert outcome.estimate is not None
    return outcome.estimate


def discovered(name: str, tables: dict[str | None, Dataset]) -> tuple[Estimate, Dataset]:
    """What a method says of the table that keeps to what it assumes, and that table."""
    dataset = tables[CAN[name].assumes]
    if CAN[name].assumes != "equal_noise":
        return estimate(name, dataset, quick=False), dataset
    # Standardising would make the noise variances unequal, so the method gets this table as it is.
    blind = Dataset(dataset.names, dataset.values - dataset.values.mean(axis=0))
    return checked(ready(name).fit(blind, KEY), dataset.names, CAN[name].output), dataset


def as_cpdag(name: str, native: np.ndarray) -> np.ndarray:
    """A native class with both directions for what is not directed."""
    if CAN[name].output == "cpdag":
        return native
    return ((native == ARROW) | ((native == CIRCLE) & (native.T == CIRCLE))).astype(np.int8)


@pytest.mark.parametrize("name", names())
def test_shape_type_and_diagonal(name, small):
    found = estimate(name, small)
    largest = 3 if CAN[name].output == "pag" else 1
    for matrix, top in ((found.adjacency, 1), (found.native, largest)):
        if matrix is not None:
            assert matrix.shape == (3, 3) and matrix.dtype == np.int8
            assert 0 <= matrix.min() and matrix.max() <= top and not np.diagonal(matrix).any()
    assert (found.scores is not None) == CAN[name].scores
    assert (found.native is not None) == (CAN[name].output in ("cpdag", "pag"))
    if found.scores is not None:
        assert found.scores.shape == (3, 3) and found.scores.dtype == np.float64
        assert not np.diagonal(found.scores).any()
    if CAN[name].output in ("dag", "cpdag"):
        assert is_acyclic(found.adjacency)


@pytest.mark.parametrize("name", LEARNING)
def test_collider_is_not_transposed(name, colliders):
    found, collider = discovered(name, colliders)
    np.testing.assert_array_equal(found.adjacency, collider.truth)
    if found.native is not None:
        np.testing.assert_array_equal(as_cpdag(name, found.native), collider.truth)
    if found.scores is not None:
        assert found.scores[0, 1] > found.scores[1, 0]


@pytest.mark.parametrize("name", LEARNING)
def test_chain_is_oriented_where_that_can_be_told(name, chains):
    found, chain = discovered(name, chains)
    if found.native is None:
        np.testing.assert_array_equal(found.adjacency, chain.truth)
        return
    np.testing.assert_array_equal(as_cpdag(name, found.native), chain.truth + chain.truth.T)
    np.testing.assert_array_equal(found.adjacency + found.adjacency.T, chain.truth + chain.truth.T)
    assert found.adjacency[:, 2].sum() < 2  # the middle one is no collider


@pytest.mark.parametrize("name", LEARNING)
def test_network_is_found(name, networks):
    found, network = discovered(name, networks)
    np.testing.assert_array_equal(found.adjacency, network.truth)


@pytest.mark.parametrize("name", TAKING_TARGETS)
def test_the_intervention_mask_changes_the_answer(name, pushed_pair):
    found = estimate(name, pushed_pair)
    without = estimate(name, Dataset(pushed_pair.names, pushed_pair.values))
    if name in UNTRAINED:
        assert found.scores is not None and not np.array_equal(found.scores, without.scores)
        return
    np.testing.assert_array_equal(found.adjacency, pushed_pair.truth)
    if found.native is not None:
        assert without.native is not None and not np.array_equal(without.native, found.native)


@pytest.mark.parametrize("name", sorted(UNTRAINED))
def test_a_missing_checkpoint_is_unsupported_with_the_command(name, small, tmp_path, monkeypatch):
    ready(name)
    monkeypatch.setenv("ARENA_CHECKPOINTS", str(tmp_path))
    outcome, published = fit(get(name), Dataset(small.names, small.values), KEY), CAN[name].checkpoint
    assert outcome.status is Status.unsupported and published is not None
    assert outcome.reason.endswith(f"run: arena checkpoint fetch {published.name} --yes")


@pytest.mark.parametrize("name", names())
def test_same_key_same_answer(name, small):
    first, second = estimate(name, small), estimate(name, small)
    np.testing.assert_array_equal(first.adjacency, second.adjacency)
    assert first.info == second.info
    if first.scores is not None:
        np.testing.assert_array_equal(first.scores, second.scores)


@pytest.mark.parametrize("name", names())
def test_input_is_not_modified(name, small):
    values, mask = small.values.copy(), small.mask.copy()
    estimate(name, small)
    np.testing.assert_array_equal(small.values, values)
    np.testing.assert_array_equal(small.mask, mask)


@pytest.mark.parametrize("name", [name for name in names() if not CAN[name].raw])
def test_unit_and_offset_do_not_matter(name, small):
    rescaled = Dataset(small.names, small.values * np.array([1e-6, 1e3, 5]) + 7)
    small = Dataset(small.names, small.values)
    np.testing.assert_array_equal(estimate(name, rescaled).adjacency, estimate(name, small).adjacency)


@pytest.mark.parametrize("name", names())
def test_single_precision_is_taken(name, small):
    found = estimate(name, Dataset(small.names, small.values.astype(np.float32)))
    assert found.adjacency.dtype == np.int8
    if name in LEARNING and CAN[name].assumes is None:
        np.testing.assert_array_equal(found.adjacency, small.truth)


@pytest.mark.parametrize("name", names())
def test_constant_and_copied_columns_are_mapped_back(name, small):
    copy = -3.0 * small.values[:, :1] + 1.0
    values = np.concatenate([np.ones((small.n, 1)), small.values, copy], axis=1)
    found = estimate(name, Dataset(("still", *small.names, "left_copy"), values))
    assert found.adjacency.shape == (5, 5)
    assert not found.adjacency[0].any() and not found.adjacency[:, 0].any()
    report = found.info["preflight"]
    assert report["constant"] == ["still"] and report["copies"] == [["left", "left_copy"]]
    if CAN[name].distinct_columns:
        expected = np.zeros((5, 5))
        expected[1:4, 1:4] = estimate(name, small).adjacency
        np.testing.assert_array_equal(found.adjacency, expected)


@pytest.mark.parametrize("name", names())
def test_linearly_dependent_columns_are_taken_or_refused(name, small):
    total = small.values.sum(axis=1, keepdims=True)
    values, adjacency = np.concatenate([small.values, total], axis=1), np.pad(small.truth, (0, 1))
    outcome = fit(
        ready(name, quick=name in UNTRAINED), Dataset((*small.names, "total"), values, adjacency=adjacency), KEY
    )
    if outcome.estimate is not None:
        assert outcome.estimate.info["preflight"]["rank"] == 3
    else:
        assert outcome.status is Status.unsupported and "linear" in outcome.reason, (outcome.reason, outcome.detail)


@pytest.mark.parametrize("name", names())
def test_fewer_rows_than_columns_are_taken_or_refused(name, network):
    outcome = fit(ready(name), Dataset(network.names, network.values[:5], adjacency=network.truth), KEY)
    refused = outcome.status is Status.unsupported and "rows" in outcome.reason
    assert refused or outcome.status is Status.completed, (outcome.reason, outcome.detail)


@pytest.mark.parametrize("name", [name for name in DISCOVERING if CAN[name].output in ("cpdag", "pag")])
def test_tests_that_are_not_defined_are_no_evidence(name, network):
    """Three rows of near copies: no test of independence is defined, so that no answer is one of no edges."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(3, 1)) + 1e-3 * rng.normal(size=(3, 3))
    outcome = fit(ready(name), Dataset(("a", "b", "c"), values), KEY)
    if outcome.estimate is None:
        assert outcome.status is Status.unsupported and "rows" in outcome.reason
    else:
        assert outcome.estimate.adjacency.any()


@pytest.mark.parametrize("name", DISCOVERING)
def test_permuted_columns_permute_the_answer(name, network):
    order = [3, 0, 5, 1, 4, 2]
    permuted = network.select([network.names[j] for j in order])
    direct, after = estimate(name, network), estimate(name, permuted)
    _assert_permuted(direct, after, order)


@pytest.mark.parametrize("name", [name for name in ORIENTING_BY_KEY if name != "flop"])
@pytest.mark.parametrize("binary", [False, True])
def test_permuted_columns_permute_the_answer_where_little_is_sure(name, binary):
    """Weak edges in few rows, and ties between columns: conflicts that an algorithm resolves in some order."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        weights = np.triu(rng.normal(size=(5, 5)) * (rng.random((5, 5)) < 0.6), 1)
        values = rng.normal(size=(200, 5)) @ np.linalg.inv(np.eye(5) - weights)
        values = (values > np.median(values, axis=0)) * 1.0 if binary else values
        dataset = Dataset(tuple("abcde"), values)
        order = list(rng.permutation(5))
        permuted = dataset.select([dataset.names[j] for j in order])
        _assert_permuted(estimate(name, dataset), estimate(name, permuted), order)


def _assert_permuted(direct: Estimate, after: Estimate, order: list) -> None:
    matrices = (direct.native, after.native) if direct.native is not None else (direct.adjacency, after.adjacency)
    assert matrices[0] is not None
    np.testing.assert_array_equal(matrices[0][np.ix_(order, order)], matrices[1])


@pytest.mark.parametrize("name", ORIENTING_BY_KEY)
def test_an_undirected_pair_is_oriented_by_the_key(name):
    rng = np.random.default_rng(3)
    x = rng.normal(size=500)
    pair = Dataset(("x", "y"), np.stack([x, x + rng.normal(size=500)], 1))
    forward = [int(estimate(name, pair, jax.random.key(seed)).adjacency[0, 1]) for seed in range(40)]
    assert 8 <= sum(forward) <= 32
