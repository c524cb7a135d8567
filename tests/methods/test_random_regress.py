import jax
import numpy as np

from arena.dataset import Dataset
from methods.fit import fit
from methods.random_regress import RandomRegress


def answer(dataset: Dataset, seed: int):
    estimate = fit(RandomRegress(), dataset, jax.random.key(seed)).estimate
    assert estimate is not None and estimate.scores is not None
    return estimate


def test_key_decides_the_order(network):
    orders = {tuple(answer(network, seed).info["order"]) for seed in range(10)}
    assert len(orders) > 5


def test_edges_follow_the_order_and_carry_scores(network):
    estimate = answer(network, 1)
    place = {name: position for position, name in enumerate(estimate.info["order"])}
    for i, j in np.argwhere(estimate.adjacency):
        assert place[network.names[i]] < place[network.names[j]]
    np.testing.assert_array_equal(estimate.scores > 0, estimate.adjacency == 1)


def test_support_is_sparse_on_independent_columns():
    independent = Dataset(tuple("abcdefgh"), np.random.default_rng(0).normal(size=(1000, 8)))
    assert answer(independent, 0).adjacency.sum() <= 3


def test_a_true_order_gives_the_true_parents(network):
    seed = next(s for s in range(500) if _causal(answer(network, s).info["order"]))
    np.testing.assert_array_equal(answer(network, seed).adjacency, network.truth)


def _causal(order: list[str]) -> bool:
    return all(order.index(i) < order.index(j) for i, j in ["ac", "bc", "cd", "df", "ef"])
