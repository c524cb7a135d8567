"""DAS on additive nonlinear data, and its parts against formulas written out."""

import jax
import numpy as np
import pytest

from arena.dataset import Dataset
from arena.errors import MethodError
from methods.das import DAS
from methods.fit import fit
from methods.registry import get
from methods.splines import additive_p_values, basis
from methods.stein import Curvature

KEY = jax.random.key(0)


def additive(seed, d=8, edges=10, n=1000):
    """A random DAG with a sine of random frequency and phase on every edge, and Gaussian noise."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(d)
    first, second = np.triu_indices(d, k=1)
    chosen = rng.permutation(len(first))[:edges]
    adjacency = np.zeros((d, d), np.int8)
    adjacency[order[first[chosen]], order[second[chosen]]] = 1
    values = np.zeros((n, d))
    for j in order:
        values[:, j] = rng.normal(size=n)
        for i in np.flatnonzero(adjacency[:, j]):
            values[:, j] += 2 * np.sin(rng.uniform(1, 1.5) * values[:, i] + rng.uniform(0, 2 * np.pi))
    return Dataset(tuple(f"v{j}" for j in range(d)), values, adjacency=adjacency)


def f1(name, data):
    outcome = fit(get(name), data, KEY)
    assert outcome.estimate is not None, outcome.reason
    found = outcome.estimate.adjacency
    return 2 * (found * data.truth).sum() / (found.sum() + data.truth.sum())


def test_das_beats_random_regress_on_additive_nonlinear_data():
    tables = [additive(seed) for seed in range(6)]
    das = [f1("das", table) for table in tables]
    control = [f1("random_regress", table) for table in tables]
    assert sum(ours > theirs for ours, theirs in zip(das, control, strict=True)) >= 5, (das, control)
    assert np.mean(das) > np.mean(control) + 0.2


def test_curvature_of_a_gaussian_is_its_precision():
    rng = np.random.default_rng(0)
    factor = np.array([[1.0, 0.0], [0.8, 0.6]])
    values = rng.normal(size=(1500, 2)) @ factor.T
    curvature = Curvature.of(values, 1e-3, 1e-3)
    hessian = np.median(np.stack([curvature.column(k) for k in range(2)], axis=1), axis=0)
    np.testing.assert_allclose(hessian, -np.linalg.inv(factor @ factor.T), atol=0.5)
    np.testing.assert_allclose(np.median(curvature.diagonal(), axis=0), np.diagonal(hessian), atol=1e-6)


def test_curvature_by_the_formulas_of_its_papers():
    x = np.random.default_rng(1).normal(size=(40, 3))
    apart = x[:, None, :] - x[None, :, :]
    distance = np.linalg.norm(apart, axis=2)
    width = np.median(distance)
    kernel = np.exp(-(distance**2) / (2 * width**2)) / width
    inverse = np.linalg.inv(kernel + 0.01 * np.eye(40))
    gradient = inverse @ -(apart * kernel[:, :, None]).sum(axis=1) / width**2
    second = (kernel[:, :, None] * apart[:, :, :1] * apart).sum(axis=1) / width**4
    second[:, 0] -= kernel.sum(axis=1) / width**2
    curvature = Curvature.of(x, 0.01, 0.01)
    np.testing.assert_allclose(curvature.gradient, gradient, atol=1e-6)
    np.testing.assert_allclose(curvature.column(0), inverse @ second - gradient[:, :1] * gradient, atol=1e-6)
    np.testing.assert_allclose(curvature.diagonal()[:, 0], curvature.column(0)[:, 0], atol=1e-6)


def test_p_values_are_uniform_without_influence_and_small_with_it():
    rng = np.random.default_rng(2)
    found = []
    for _ in range(150):
        x = rng.normal(size=(200, 3))
        found.append(additive_p_values(x, np.sin(2 * x[:, 0]) + 0.5 * rng.normal(size=200), 10))
    found = np.array(found)
    assert found[:, 0].max() < 1e-6
    assert 0.02 < (found[:, 1:] < 0.05).mean() < 0.09, "the level is kept"


def test_odd_columns_have_a_basis():
    rng = np.random.default_rng(3)
    target = rng.normal(size=300)
    columns = [rng.integers(0, 2, 300).astype(float), np.repeat([0.0, 1.0], [290, 10]), rng.standard_cauchy(300)]
    for column in columns:
        splines = basis(column, 10)(column)
        np.testing.assert_allclose(splines.sum(axis=1), 1.0)
        assert 0 <= additive_p_values(column[:, None], target, 10)[0] <= 1
    twice = np.stack([columns[2], columns[2]], axis=1)
    np.testing.assert_array_equal(additive_p_values(twice, columns[2], 10), [1.0, 1.0])
    assert (additive_p_values(rng.normal(size=(5, 4)), target[:5], 10) == 1.0).all(), "no rows left for the noise"


def test_no_more_candidates_than_allowed():
    outcome = fit(DAS(min_parents=1, max_parents=2), additive(0), KEY)
    assert outcome.estimate is not None and outcome.estimate.adjacency.sum(axis=0).max() <= 2


@pytest.mark.parametrize(
    "settings", [{"alpha": 0.0}, {"eta_gradient": 0.0}, {"n_splines": 3}, {"min_parents": 21}, {"degree": 0}]
)
def test_settings_out_of_range(settings):
    with pytest.raises(MethodError, match=f"das: {next(iter(settings))} is"):
        DAS(**settings)
