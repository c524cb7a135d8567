import itertools

import jax
import networkx as nx
import numpy as np
import pytest

from methods.base import ARROW, CIRCLE, TAIL
from methods.orient import directed, extension, from_pag, is_acyclic, undirected


def random_dag(rng: np.random.Generator, d: int) -> np.ndarray:
    dag = np.triu(rng.random((d, d)) < rng.uniform(0.2, 0.7), 1)
    order = rng.permutation(d)
    return dag[np.ix_(order, order)].astype(np.int8)


def v_structures(dag: np.ndarray) -> set[tuple[int, int, int]]:
    d = len(dag)
    return {
        (i, k, j)
        for k in range(d)
        for i, j in itertools.combinations(range(d), 2)
        if dag[i, k] and dag[j, k] and not dag[i, j] and not dag[j, i]
    }


def members(dag: np.ndarray) -> list[np.ndarray]:
    """All DAGs with the skeleton and the v-structures of `dag`, by trying every orientation."""
    pairs = [(i, j) for i, j in itertools.combinations(range(len(dag)), 2) if dag[i, j] or dag[j, i]]
    found = []
    for flips in itertools.product([False, True], repeat=len(pairs)):
        other = np.zeros_like(dag)
        for (i, j), flip in zip(pairs, flips, strict=True):
            other[(j, i) if flip else (i, j)] = 1
        graph = nx.from_numpy_array(other, create_using=nx.DiGraph)
        if v_structures(other) == v_structures(dag) and nx.is_directed_acyclic_graph(graph):
            found.append(other)
    return found


@pytest.mark.parametrize("block", range(4))
def test_extension_is_a_member_of_the_class(block):
    rng = np.random.default_rng(block)
    for trial in range(75):
        dag = random_dag(rng, int(rng.integers(2, 6)))
        equivalent = members(dag)
        cpdag = np.max(equivalent, axis=0)
        found, how = extension(cpdag, jax.random.key(trial))
        assert how == "consistent extension"
        assert any((found == member).all() for member in equivalent), (dag, cpdag, found)


def test_every_member_comes_out():
    chain = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    found = {extension(chain, jax.random.key(seed))[0].tobytes() for seed in range(60)}
    assert found == {member.tobytes() for member in members(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], np.int8))}


def test_column_order_does_not_leak():
    line = np.array([[0, 1], [1, 0]])
    forward = sum(int(extension(line, jax.random.key(seed))[0][0, 1]) for seed in range(400))
    assert 160 < forward < 240  # 200 expected, standard deviation 10


def test_large_trees_get_no_collider():
    for seed in range(20):
        tree = nx.to_numpy_array(nx.random_labeled_tree(40, seed=seed)).astype(np.int8)
        found, how = extension(tree, jax.random.key(seed))
        assert how == "consistent extension" and found.sum(axis=0).max() == 1
        np.testing.assert_array_equal(found | found.T, tree)


def test_a_directed_edge_forces_the_next():
    pdag = np.array([[0, 1, 0], [0, 0, 1], [0, 1, 0]])
    for seed in range(20):
        np.testing.assert_array_equal(extension(pdag, jax.random.key(seed))[0], [[0, 1, 0], [0, 0, 1], [0, 0, 0]])


def test_without_an_extension_no_cycle_is_added():
    square = np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]])
    found = set()
    for seed in range(30):
        dag, how = extension(square, jax.random.key(seed))
        assert how == "random order" and is_acyclic(dag)
        np.testing.assert_array_equal(dag | dag.T, square)
        found.add(dag.tobytes())
    assert len(found) > 3


def test_without_an_extension_the_directed_edges_lead():
    # 0 -> 1 into the square 0 - 2 - 1 - 3 - 0: whatever the order, 0 stays before 1.
    pdag = np.array([[0, 1, 1, 1], [0, 0, 1, 1], [1, 1, 0, 0], [1, 1, 0, 0]])
    pdag[0, 2] = pdag[1, 3] = 0  # 2 -> 0 and 3 -> 1
    pdag[0, 3], pdag[3, 0] = 1, 0  # 0 -> 3
    for seed in range(10):
        dag, _ = extension(pdag, jax.random.key(seed))
        assert is_acyclic(dag) and dag[directed(pdag)].all()


def test_a_directed_cycle_is_kept_and_the_rest_directed():
    pdag = np.zeros((5, 5), np.int8)
    for i, j in [(0, 1), (1, 2), (2, 0), (0, 3), (3, 0), (3, 4), (4, 3)]:
        pdag[i, j] = 1
    dag, how = extension(pdag, jax.random.key(0))
    assert how == "random order"
    assert dag[0, 1] and dag[1, 2] and dag[2, 0]
    assert not undirected(dag).any()
    np.testing.assert_array_equal(dag | dag.T, pdag | pdag.T)


def pag(*edges):
    """Marks from (i, mark at i, mark at j, j)."""
    marks = np.zeros((4, 4), np.int8)
    for i, at_i, at_j, j in edges:
        marks[j, i], marks[i, j] = at_i, at_j
    return marks


@pytest.mark.parametrize("at_0, at_1", [(TAIL, ARROW), (CIRCLE, ARROW), (TAIL, CIRCLE)])
def test_a_pag_is_read_liberally(at_0, at_1):
    for edge, expected in (((0, at_0, at_1, 1), (0, 1)), ((1, at_0, at_1, 0), (1, 0))):
        graph, _ = from_pag(pag(edge), jax.random.key(0))
        assert graph.sum() == 1 and graph[expected] == 1


@pytest.mark.parametrize("mark", [CIRCLE, TAIL])
def test_what_leans_neither_way_is_oriented_by_the_key(mark):
    first = [from_pag(pag((0, mark, mark, 1)), jax.random.key(seed))[0] for seed in range(40)]
    assert all(graph.sum() == 1 for graph in first) and 8 <= sum(int(graph[0, 1]) for graph in first) <= 32


def test_two_arrowheads_are_no_edge_and_directed_edges_lead():
    assert not from_pag(pag((0, ARROW, ARROW, 1)), jax.random.key(0))[0].any()
    # 0 -> 1 o-o 2 with 0 and 2 apart: the other direction would make a collider.
    marks = pag((0, TAIL, ARROW, 1), (1, CIRCLE, CIRCLE, 2))
    for seed in range(10):
        graph, how = from_pag(marks, jax.random.key(seed))
        assert how == "consistent extension" and graph[0, 1] and graph[1, 2] and graph.sum() == 2


def test_is_acyclic():
    assert is_acyclic(np.zeros((0, 0))) and is_acyclic(np.triu(np.ones((4, 4)), 1))
    assert not is_acyclic(np.array([[0, 1], [1, 0]]))
    assert not is_acyclic(np.array([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 1, 0, 0]]))
