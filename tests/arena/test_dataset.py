import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.dag import find_cycle
from arena.dataset import Dataset, check_dag
from arena.errors import DataError

NAMES = ("a", "b", "c")
COLLIDER = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]])


def table(n=6, **fields):
    values = np.random.default_rng(0).standard_normal((n, 3))
    return Dataset(**{"names": NAMES, "values": values, "adjacency": COLLIDER, **fields})


def masked():
    mask = np.zeros((6, 3), bool)
    mask[4:, 1] = True
    return table(intervention_mask=mask)


def test_defaults():
    data = table()
    assert (data.n, data.d, data.split) == (6, 3, "obs")
    assert not data.mask.any()
    assert data.truth.dtype == np.int8


def test_split_follows_the_mask():
    assert masked().split == "obs_int"


def test_observational_drops_intervened_rows():
    data = masked().observational()
    assert (data.n, data.split) == (4, "obs")
    np.testing.assert_array_equal(data.values, masked().values[:4])


def test_select_permutes_columns_mask_and_graph_together():
    data = masked().select(["c", "b", "a"])
    np.testing.assert_array_equal(data.values, masked().values[:, ::-1])
    np.testing.assert_array_equal(data.mask, masked().mask[:, ::-1])
    # The collider a -> c <- b, seen from the other end.
    np.testing.assert_array_equal(data.truth, [[0, 0, 0], [1, 0, 0], [1, 0, 0]])


def test_integers_become_float64_and_float32_stays():
    assert table(values=np.ones((2, 3), int)).values.dtype == np.float64
    assert table(values=np.ones((2, 3), np.float32)).values.dtype == np.float32


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"values": np.zeros(3)}, ["1 axes", "[n, d]"]),
        ({"names": ("a", "b")}, ["3 columns", "2 names"]),
        ({"names": ("a", "b", "a")}, ["'a'", "more than once"]),
        ({"values": np.array([[0, 1, 2], [0, np.nan, 0.0]])}, ["'b'", "row 1", "nan", "finite"]),
        ({"values": np.array([["x", "y", "z"]])}, ["numbers", "'x'"]),
        ({"values": np.array([[None, 1, 2]])}, ["'a'", "row 0", "nan"]),
        ({"intervention_mask": np.zeros((5, 3), bool)}, ["(5, 3)", "(6, 3)"]),
        ({"intervention_mask": np.full((6, 3), 2)}, ["'a'", "row 0", "2", "0 or 1"]),
        ({"intervention_mask": np.ones((6, 3), bool), "split": "obs"}, ["'obs'", "6 intervened"]),
        ({"noise": np.zeros((1, 3))}, ["noise", "(1, 3)"]),
        ({"adjacency": np.zeros((3, 2))}, ["square", "(3, 2)"]),
        ({"adjacency": np.zeros((2, 2))}, ["2 variables", "3"]),
        ({"adjacency": 2 * COLLIDER}, ["a -> c", "2", "0 or 1"]),
        ({"adjacency": COLLIDER + COLLIDER.T}, ["directed cycle", "c -> a -> c"]),
        ({"values": np.array([[{}, 1, 2]])}, ["numbers"]),
        ({"adjacency": np.eye(3)}, ["directed cycle", "a -> a"]),
    ],
)
def test_what_cannot_be_a_dataset(fields, words):
    with pytest.raises(DataError) as caught:
        table(**fields)
    for word in ["table", *words]:
        assert word in str(caught.value)


def test_unknown_graph():
    with pytest.raises(DataError, match="not known"):
        _ = table(adjacency=None).truth


def test_select_unknown_column():
    with pytest.raises(DataError, match="no column 'z'; columns are a, b, c"):
        table().select(["z"])


@given(st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_cycles_are_found_and_real(d, seed):
    rng = np.random.default_rng(seed)
    graph = (rng.random((d, d)) < 0.25).astype(np.int8)
    reach = np.linalg.matrix_power(graph.astype(int), d)  # a walk of d edges exists only if there is a cycle
    cycle = find_cycle(graph)
    assert (cycle is not None) == bool(reach.any())
    if cycle is not None:
        assert all(graph[a, b] for a, b in zip(cycle, [*cycle[1:], cycle[0]], strict=True))


@given(st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_a_permuted_triangular_matrix_is_a_dag(d, seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(d)
    graph = np.triu(rng.random((d, d)) < 0.5, 1)[np.ix_(order, order)]
    np.testing.assert_array_equal(check_dag(graph, [str(i) for i in range(d)], "g"), graph)


def test_a_dataset_is_its_own_and_read_only():
    """What the caller does to the array later changes nothing, and neither can a method."""
    table = np.arange(6.0).reshape(3, 2)
    data = Dataset(("a", "b"), table)
    table[:] = np.nan
    assert (data.values == np.arange(6.0).reshape(3, 2)).all()
    with pytest.raises(ValueError, match="read-only"):
        data.values[0, 0] = 1.0


def test_datasets_compare_by_identity():
    data = Dataset(("a",), np.zeros((2, 1)))
    assert data == data and data != Dataset(("a",), np.zeros((2, 1)))


def test_long_chains_are_checked_in_time():
    chain = np.eye(2000, k=1, dtype=np.int8)
    assert find_cycle(chain) is None
    chain[1999, 0] = 1
    assert len(find_cycle(chain)) == 2000
