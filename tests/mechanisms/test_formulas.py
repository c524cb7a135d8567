"""Each family's equation against an independent numpy version, on random parameters."""

import jax
import jax.numpy as jnp
import numpy as np

from mechanisms import fastmath, registry
from mechanisms.priors import signed_weights
from mechanisms.rff_gp import RffGp


def component(kind, **parameters):
    cls = registry.families(kind)[parameters["family"]]
    parents = parameters.pop("parents", [])
    return cls.from_parameters(cls.parameters().model_validate(parameters), parents)


RNG = np.random.default_rng(11)
X = RNG.normal(size=(200, 3))
U = (np.arange(10_000) + 0.5) / 10_000


def run(module):
    return np.asarray(jax.vmap(module)(jnp.asarray(X, jnp.float32)))


def test_linear_additive():
    w = [0.5, -1.5, 2.0]
    module = component("mechanism", family="linear_additive", weight=w, bias=0.25, parents=list("abc"))
    np.testing.assert_allclose(run(module), X @ w + 0.25, rtol=1e-4, atol=1e-5)


def test_piecewise_threshold():
    p = {name: RNG.normal(size=3).tolist() for name in ("weight", "cutoff", "low_slope", "high_slope", "offset")}
    module = component("mechanism", family="piecewise_threshold", parents=list("abc"), **p)
    expected = np.zeros(len(X))
    for k in range(3):
        for i, x in enumerate(X[:, k]):
            low = x <= p["cutoff"][k]
            response = p["low_slope"][k] * x if low else p["high_slope"][k] * x + p["offset"][k]
            expected[i] += p["weight"][k] * response
    np.testing.assert_allclose(run(module), expected, rtol=1e-4, atol=1e-5)


def test_random_neural():
    w, c, v = RNG.normal(size=(4, 3)), RNG.normal(size=4), RNG.normal(size=4)
    module = component("mechanism", family="random_neural", parents=list("abc"), input=w.tolist(),
                       hidden_bias=c.tolist(), output=v.tolist(), bias=-0.5)  # fmt: skip
    np.testing.assert_allclose(run(module), np.tanh(X @ w.T + c) @ v - 0.5, rtol=1e-4, atol=1e-5)


def test_rff_is_a_draw_from_the_gaussian_process():
    """Over many seeds, the covariance between points is the squared-exponential kernel's."""
    points = np.array([[0.0, 0.0], [0.4, 0.0], [0.0, 1.2], [2.0, 2.0]])
    values = []
    for seed in range(1500):
        parameters = {
            "family": "rff_gp",
            "n_features": 64,
            "length_scale": 0.8,
            "output_scale": 1.5,
            "seed": seed,
        }
        arrays = RffGp.arrays(RffGp.parameters().model_validate(parameters), ["a", "b"])
        values.append(np.cos(points @ arrays["frequency"].T + arrays["phase"]) @ arrays["amplitude"])
    squared = ((points[:, None] - points[None]) ** 2).sum(-1)
    kernel = 1.5**2 * np.exp(-squared / (2 * 0.8**2))
    np.testing.assert_allclose(np.cov(np.array(values).T), kernel, atol=0.3)


def test_rff_evaluates_its_features():
    cls = registry.families("mechanism")["rff_gp"]
    parameters = {"family": "rff_gp", "n_features": 70, "length_scale": 0.5, "output_scale": 1.0, "seed": 3}
    arrays = cls.arrays(cls.parameters().model_validate(parameters), list("abc"))
    expected = np.cos(X @ arrays["frequency"].T + arrays["phase"]) @ arrays["amplitude"]
    np.testing.assert_allclose(run(cls(**arrays)), expected, atol=5e-5)


def test_fast_cosine_and_its_gradient():
    x = jnp.linspace(-60.0, 60.0, 20_001)
    assert np.abs(np.asarray(fastmath.cos(x)) - np.cos(np.asarray(x, np.float64))).max() < 1e-5
    slope = jax.vmap(jax.grad(fastmath.cos))(x)
    assert np.abs(np.asarray(slope) + np.sin(np.asarray(x, np.float64))).max() < 2e-5


def test_weights_stay_in_their_range():
    weights = np.array([signed_weights(np.random.default_rng(i), 4) for i in range(500)]) / (0.8 / 2.0)
    assert (np.abs(weights) >= 0.5).all() and (np.abs(weights) <= 1.5).all()
    assert 0.45 < (weights > 0).mean() < 0.55
