"""Random specs: how families are mixed, reproducibility, sane values."""

import jax
import numpy as np
import pytest
from specs import random_spec

import arena
from arena.errors import SpecError
from arena.synthetic import graphs
from arena.synthetic.sample import FAMILY_COUNTS, ROOT_COUNTS
from mechanisms import registry

FAMILIES = sorted(graphs.FAMILIES)
SIZES = [10, 20, 30, 50, 100]


def bounds(counts, size):
    return next(limits for top, limits in counts if size <= top)


def tags(kind):
    families = registry.families(kind)
    return {getattr(families[f], "tag", f) for f in registry.drawn(kind)}


@pytest.mark.parametrize("d", SIZES)
def test_specs_mix_families_as_the_paper_says(d):
    for seed in range(8):
        spec = random_spec(seed, d=d, graph=FAMILIES[seed % len(FAMILIES)])
        n_roots = int((~spec.adjacency.any(0)).sum())
        for field, kind in (("mechanisms", "mechanism"), ("noises", "noise"), ("roots", "root")):
            low, high = bounds(ROOT_COUNTS, n_roots) if kind == "root" else bounds(FAMILY_COUNTS, d)
            room = min(len(tags(kind)), n_roots if kind == "root" else d - n_roots)
            assert min(low, room) <= len(spec.factors[field]) <= high
        noise_free = sum(node.noise is not None and node.noise.family == "none" for node in spec.nodes)
        assert noise_free <= 0.1 * d
        used = {registry.families("mechanism")[node.mechanism.family].tag for node in spec.nodes if node.mechanism}
        assert used == set(spec.factors["mechanisms"])


def test_every_family_turns_up():
    specs = [random_spec(seed, d=20) for seed in range(60)]
    for field, kind in (("mechanisms", "mechanism"), ("noises", "noise"), ("roots", "root")):
        assert {family for spec in specs for family in spec.factors[field]} == tags(kind)


def test_roots_that_are_numbers_are_standardised():
    for seed in range(10):
        spec = random_spec(seed, d=20, graph="collider_rich")
        (data,) = arena.sample_batch([spec], jax.random.key(1), 4000)
        for j, node in enumerate(spec.nodes):
            if not node.parents and node.kind in ("continuous", "count"):
                assert abs(data.values[:, j].mean()) < 0.2 and 0.7 < data.values[:, j].std() < 1.4


def test_internal_scaling_standardises_every_variable():
    spec = random_spec(3, d=20, scaling="internal")
    (data,) = arena.sample_batch([spec], jax.random.key(1), 4000)
    assert np.abs(data.values.mean(0)).max() < 0.25
    assert data.values.std(0).min() > 0.7 and data.values.std(0).max() < 1.4


@pytest.mark.parametrize("dependency", ["correlated_normal", "random_covariance_normal", "uniform_ball"])
def test_dependent_roots(dependency):
    """Standardised, with the correlation that the spec says; on the ball, dependent without being correlated."""
    spec = random_spec(4, d=20, graph="collider_rich", root_dependency=dependency)
    block = spec.root_block
    columns = [spec.names.index(name) for name in block.roots]
    assert set(columns) == set(np.flatnonzero(~spec.adjacency.any(0)))
    (data,) = arena.sample_batch([spec], jax.random.key(1), 40_000)
    roots = data.values[:, columns].astype(np.float64)
    np.testing.assert_allclose(roots.mean(0), 0.0, atol=0.03)
    np.testing.assert_allclose(roots.std(0), 1.0, atol=0.03)
    covariance = block.covariance()
    if covariance is None:
        np.testing.assert_allclose(np.corrcoef(roots.T), np.eye(len(columns)), atol=0.03)
        radius = np.linalg.norm(roots, axis=1) / np.sqrt(len(columns) + 2)
        assert radius.max() <= 1.0 + 1e-4
        quantiles = np.quantile(radius ** len(columns), np.linspace(0.05, 0.95, 19))
        np.testing.assert_allclose(quantiles, np.linspace(0.05, 0.95, 19), atol=0.015)
    else:
        deviation = np.sqrt(np.diag(covariance))
        expected = covariance / np.outer(deviation, deviation)
        np.testing.assert_allclose(np.corrcoef(roots.T), expected, atol=0.03)


