"""Edges by the mechanism, noise, depth and sign of what they are, counted by hand in a stored toy run."""

import numpy as np
import pytest
from analysis_rows import edges, line, store_run

from arena.errors import RunError
from eval.analysis.edges import ROOT, child_counts, edge_counts
from eval.analysis.errors import errors
from eval.analysis.interactions import interactions
from eval.metrics import score

# One: 0 -> 2 <- 1, 2 -> 3. Two: 0 -> 1 -> 2.
ONE, TWO = edges(4, (0, 2), (1, 2), (2, 3)), edges(3, (0, 1), (1, 2))


def node(mechanism, noise, depth):
    return {"mechanism": mechanism, "noise": noise, "root": None if mechanism else "gaussian", "depth": depth}


def about(nodes, signs):
    d = len(nodes)
    sign = [[signs.get((i, j)) for j in range(d)] for i in range(d)]
    factors = {"mechanisms": sorted({n["mechanism"] for n in nodes} - {None})}
    return {"names": [f"x{i}" for i in range(d)], "factors": factors, "nodes": nodes, "sign": sign}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    root = node(None, None, 0)
    scenarios = {
        "one": (about([root, root, node("linear_additive", "gaussian", 1), node("random_neural", "gaussian", 2)],
                      {(0, 2): 1, (1, 2): -1}), ONE),
        "two": (about([root, node("random_neural", "laplace", 1), node("linear_additive", "gaussian", 2)],
                      {(1, 2): 0}), TWO),
    }  # fmt: skip
    answers = {
        # one hit, one missed, one turned round; 0 -> 1 is invented, into a root
        ("one", "a", 0): edges(4, (0, 2), (3, 2), (0, 1)),
        ("one", "a", 1): ONE,
        ("two", "a", 0): edges(3, (0, 1), (1, 0), (0, 2)),  # a two-cycle over a true edge; 0 -> 2 is invented
        ("one", "b", 0): edges(4),
        ("two", "b", 0): TWO,
        ("one", "floor", 0): edges(4),
    }
    return store_run(tmp_path_factory.mktemp("edges") / "run", scenarios, answers)


def test_an_edge_is_hit_turned_or_missed():
    counts = child_counts(ONE, edges(4, (0, 2), (3, 2), (0, 1)))
    assert {name: values.tolist() for name, values in counts.items()} == {
        "true": [0, 0, 2, 1],
        "hit": [0, 0, 1, 0],
        "reversed": [0, 0, 0, 1],
        "missed": [0, 0, 1, 0],
        "invented": [0, 1, 0, 0],
        "fp": [0, 1, 1, 0],
    }


def test_counts_agree_with_the_metrics_on_random_graphs():
    rng = np.random.default_rng(0)
    for _ in range(20):
        truth = np.triu(rng.random((7, 7)) < 0.4, 1)
        guess = (rng.random((7, 7)) < 0.3) & ~np.eye(7, dtype=bool)
        ours = {name: int(values.sum()) for name, values in child_counts(truth, guess).items()}
        metrics = score(truth, guess)
        assert (ours["hit"], ours["fp"]) == (metrics["tp"], metrics["fp"])
        assert ours["reversed"] + ours["missed"] == metrics["fn"]
        assert ours["true"] == ours["hit"] + ours["reversed"] + ours["missed"] == truth.sum()


def test_cards_by_hand(run):
    card = errors(run)
    shown = ["true", "hit", "reversed", "missed", "invented"]
    a = lambda factor, level: line(card, method="a", factor=factor, level=level)[shown].tolist()  # noqa: E731
    # two tables of `one`, one of `two`
    assert a("mechanism", "linear_additive") == [5, 3, 0, 2, 1]
    assert a("mechanism", "neural_random") == [3, 2, 1, 0, 0]  # by the tag of random_neural
    assert a("mechanism", ROOT) == [0, 0, 0, 0, 1]
    assert a("noise", "laplace") == [1, 1, 0, 0, 0]
    assert a("depth", "0") == [0, 0, 0, 0, 1] and a("depth", "2") == [3, 1, 1, 1, 1]
    for factor in ("mechanism", "noise", "depth"):
        part = card[(card["factor"] == factor) & (card["method"] == "a")]
        assert part["true"].sum() == 8 and part["invented"].sum() == 2  # nothing is lost
    positive = line(card, method="a", factor="sign", level="positive")
    assert positive[shown[:4]].tolist() == [2, 2, 0, 0] and positive["recall"] == 1.0
    assert line(card, method="a", factor="sign", level="negative")["recall"] == 0.5
    assert line(card, method="a", factor="sign", level="both")["missed"] == 1
    assert card.loc[card["factor"] == "sign", "invented"].isna().all()
    assert np.isnan(line(card, method="a", factor="depth", level="0")["recall"])


def test_the_f1_of_a_category_is_that_of_edges_into_its_children(run):
    counts = edge_counts(run)
    one = line(counts, scenario="one", method="a", factor="mechanism", level="linear_additive")
    # replicate 0: 1 hit, 1 false positive (3 -> 2), 1 not found: F1 = .5; replicate 1: 1
    assert one["f1"] == pytest.approx(0.75) and one["tables"] == 2
    assert line(counts, scenario="one", method="a", factor="mechanism", level="neural_random")["f1"] == 0.5
    assert line(counts, scenario="two", method="a", factor="mechanism", level="neural_random")["f1"] == 1.0


def test_interactions_of_edges_average_over_graphs_or_pool(run):
    macro = interactions(run, factor="mechanism")
    assert set(macro["level"]) == {"linear_additive", "neural_random"} and set(macro["method"]) == {"a", "b"}
    table = macro.pivot(index="method", columns="level", values="f1")
    # a: linear (.75 + 0) / 2, neural (.5 + 1) / 2; b: (0 + 1) / 2 each
    np.testing.assert_allclose(table, [[0.375, 0.75], [0.5, 0.5]])
    np.testing.assert_allclose(macro["interaction"].abs(), 0.375 / 4)
    assert line(macro, method="a", level="neural_random")["interaction"] > 0 and (macro["n"] == 2).all()
    pooled = interactions(run, factor="mechanism", pooled=True)
    # a, linear: 3 hits of 5, false positives 3 -> 2 and 0 -> 2; neural: 2 of 3
    assert line(pooled, method="a", level="linear_additive")["f1"] == pytest.approx(6 / (6 + 2 + 2))
    assert line(pooled, method="a", level="neural_random")["f1"] == pytest.approx(4 / (4 + 1))


def test_a_run_has_the_interactions_of_its_edges_by_default(run):
    assert set(interactions(run)["factor"]) == {"mechanism", "noise"}


def test_edges_need_the_graphs(run):
    with pytest.raises(RunError, match="give the run"):
        errors(run.rows())


def test_unknown_nodes_are_left_out(tmp_path):
    blank = {"mechanism": None, "noise": None, "root": None}
    nodes = [{**blank, "depth": 0}, {**blank, "depth": 1}]
    known = {"names": ["x", "y"], "factors": {}, "nodes": nodes, "sign": [[None, None], [None, None]]}
    truth = edges(2, (0, 1))
    real = store_run(tmp_path / "run", {"real": (known, truth)}, {("real", "a", 0): truth})
    assert set(errors(real)["factor"]) == {"depth"}
    with pytest.raises(RunError, match="which mechanism"):
        interactions(real, factor="mechanism")
