"""NOTEARS, linear and with networks: right where noise variances are equal, and its trap on standardised columns."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from arena.dataset import Dataset
from arena.errors import MethodError
from methods import notears_mlp
from methods.fit import fit
from methods.notears import NOTEARS, acyclicity, linear_weights
from methods.notears_mlp import NOTEARSMLP
from methods.orient import is_acyclic

KEY = jax.random.key(0)


def equal_noise(seed, d=8, n=1000):
    rng = np.random.default_rng(seed)
    order = rng.permutation(d)
    adjacency = np.zeros((d, d), np.int8)
    adjacency[np.ix_(order, order)] = np.triu(rng.random((d, d)) < 2 / (d - 1), k=1)
    weights = adjacency * rng.uniform(0.8, 1.5, (d, d)) * rng.choice([-1, 1], (d, d))
    values = np.zeros((n, d))
    for j in order:
        values[:, j] = values @ weights[:, j] + rng.normal(size=n)
    return Dataset(tuple(f"v{j}" for j in range(d)), values - values.mean(axis=0), adjacency=adjacency), weights


@pytest.mark.parametrize("seed", range(4))
def test_weights_are_found_where_noises_are_equal(seed):
    data, weights = equal_noise(seed)
    found, _, left = linear_weights(data.values, lambda1=0.0)
    assert left < 1e-7
    np.testing.assert_array_equal(abs(found) > 0.3, data.truth == 1)
    np.testing.assert_allclose(found * data.truth, weights, atol=0.2)


def test_standardising_turns_edges_and_info_says_so():
    pairs = [equal_noise(seed)[0] for seed in range(6)]
    wrong = {"as it is": 0, "standardised": 0}
    for data in pairs:
        outcome = fit(NOTEARS(), data, KEY)
        assert outcome.estimate is not None and "standardised" in outcome.estimate.info["remark"]
        assert is_acyclic(outcome.estimate.adjacency)
        wrong["standardised"] += int((outcome.estimate.adjacency != data.truth).sum())
        wrong["as it is"] += int((NOTEARS().fit(data, KEY).adjacency != data.truth).sum())
    assert wrong["standardised"] > 3 * wrong["as it is"], wrong


def test_gradient_of_acyclicity():
    rng = np.random.default_rng(0)
    weights, step = rng.normal(size=(4, 4)), rng.normal(size=(4, 4))
    along = (acyclicity(weights + 1e-6 * step)[0] - acyclicity(weights - 1e-6 * step)[0]) / 2e-6
    assert along == pytest.approx(np.vdot(acyclicity(weights)[1], step), rel=1e-6)
    assert acyclicity(np.triu(weights, k=1))[0] == pytest.approx(0.0, abs=1e-12)
    inner = rng.normal(size=(4, 4, 3))
    h, slope = notears_mlp._acyclicity(inner)
    step = rng.normal(size=inner.shape)
    along = (notears_mlp._acyclicity(inner + 1e-6 * step)[0] - notears_mlp._acyclicity(inner - 1e-6 * step)[0]) / 2e-6
    assert along == pytest.approx(np.vdot(slope, step), rel=1e-6)
    assert h == pytest.approx(acyclicity(np.sqrt((inner**2).sum(axis=2)))[0])


def test_the_networks_see_what_is_no_straight_line():
    rng = np.random.default_rng(1)
    cause = rng.normal(size=500)
    effect = 2 * np.cos(1.5 * cause + 0.4) + rng.normal(size=500)
    data = Dataset(("effect", "cause"), np.stack([effect, cause], axis=1) - [effect.mean(), cause.mean()])
    assert not NOTEARS().fit(data, KEY).adjacency.any(), "the two are hardly correlated"
    np.testing.assert_array_equal(NOTEARSMLP().fit(data, KEY).adjacency, [[0, 0], [1, 0]])


def test_double_precision_stays_inside(collider):
    fit(NOTEARSMLP(max_rounds=1), collider, KEY)
    assert jnp.asarray(np.ones(2)).dtype == jnp.float32


def test_equal_to_gcastle():
    castle = pytest.importorskip("castle.algorithms", reason="gcastle is no dependency; install it to compare")
    for seed in range(3):
        data, _ = equal_noise(seed)
        theirs = castle.Notears(lambda1=0.1, w_threshold=0.3)
        theirs.learn(data.values)
        np.testing.assert_array_equal(NOTEARS().fit(data, KEY).adjacency, np.asarray(theirs.causal_matrix))


@pytest.mark.parametrize("method", [NOTEARS, NOTEARSMLP])
@pytest.mark.parametrize("settings", [{"lambda1": -0.1}, {"threshold": -1.0}, {"max_rounds": 0}])
def test_settings_out_of_range(method, settings):
    with pytest.raises(MethodError, match=f"{method.name}: {next(iter(settings))} is"):
        method(**settings)