def test_structural_stressors_are_in_the_spec():
    plain, stressed = (random_spec(5, d=10, stressors=s) for s in ((), ("weak_signal", "high_noise")))
    for a, b in zip(plain.nodes, stressed.nodes, strict=True):
        assert (b.strength, b.extra_noise) == ((0.45, 0.35) if b.parents else (1.0, 0.0))
        assert a.parents == b.parents and (a.strength, a.extra_noise) == (1.0, 0.0)


def test_stressors_are_a_set_of_names():
    one = random_spec(5, d=10, stressors=("weak_signal",))
    assert random_spec(5, d=10, stressors=("weak_signal", "weak_signal")) == one
    assert random_spec(5, d=10, stressors="weak_signal") == one and one.factors["difficulty"] == ("weak_signal",)


def test_target_r2_and_percentiles_are_calibrated():
    """In the table that the finished spec gives: R2 as drawn, 3 % of the mass at either censoring bound."""
    found = {"r2": 0, "censored": 0}
    for seed in range(6):
        spec = random_spec(seed, d=20, noises=["target_r2_gaussian", "censored"], mechanisms=["linear_additive"])
        scm = arena.compile(spec)
        noise = scm.draw_noise(jax.random.key(0), 20_000)
        values = np.asarray(scm.evaluate(noise))
        for j, node in enumerate(spec.nodes):
            if node.noise is None:
                continue
            x = values[:, [spec.names.index(p) for p in node.parents]]
            signal = x @ np.array(node.mechanism.weight) + node.mechanism.bias
            if node.noise.family == "censored":
                found["censored"] += 1
                for bound in (node.noise.low, node.noise.high):
                    assert abs(np.mean(np.isclose(values[:, j], bound, rtol=1e-5, atol=1e-6)) - 0.03) < 0.025
            else:
                found["r2"] += 1
                assert abs(signal.var() / values[:, j].var() - node.noise.r2) < 0.05
    assert min(found.values()) >= 5


def test_same_key_same_spec():
    assert random_spec(3) == random_spec(3) and random_spec(3) != random_spec(4)


def test_only_the_families_asked_for():
    spec = random_spec(0, d=20, mechanisms=["rff_gp"], noises=["none"], roots=["bernoulli"])
    assert spec.factors["mechanisms"] == ("rff_gp",) and spec.factors["noises"] == ("none",)
    assert all(node.kind == "binary" for node in spec.nodes if not node.parents)


@pytest.mark.parametrize(
    "options, words",
    [
        ({"graph": "erdos"}, "did you mean 'erdos_renyi'"),
        ({"mechanisms": ["linear"]}, "did you mean 'linear_additive'"),
        ({"noises": ["gausian"]}, "did you mean 'gaussian'"),
        ({"roots": ["log"]}, "no root family 'log'"),
        ({"stressors": ["weak_signl"]}, "did you mean 'weak_signal'"),
        ({"stressors": ["outliers"]}, "'outliers' acts on tables, which suites make"),
        ({"d": -1}, "expected at least one variable"),
    ],
)
def test_unknown_families_are_named(options, words):
    with pytest.raises(SpecError, match=words):
        random_spec(0, **options)


def test_values_stay_in_a_sane_range():
    specs = [random_spec(seed, d=30, graph=FAMILIES[seed % 2]) for seed in range(40)]
    largest = [np.abs(data.values).max() for data in arena.sample_batch(specs, jax.random.key(0), 500)]
    assert np.isfinite(largest).all() and np.median(largest) < 100 and max(largest) < 1e5
