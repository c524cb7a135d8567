"""Metrics against independent references, and the conventions of the published tables."""

import warnings
from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.metrics import average_precision_score, precision_recall_fscore_support, roc_auc_score

from eval.jax_metrics import graph_metrics, ranking_metrics
from eval.metrics import COUNTS, METRICS, score


def reachable(graph):
    """By breadth-first search from every node."""
    found = set()
    for start in range(len(graph)):
        seen, front = set(), [start]
        while front:
            front = [j for i in front for j in np.flatnonzero(graph[i]) if j not in seen]
            seen |= set(front)
        found |= {(start, j) for j in seen if j != start}
    return found


def random_pairs(count, d, rng):
    """DAG truths in a random column order, and predictions with 2-cycles, longer cycles and self-loops."""
    density = rng.random((2, count, 1, 1))
    truth = np.triu(rng.random((count, d, d)) < density[0], 1)
    order = np.argsort(rng.random((count, d)), axis=1)
    truth = np.stack([graph[np.ix_(p, p)] for graph, p in zip(truth, order, strict=True)])
    prediction = rng.random((count, d, d)) < density[1]
    # Half of the predictions resemble the truth, so that every kind of agreement occurs.
    near = rng.random((count, 1, 1)) < 0.5
    flips = rng.random((count, d, d)) < 0.1
    return truth.astype(np.int8), np.where(near, truth ^ flips, prediction).astype(np.int8)


@pytest.mark.parametrize("d, count", [(2, 200), (3, 200), (5, 300), (8, 200), (20, 100)])
def test_equals_independent_references(d, count):
    rng = np.random.default_rng(d)
    truth, prediction = random_pairs(count, d, rng)
    # Coarse scores tie often, within and between edges and non-edges.
    scores = np.round(rng.normal(size=(count, d, d)) + truth, 1)
    got = score(truth, prediction, scores)
    assert set(got) == {*COUNTS, *METRICS}
    off = ~np.eye(d, dtype=bool)
    for b in range(count):
        t, p, s = truth[b], prediction[b], scores[b]
        want = precision_recall_fscore_support(t[off], p[off], average="binary", zero_division=0)
        np.testing.assert_allclose([got[k][b] for k in ("precision", "recall", "f1")], want[:3], rtol=1e-14)
        pairs = list(combinations(range(d), 2))
        shd = sum((t[i, j], t[j, i]) != (p[i, j], p[j, i]) for i, j in pairs)
        assert got["shd"][b] == shd
        np.testing.assert_allclose(got["nshd"][b], shd / (d * (d - 1)), rtol=1e-15)
        assert got["reachability_distance"][b] == len(reachable(t) ^ reachable(p))
        edges = {tuple(e) for e in np.argwhere(t)}
        guess = {(i, j) for i, j in np.argwhere(p) if i != j}
        assert got["tp"][b] == len(edges & guess)
        assert got["fp"][b] == len(guess - edges)
        assert got["fn"][b] == len(edges - guess)
        assert got["reversed"][b] == sum(e not in guess and e[::-1] in guess for e in edges)
        if 0 < t[off].sum() < off.sum():
            np.testing.assert_allclose(got["auroc"][b], roc_auc_score(t[off], s[off]), rtol=1e-12)
        else:
            assert np.isnan(got["auroc"][b])
        if t[off].any():
            ap = average_precision_score(t[off], s[off])
            np.testing.assert_allclose(got["average_precision"][b], ap, rtol=1e-12)
        else:
            assert np.isnan(got["average_precision"][b])


def test_constant_and_infinite_scores_are_ranked_as_by_scikit_learn():
    truth = np.triu(np.ones((4, 4), np.int8), 1)
    off = ~np.eye(4, dtype=bool)
    got = score(truth, truth, np.full((4, 4), 0.3))
    assert got["auroc"] == 0.5
    assert got["average_precision"] == average_precision_score(truth[off], np.full(12, 0.3)) == 0.5
    ends = np.where(truth, np.inf, -np.inf)
    assert score(truth, truth, ends)["auroc"] == 1.0
    ends[0, 1] = np.nan
    assert np.isnan(score(truth, truth, ends)["auroc"])


def test_the_diagonal_of_scores_never_counts():
    rng = np.random.default_rng(0)
    truth, prediction = random_pairs(20, 6, rng)
    scores = rng.normal(size=(20, 6, 6))
    loud = scores + 1e6 * np.eye(6)
    for name, value in score(truth, prediction, scores).items():
        np.testing.assert_array_equal(value, score(truth, prediction, loud)[name])


