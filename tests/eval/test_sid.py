"""The exact SID, and how it differs from what the paper's tables print."""

import numpy as np
import pytest

from eval.metrics import score
from eval.sid import is_acyclic, sid


def fewest_wrong_effects(truth, prediction):
    """SID from its definition: parent adjustment in the prediction, judged by d-separation in the truth."""
    import networkx as nx

    d = len(truth)
    graph = nx.from_numpy_array(truth, create_using=nx.DiGraph)
    wrong = 0
    for i in range(d):
        parents = set(np.flatnonzero(prediction[:, i]))
        for j in set(range(d)) - {i}:
            below = nx.descendants(graph, i)
            if j in parents:
                wrong += j in below  # the prediction says: no effect
                continue
            causal = {v for v in below if v == j or j in nx.descendants(graph, v)}
            forbidden = set().union(*({v} | nx.descendants(graph, v) for v in causal)) if causal else set()
            backdoor = graph.copy()
            backdoor.remove_edges_from([(i, v) for v in causal if graph.has_edge(i, v)])
            separated = nx.is_d_separator(backdoor, {i}, {j}, parents)
            wrong += bool(parents & forbidden) or not separated
    return wrong


@pytest.mark.parametrize("d", [2, 3, 5, 7])
def test_equals_the_definition(d):
    rng = np.random.default_rng(d)
    for _ in range(60):
        graphs = []
        for _ in range(2):
            order = rng.permutation(d)
            graph = np.triu(rng.random((d, d)) < rng.random(), 1)[np.ix_(order, order)]
            graphs.append(graph.astype(np.int8))
        assert sid(*graphs) == fewest_wrong_effects(*graphs)


def test_golden_example():
    """Peters and Buehlmann (2015), Figure 1: both guesses are one edge away, but not equally useful."""
    x1, x2, y1, y2, y3 = range(5)
    truth = np.zeros((5, 5), np.int8)
    truth[x1, x2] = 1
    truth[x1, [y1, y2, y3]] = truth[x2, [y1, y2, y3]] = 1
    more = truth.copy()
    more[y1, y2] = 1
    turned = truth.copy()
    turned[x1, x2], turned[x2, x1] = 0, 1
    assert [score(truth, guess)["shd"].item() for guess in (more, turned)] == [1, 1]
    assert [sid(truth, guess) for guess in (more, turned)] == [0, 8]
    assert [score(truth, guess)["reachability_distance"].item() for guess in (more, turned)] == [1, 2]


def test_cyclic_predictions_have_none():
    truth = np.triu(np.ones((3, 3), np.int8), 1)
    two_cycle, long_cycle = truth.copy(), np.roll(np.eye(3, dtype=np.int8), 1, axis=1)
    two_cycle[1, 0] = 1
    assert np.isnan(sid(truth, two_cycle)) and np.isnan(sid(truth, long_cycle))
    assert sid(truth, truth + np.eye(3, dtype=np.int8)) == 0  # self-loops are ignored
    assert is_acyclic(truth) and not is_acyclic(long_cycle)


def test_direction_convention():
    """A collider read the other way round is a fork, which gets other effects wrong."""
    collider = np.array([[0, 1, 0], [0, 0, 0], [0, 1, 0]])
    empty = np.zeros((3, 3))
    assert sid(collider, empty) == 2
    assert sid(collider.T, empty) == 4
