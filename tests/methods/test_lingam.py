import jax
import numpy as np

from arena.dataset import Dataset
from methods.fit import fit
from methods.lingam import LiNGAM


def test_chain_is_found_against_the_column_order():
    rng = np.random.default_rng(0)
    a, noise_b, noise_c = rng.uniform(-1, 1, size=(3, 2000))
    b = 2 * a + noise_b
    c = -b + noise_c
    estimate = fit(LiNGAM(), Dataset(("c", "b", "a"), np.stack([c, b, a], 1)), jax.random.key(0)).estimate
    assert estimate is not None and estimate.scores is not None
    np.testing.assert_array_equal(estimate.adjacency, [[0, 0, 0], [1, 0, 0], [0, 1, 0]])
    assert estimate.info["order"] == ["a", "b", "c"]
    assert (estimate.scores >= 0).all() and estimate.scores[1, 0] > 0.5, "the weight -1 must not rank low"


def linear_uniform(seed: int, d: int = 10, n: int = 1000) -> Dataset:
    """A linear SCM with uniform noise on a random DAG with shuffled columns; weights from 0.8 to 1.5 in size."""
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.random((d, d)) < 0.25, k=1) * rng.uniform(0.8, 1.5, (d, d)) * rng.choice((-1, 1), (d, d))
    x = np.zeros((n, d))
    for j in range(d):
        x[:, j] = x @ weights[:, j] + rng.uniform(-1, 1, n)
    order = rng.permutation(d)
    names = tuple(f"v{j}" for j in order)
    return Dataset(names, x[:, order], adjacency=(weights != 0).astype(np.int8)[np.ix_(order, order)])


def test_linear_non_gaussian_data_is_its_own():
    scores = []
    for seed in range(10):
        data = linear_uniform(seed)
        estimate = fit(LiNGAM(), data, jax.random.key(seed)).estimate
        assert estimate is not None
        hits = (estimate.adjacency & data.truth).sum()
        scores.append(2 * hits / (estimate.adjacency.sum() + data.truth.sum()))
    assert np.mean(scores) >= 0.9, scores
