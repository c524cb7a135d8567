"""Sortability beside the authors' package, and on closed forms."""

import numpy as np
import pytest

from arena.sortability import order_alignment, path_lengths, r2_of_columns, r2_sortability, var_sortability


def sample(seed: int, d: int = 8, n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """A linear SCM on a random DAG with its columns shuffled."""
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.random((d, d)) < 0.4, k=1) * rng.normal(size=(d, d))
    x = np.zeros((n, d))
    for j in range(d):
        x[:, j] = x @ weights[:, j] + rng.normal(size=n)
    order = rng.permutation(d)
    return x[:, order], (weights != 0).astype(np.int8)[np.ix_(order, order)]


@pytest.mark.parametrize("seed", range(50))
def test_as_the_authors_package(seed):
    from CausalDisco.analytics import r2_sortability as their_r2
    from CausalDisco.analytics import var_sortability as their_var

    values, graph = sample(seed)
    assert var_sortability(values, graph) == pytest.approx(their_var(values, graph), abs=1e-12)
    assert r2_sortability(values, graph) == pytest.approx(their_r2(values, graph), abs=1e-12)


def test_a_chain_with_growing_variance_and_its_reverse():
    values = np.random.default_rng(0).normal(size=(500, 4)) * [1, 2, 3, 4]
    chain = np.eye(4, k=1, dtype=np.int8)
    assert var_sortability(values, chain) == 1.0 and var_sortability(values[:, ::-1], chain) == 0.0
    np.testing.assert_array_equal(path_lengths(chain), np.triu(np.ones((4, 4)), k=1))


def test_ties_count_half_and_no_edges_give_none():
    lengths = path_lengths(np.array([[0, 1], [0, 0]]))
    assert order_alignment(np.array([2.0, 2.0]), lengths) == 0.5
    assert var_sortability(np.ones((5, 2)), np.zeros((2, 2))) is None


def test_two_lengths_count_twice():
    graph = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]])
    assert path_lengths(graph)[0, 2] == 2


def test_r2_is_that_of_least_squares():
    from sklearn.linear_model import LinearRegression

    values, _ = sample(3)
    for j, r2 in enumerate(r2_of_columns(values)):
        others = np.delete(values, j, axis=1)
        assert r2 == pytest.approx(LinearRegression().fit(others, values[:, j]).score(others, values[:, j]), abs=1e-10)


def test_columns_that_are_sums_or_constant():
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(3, 200))
    r2 = r2_of_columns(np.stack([a, b, a + b, c, np.ones(200)], axis=1))
    np.testing.assert_allclose(r2[:3], 1.0)
    assert 0 <= r2[3] < 0.1 and r2[4] == 0.0


@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e30, 1e300])
def test_the_unit_does_not_matter(size):
    values, graph = sample(1)
    assert var_sortability(values * size, graph) == var_sortability(values, graph)
    np.testing.assert_allclose(r2_of_columns(values * size), r2_of_columns(values), atol=1e-9)
