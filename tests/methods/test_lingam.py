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