def test_without_scores_and_native_their_metrics_are_missing():
    truth = np.triu(np.ones((3, 3), np.int8), 1)
    got = score(truth, truth)
    assert np.isnan([got["auroc"], got["average_precision"], got["cpdag_shd"]]).all()
    assert got["f1"] == 1 and got["f1"].shape == ()


def one(truth, prediction):
    return {name: value.item() for name, value in score(np.asarray(truth), np.asarray(prediction)).items()}


def test_conventions_of_the_published_tables():
    star = np.zeros((4, 4), int)
    star[0, 1:] = 1
    empty = np.zeros((4, 4), int)
    nothing = one(star, empty)  # the shape of the Auto MPG rows of Table 17
    assert (nothing["precision"], nothing["recall"], nothing["f1"]) == (0, 0, 0)
    assert (nothing["shd"], nothing["nshd"], nothing["reachability_distance"]) == (3, 0.25, 3)
    assert one(empty, empty)["f1"] == 0

    reversal = star.copy()
    reversal[0, 1], reversal[1, 0] = 0, 1
    assert one(star, reversal)["shd"] == 1 and one(star, reversal)["reversed"] == 1
    # 1 -> 0 brings 1 -> 2 and 1 -> 3 with it, 0 -> 1 is lost.
    assert one(star, reversal)["reachability_distance"] == 4

    over_edge, over_gap = star.copy(), star.copy()
    over_edge[1, 0] = 1
    over_gap[1, 2] = over_gap[2, 1] = 1
    assert one(star, over_edge)["shd"] == 1 and one(star, over_edge)["precision"] == 3 / 4
    assert one(star, over_gap)["shd"] == 1 and one(star, over_gap)["precision"] == 3 / 5

    full = 1 - np.eye(4, dtype=int)
    assert one(full, empty)["nshd"] == 0.5  # the largest there is


def test_a_batch_a_single_graph_and_a_jitted_vmap_agree():
    rng = np.random.default_rng(3)
    truth, prediction = random_pairs(12, 5, rng)
    scores = np.round(rng.normal(size=(12, 5, 5)) + truth, 1).astype(np.float32)
    whole = score(*(array.reshape(3, 4, 5, 5) for array in (truth, prediction, scores)))
    inside = jax.jit(jax.vmap(graph_metrics))(jnp.asarray(truth != 0), jnp.asarray(prediction != 0))
    inside |= jax.jit(jax.vmap(ranking_metrics))(jnp.asarray(truth != 0), jnp.asarray(scores))
    assert set(inside) == {*COUNTS, *METRICS} - {"cpdag_shd"}
    for b in range(12):
        single = score(truth[b], prediction[b], scores[b])
        for name in inside:
            assert whole[name].shape == (3, 4)
            np.testing.assert_equal(single[name], whole[name].reshape(-1)[b])
            np.testing.assert_allclose(inside[name][b], single[name], rtol=1e-6)


def test_a_batch_of_many_parts_is_scored_as_one_by_one(monkeypatch):
    truth, prediction = random_pairs(50, 70, np.random.default_rng(4))  # rows of more than one word of bits
    scores = np.random.default_rng(5).normal(size=truth.shape)
    singles = [score(*graphs) for graphs in zip(truth, prediction, scores, strict=True)]
    monkeypatch.setattr("eval.metrics._AT_ONCE", 7 * 70 * 70)
    whole = score(truth, prediction, scores)
    for name, values in whole.items():
        np.testing.assert_array_equal(values, [single[name] for single in singles])
    wanted = [len(reachable(t) ^ reachable(p)) for t, p in zip(truth[:3], prediction[:3], strict=True)]
    assert list(whole["reachability_distance"][:3]) == wanted


def test_one_variable_and_an_empty_batch():
    assert one([[0]], [[0]])["nshd"] == 0
    assert score(np.zeros((0, 3, 3)), np.zeros((0, 3, 3)), np.zeros((0, 3, 3)))["auroc"].shape == (0,)


def test_wrong_shapes_say_what_is_expected():
    with pytest.raises(ValueError, match=r"prediction has shape \(3, 4\), truth \(3, 3\)"):
        score(np.zeros((3, 3)), np.zeros((3, 4)))
    with pytest.raises(ValueError, match=r"\[\.\.\., d, d\]"):
        score(np.zeros((3, 4)), np.zeros((3, 4)))


def test_no_warning_escapes():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        score(np.zeros((1, 3, 3)), np.zeros((1, 3, 3)), np.zeros((1, 3, 3)))
