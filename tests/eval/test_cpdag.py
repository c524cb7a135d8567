"""Essential graphs against the union of all members of the class, found by enumeration."""

from functools import cache
from itertools import combinations, product

import networkx as nx
import numpy as np
import pytest

from eval.cpdag import essential_graph
from eval.metrics import cpdag_shd, score


@cache
def dags(d):
    pairs = list(combinations(range(d), 2))
    found = []
    for marks in product(range(3), repeat=len(pairs)):
        graph = np.zeros((d, d), np.int8)
        for (i, j), mark in zip(pairs, marks, strict=True):
            if mark:
                graph[(i, j) if mark == 1 else (j, i)] = 1
        if nx.is_directed_acyclic_graph(nx.from_numpy_array(graph, create_using=nx.DiGraph)):
            found.append(graph)
    return found


def structure(graph):
    """Skeleton and v-structures."""
    d = len(graph)
    joined = graph | graph.T
    colliders = [
        (i, j, k)
        for j in range(d)
        for i, k in combinations(range(d), 2)
        if graph[i, j] and graph[k, j] and not joined[i, k]
    ]
    return joined.tobytes(), tuple(colliders)


def signature(graph, family):
    """Equal for two DAGs that no experiment of the family tells apart (Hauser and Buehlmann, Theorem 10)."""
    parts = []
    for targets in family:
        cut = graph.copy()
        cut[:, list(targets)] = 0
        parts.append(structure(cut))
    return tuple(parts)


FAMILIES = {
    2: [((),), ((), (0,)), ((), (0, 1))],
    3: [((),), ((), (0,)), ((), (1,), (2,)), ((), (0, 1)), ((), (0, 1, 2))],
    4: [((),), ((), (0,)), ((), (3,)), ((), (1, 2)), ((), (0, 1), (1, 2)), ((), (0,), (2,), (3,))],
}


@pytest.mark.parametrize("d, family", [(d, family) for d, all in FAMILIES.items() for family in all])
def test_equals_the_union_of_the_class(d, family):
    unions = {}
    for graph in dags(d):
        key = signature(graph, family)
        unions[key] = unions.get(key, 0) | graph
    targets = np.zeros((len(family), d), bool)
    for row, chosen in zip(targets, family, strict=True):
        row[list(chosen)] = True
    for graph in dags(d):
        np.testing.assert_array_equal(essential_graph(graph, targets), unions[signature(graph, family)])


def test_the_number_of_classes_is_the_known_one():
    # Gillispie and Perlman (2002): 2, 11 and 185 Markov equivalence classes on 2, 3 and 4 nodes.
    for d, count in ((2, 2), (3, 11), (4, 185)):
        assert len({essential_graph(graph).tobytes() for graph in dags(d)}) == count


def test_large_graphs_keep_skeleton_and_orientation():
    rng = np.random.default_rng(0)
    for d in (10, 60):
        order = rng.permutation(d)
        dag = np.triu(rng.random((d, d)) < 0.15, 1)[np.ix_(order, order)]
        essential = essential_graph(dag)
        np.testing.assert_array_equal(essential | essential.T, dag | dag.T)
        assert (essential >= dag).all()


def test_distance_between_classes():
    chain = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    undirected = chain | chain.T
    assert cpdag_shd(chain, undirected) == 0
    assert cpdag_shd(chain, chain) == 2
    assert cpdag_shd(chain, chain, targets=[[False, True, False]]) == 0
    # Setting the first variable orients the first edge, and that the second.
    assert cpdag_shd(chain, chain, targets=[[False] * 3, [True, False, False]]) == 0
    collider = np.array([[0, 1, 0], [0, 0, 0], [0, 1, 0]])
    assert cpdag_shd(collider, collider) == 0
    assert cpdag_shd(collider, undirected) == 2
    batch = score(np.stack([chain, collider]), np.stack([chain, chain]), native=np.stack([undirected, undirected]))
    assert batch["cpdag_shd"].tolist() == [0, 2]
