import numpy as np
import pytest

from arena.dataset import Dataset
from methods.preflight import blind, preflight


def table(**columns) -> Dataset:
    return Dataset(tuple(columns), np.stack([np.asarray(c, float) for c in columns.values()], 1))


RNG = np.random.default_rng(0)
A, B = RNG.normal(5, 3, size=(2, 200))


def test_standardised_once_over_all_rows():
    mask = np.zeros((200, 2), bool)
    mask[150:, 0] = True
    ready = preflight(Dataset(("a", "b"), np.stack([A, B], 1), mask)).dataset
    assert ready is not None
    np.testing.assert_allclose(ready.values.mean(0), 0, atol=1e-12)
    np.testing.assert_allclose(ready.values.std(0), 1)
    np.testing.assert_array_equal(ready.mask, mask)
    assert ready.split == "obs_int"


def test_what_a_method_must_not_see():
    dataset = Dataset(
        ("a", "b"), np.stack([A, B], 1), adjacency=np.zeros((2, 2)), name="sachs", noise=np.ones((200, 2))
    )
    dataset.info["graph"] = "secret"
    for seen in (blind(dataset), preflight(dataset).dataset):
        assert seen is not None
        assert seen.adjacency is None and seen.noise is None and not seen.info and seen.name != "sachs"


def test_read_only_and_apart_from_the_input():
    dataset = table(a=A, b=B)
    ready = preflight(dataset).dataset
    assert ready is not None
    for array in (ready.values, ready.mask):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    np.testing.assert_array_equal(dataset.values[:, 0], A)


def test_constant_columns_are_dropped_and_mapped_back():
    ready = preflight(table(still=np.full(200, 0.1), a=A, zero=np.zeros(200), b=B))
    assert ready.dataset is not None and ready.dataset.names == ("a", "b")
    assert ready.report["constant"] == ["still", "zero"]
    full = ready.restore(np.array([[0, 7], [8, 0]]))
    np.testing.assert_array_equal(full, [[0, 0, 0, 0], [0, 0, 0, 7], [0, 0, 0, 0], [0, 8, 0, 0]])


def test_rounding_noise_is_constant_and_a_small_spread_is_not():
    noisy = 0.3 + np.where(np.arange(200) % 2, np.spacing(0.3), 0.0)
    small = 1e8 + 1e-3 * RNG.normal(size=200)
    ready = preflight(table(noisy=noisy, small=small, a=A))
    assert ready.dataset is not None and ready.dataset.names == ("small", "a")


@pytest.mark.parametrize("scale", [1e308, 1e-300])
def test_extreme_magnitudes(scale):
    ready = preflight(table(a=A / np.abs(A).max() * scale, b=B)).dataset
    assert ready is not None
    np.testing.assert_allclose(ready.values[:, 0], (A - A.mean()) / A.std(), rtol=1e-9)


def test_copies_are_recorded_and_dropped_on_request():
    dataset = table(b=B, z=-2 * A + 1, a=A, near=A + 1e-3 * RNG.normal(size=200))
    assert preflight(dataset).report["copies"] == [["a", "z"]]
    kept = preflight(dataset).dataset
    assert kept is not None and kept.d == 4
    ready = preflight(dataset, distinct_columns=True)
    assert ready.dataset is not None and ready.dataset.names == ("b", "a", "near")
    assert ready.report["dropped_copies"] and ready.report["rank"] == 3


def test_the_kept_copy_takes_over_the_interventions():
    mask = np.zeros((200, 3), bool)
    mask[:50, 2] = True
    ready = preflight(Dataset(("a", "b", "c"), np.stack([A, B, A], 1), mask), distinct_columns=True).dataset
    assert ready is not None and ready.names == ("a", "b")
    assert ready.mask[:50, 0].all() and not ready.mask[50:].any()


def test_rank_shows_sums():
    assert preflight(table(a=A, b=B, sum=A + B)).report["rank"] == 2


@pytest.mark.parametrize("n", [0, 1])
def test_too_few_rows_leave_no_column(n):
    ready = preflight(Dataset(("a", "b"), np.ones((n, 2))))
    assert ready.dataset is None and ready.report["constant"] == ["a", "b"]


def test_columns_in_an_order_of_their_own():
    columns, order = {"a": A, "still": np.ones(200), "b": B, "c": A * B}, ["c", "a", "b", "still"]
    mask = np.zeros((200, 4), bool)
    mask[:50, 2] = True
    dataset = Dataset(tuple(columns), np.stack(list(columns.values()), 1), mask)
    ready, other = preflight(dataset, positional=True), preflight(dataset.select(order), positional=True)
    assert ready.dataset is not None and other.dataset is not None and ready.report["reordered"]
    assert ready.dataset.names == other.dataset.names and set(ready.dataset.names) == {"a", "b", "c"}
    np.testing.assert_allclose(ready.dataset.values, other.dataset.values)
    np.testing.assert_array_equal(ready.dataset.mask, other.dataset.mask)
    assert ready.dataset.mask[:, ready.dataset.names.index("b")].sum() == 50
    answer = np.zeros((3, 3))
    answer[ready.dataset.names.index("a"), ready.dataset.names.index("c")] = 1
    assert np.argwhere(ready.restore(answer)).tolist() == [[0, 3]]
    assert np.argwhere(other.restore(answer)).tolist() == [[1, 0]]


def test_balanced_binary_columns_have_an_order_of_their_own():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(400, 6)) @ rng.normal(size=(6, 6))
    binary = (values > np.median(values, axis=0)) * 1.0
    dataset = Dataset(tuple("abcdef"), binary)
    straight = preflight(dataset, positional=True).dataset
    turned = preflight(dataset.select(dataset.names[::-1]), positional=True).dataset
    assert straight is not None and turned is not None and straight.names == turned.names
