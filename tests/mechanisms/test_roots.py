"""Each root distribution against scipy's, its prior against the paper's ranges."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from mechanisms import quantiles, registry
from mechanisms.base import Blueprint, ParameterError

ROOTS = registry.families("root")
#: What `SCM.draw_noise` can give: 23 bits, both ends included.
EXTREMES = np.array([2.0**-24, 1.0 - 2.0**-24])
U = (np.linspace(0, 2**23 - 1, 20_000).astype(np.int64) + 0.5) * 2.0**-23


def draws(seed, n=10_000):
    return (np.random.default_rng(seed).integers(2**23, size=n) + 0.5) * 2.0**-23


def build(family, **parameters):
    cls = ROOTS[family]
    return cls.from_parameters(cls.parameters().model_validate({"family": family, **parameters}), [])


def from_prior(family, seed):
    return build(family, **ROOTS[family].prior(np.random.default_rng(seed)))


_run = jax.jit(lambda root, u: jax.vmap(root)(u))


def run(root, u):
    return np.asarray(_run(root, jnp.asarray(u, jnp.float32)), np.float64)


CONTINUOUS = [
    ("uniform", {"low": -1.0, "high": 2.5}, stats.uniform(-1.0, 3.5)),
    ("gaussian", {"mean": 0.5, "scale": 1.5}, stats.norm(0.5, 1.5)),
    ("lognormal", {"log_mean": 0.3, "log_scale": 0.6}, stats.lognorm(0.6, scale=np.exp(0.3))),
    ("gamma", {"concentration": 1.0, "rate": 0.5}, stats.gamma(1.0, scale=2.0)),
    ("gamma", {"concentration": 2.3, "rate": 2.0}, stats.gamma(2.3, scale=0.5)),
    ("gamma", {"concentration": 5.0, "rate": 1.1}, stats.gamma(5.0, scale=1 / 1.1)),
    ("scaled_beta", {"alpha": 0.8, "beta": 0.8, "low": -1.0, "high": 3.0}, stats.beta(0.8, 0.8, -1.0, 4.0)),
    ("scaled_beta", {"alpha": 5.0, "beta": 0.8, "low": 0.0, "high": 0.8}, stats.beta(5.0, 0.8, 0.0, 0.8)),
    ("scaled_beta", {"alpha": 1.7, "beta": 3.1, "low": -0.5, "high": 2.0}, stats.beta(1.7, 3.1, -0.5, 2.5)),
    ("exponential", {"rate": 0.4}, stats.expon(scale=2.5)),
    ("gumbel", {"location": -0.5, "scale": 1.8}, stats.gumbel_r(-0.5, 1.8)),
]


@pytest.mark.parametrize("family, parameters, reference", CONTINUOUS)
def test_continuous_root_is_the_quantile_function(family, parameters, reference):
    values, expected = run(build(family, **parameters), U), reference.ppf(U)
    bulk = (U > 1e-3) & (U < 1.0 - 1e-3)
    spread = np.subtract(*reference.ppf([0.75, 0.25]))
    np.testing.assert_allclose(values[bulk], expected[bulk], rtol=3e-4, atol=1e-4 * spread)
    np.testing.assert_allclose(values, expected, rtol=3e-3, atol=1e-4 * spread)
    assert stats.kstest(run(build(family, **parameters), draws(1)), reference.cdf).pvalue > 0.05


def test_truncated_gaussian_is_a_clipped_normal():
    values = run(build("truncated_gaussian", mean=0.4, scale=1.2), U)
    np.testing.assert_allclose(values, 0.4 + 1.2 * np.clip(stats.norm.ppf(U), -2.5, 2.5), atol=1e-5)
    assert (values == values.min()).mean() == pytest.approx(stats.norm.cdf(-2.5), abs=1e-4)
    assert (values == values.max()).mean() == pytest.approx(stats.norm.cdf(-2.5), abs=1e-4)


@pytest.mark.parametrize("probability", [0.2, 0.55, 0.8])
def test_mixture_gaussian(probability):
    root = build("mixture_gaussian", probability=probability, low_mean=-1.2, high_mean=0.5, low_scale=0.9,
                 high_scale=0.4)  # fmt: skip

    def cdf(x):
        return probability * stats.norm.cdf(x, -1.2, 0.9) + (1 - probability) * stats.norm.cdf(x, 0.5, 0.4)

    assert stats.kstest(run(root, draws(2)), cdf).pvalue > 0.05
    values = run(root, U)
    low = U < probability
    np.testing.assert_allclose(values[low].mean(), -1.2, atol=2e-3)
    np.testing.assert_allclose(values[~low].std(), 0.4, rtol=2e-3)


SHARES = np.array([0.1, 0.25, 0.4, 0.05, 0.2])
INDEX_MEAN = 2.0  # 0.25 + 0.8 + 0.15 + 0.8
INDEX_DEVIATION = np.sqrt(0.25 + 1.6 + 0.45 + 3.2 - 4.0)


def zipf(support, exponent):
    """Values and probabilities, one value at a time."""
    mass = {v: 0.0 for v in range(1, min(support, 10) + 1)}
    for v in range(1, support + 1):
        mass[min(v, 10)] += v**-exponent / sum(w**-exponent for w in range(1, support + 1))
    mean = sum(v * p for v, p in mass.items())
    return np.array([v - mean for v in mass]), np.array(list(mass.values()))


def poisson(rate):
    return np.arange(80.0), stats.poisson.pmf(np.arange(80), rate)


DISCRETE = [
    ("bernoulli", {"probability": 0.3}, (np.array([0.0, 1.0]), np.array([0.7, 0.3]))),
    ("poisson", {"rate": 1.0}, poisson(1.0)),
    ("poisson", {"rate": 12.0}, poisson(12.0)),
    ("ordinal", {"probability": SHARES.tolist()}, (np.arange(5.0), SHARES)),
    ("multinomial", {"probability": SHARES.tolist()}, ((np.arange(5) - INDEX_MEAN) / INDEX_DEVIATION, SHARES)),
    ("grid", {"value": [-0.3, 0.2, 4.0, 9.0, 9.5], "probability": SHARES.tolist()},
     (np.array([-0.3, 0.2, 4.0, 9.0, 9.5]), SHARES)),
    ("zipf", {"support": 8, "exponent": 2.0}, zipf(8, 2.0)),
    ("zipf", {"support": 20, "exponent": 4.0}, zipf(20, 4.0)),
    ("zipf", {"support": 17, "exponent": 2.5}, zipf(17, 2.5)),
]  # fmt: skip


@pytest.mark.parametrize("family, parameters, reference", DISCRETE)
def test_discrete_root_is_the_quantile_function(family, parameters, reference):
    support, probability = reference
    cumulative = np.cumsum(probability)
    u = U[np.abs(U[:, None] - cumulative).min(axis=1) > 2e-7]  # a float32 may fall on either side of a jump
    expected = support[np.minimum(np.searchsorted(cumulative, u), len(support) - 1)]
    root = build(family, **parameters)
    np.testing.assert_allclose(run(root, u), expected, atol=1e-5)
    counts = np.array([(np.abs(run(root, draws(3)) - v) < 1e-4).sum() for v in support])
    often = 10_000 * probability > 5
    observed, share = np.append(counts[often], counts[~often].sum()), np.append(probability[often], 0.0)
    share[-1] = max(1.0 - share.sum(), 0.0)
    some = share > 1e-4
    assert stats.chisquare(observed[some], observed[some].sum() * share[some] / share[some].sum()).pvalue > 0.01


@pytest.mark.parametrize("family, parameters, reference", DISCRETE)
def test_a_root_that_knows_its_levels_is_right(family, parameters, reference):
    cls = ROOTS[family]
    found = cls.support(cls.parameters().model_validate({"family": family, **parameters}))
    if found is not None:  # a count has too many
        np.testing.assert_allclose(found[0], reference[0], atol=1e-6)
        np.testing.assert_allclose(found[1], reference[1], atol=1e-6)


def test_every_root_family_is_checked():
    checked = {family for family, *_ in CONTINUOUS + DISCRETE} | {"truncated_gaussian", "mixture_gaussian"}
    assert checked == set(ROOTS)


def test_large_poisson_rates_are_followed():
    values, expected = run(build("poisson", rate=1000.0), U)[1:-1], stats.poisson.ppf(U, 1000.0)[1:-1]
    assert np.abs(values - expected).max() <= 1.0 and (values == expected).mean() > 0.999


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("family", sorted(ROOTS))
def test_values_are_finite_and_rise_with_u(family, seed):
    root = from_prior(family, seed)
    values = run(root, np.concatenate([EXTREMES[:1], U, EXTREMES[1:]]))
    assert np.isfinite(values).all()
    if family != "mixture_gaussian":
        assert (np.diff(values) >= -1e-6 * np.ptp(values)).all()


@pytest.mark.parametrize("family", ["multinomial", "zipf"])
def test_population_moments(family):
    for seed in range(20):
        values = run(from_prior(family, seed), U)
        assert abs(values.mean()) < 2e-3
        if family == "multinomial":
            assert values.std() == pytest.approx(1.0, abs=2e-3)


#: Paper A.1, Root distributions.
RANGES = {
    "uniform": {"low": (-2, 0), "high": (0.5, 3.0)},
    "gaussian": {"scale": (0.5, 2.0)},
    "truncated_gaussian": {"scale": (0.4, 1.4)},
    "lognormal": {"log_mean": (-0.3, 0.7), "log_scale": (0.25, 0.9)},
    "gamma": {"concentration": (1, 5), "rate": (0.5, 2)},
    "scaled_beta": {"alpha": (0.8, 5), "beta": (0.8, 5), "low": (-1, 0), "high": (0.8, 3.0)},
    "exponential": {"rate": (0.4, 2.5)},
    "gumbel": {"location": (-1, 1), "scale": (0.3, 1.8)},
    "bernoulli": {"probability": (0.15, 0.85)},
    "poisson": {"rate": (1, 12)},
    "ordinal": {},
    "mixture_gaussian": {
        "probability": (0.2, 0.8), "low_mean": (-2, -0.2), "high_mean": (0.2, 2), "low_scale": (0.3, 1.0),
        "high_scale": (0.3, 1.0),
    },
    "multinomial": {},
    "grid": {},
    "zipf": {"support": (8, 20), "exponent": (2, 4)},
}  # fmt: skip


@pytest.mark.parametrize("family", sorted(ROOTS))
def test_prior_fills_the_ranges_of_the_paper(family):
    drawn = [ROOTS[family].prior(np.random.default_rng(seed)) for seed in range(300)]
    for field, (low, high) in RANGES[family].items():
        values, margin = np.array([d[field] for d in drawn]), 0.05 * (high - low)
        assert (values >= low).all() and (values <= high).all()
        assert values.min() < low + margin and values.max() > high - margin
    unbounded = {"gaussian": {"mean"}, "truncated_gaussian": {"mean"}, "grid": {"value"}}.get(family, set())
    assert {*drawn[0]} - unbounded - {"probability"} <= {*RANGES[family]}


def test_normal_means_and_categories_have_the_spread_of_the_paper():
    def drawn(family, field):
        return [ROOTS[family].prior(np.random.default_rng(seed))[field] for seed in range(300)]

    assert np.std(drawn("gaussian", "mean")) == pytest.approx(1.0, rel=0.1)
    assert np.std(drawn("truncated_gaussian", "mean")) == pytest.approx(0.8, rel=0.1)
    assert {len(p) for p in drawn("ordinal", "probability")} == {3, 4, 5, 6}
    logits = np.concatenate([np.log(p) - np.mean(np.log(p)) for p in drawn("ordinal", "probability") if len(p) == 6])
    assert logits.std() == pytest.approx(np.sqrt(5 / 6), rel=0.1)
    assert {len(p) for p in drawn("multinomial", "probability")} == set(range(2, 11))
    ratios = np.array([max(p) / min(p) for p in drawn("multinomial", "probability")])
    assert ratios.max() <= np.exp(3.0) * (1 + 1e-9) and ratios.max() > np.exp(2.7)


@pytest.mark.parametrize("family", sorted(ROOTS))
def test_all_draws_of_a_family_share_a_bank(family):
    cls = ROOTS[family]
    buckets = set()
    for seed in range(100):
        parameters = {"family": family, **cls.prior(np.random.default_rng(seed))}
        buckets.add(Blueprint(cls, cls.arrays(cls.parameters().model_validate(parameters), [])).bucket())
    assert len(buckets) == 1


def test_kinds_of_values():
    kinds = {family: cls.value_kind for family, cls in ROOTS.items() if cls.value_kind != "continuous"}
    assert kinds == {
        "bernoulli": "binary",
        "poisson": "count",
        "ordinal": "ordinal",
        "multinomial": "categorical",
        "grid": "ordinal",
        "zipf": "ordinal",
    }


@pytest.mark.parametrize("family", sorted(ROOTS))
def test_gradients_are_finite(family):
    root = from_prior(family, 0)
    slope = jax.jit(jax.vmap(jax.grad(lambda root, u: root(u)), in_axes=(None, 0)))
    slopes = slope(root, jnp.asarray([*EXTREMES, 0.3, 0.7], jnp.float32))
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(slopes))


@pytest.mark.parametrize(
    "family, parameters, field, word",
    [
        ("ordinal", {"probability": [0.3, 0.3, 0.3]}, "probability", "sums to 0.9, expected 1"),
        ("multinomial", {"probability": [0.5, 0.6]}, "probability", "sums to 1.1, expected 1"),
        ("multinomial", {"probability": [0.0, 1.0, 0.0]}, "probability", "expected two that occur"),
        ("scaled_beta", {"alpha": 1.0, "beta": 1.0, "low": 1.0, "high": 0.5}, "high", "expected more than low"),
    ],
)
def test_refused(family, parameters, field, word):
    with pytest.raises(ParameterError, match=word) as error:
        build(family, **parameters)
    assert error.value.field == field


@pytest.mark.parametrize("steepness", [0.1, 1.0, 8.0])
def test_table_is_monotone_whatever_the_quantile_function(steepness):
    """Steps and plateaus, where a plain cubic would overshoot."""
    table = quantiles.table(lambda p: np.tanh(steepness * stats.norm.ppf(p) ** 3))
    values = jax.jit(jax.vmap(lambda u: quantiles.lookup(jnp.asarray(table, jnp.float32), u)))(U.astype(np.float32))
    assert (np.diff(values) >= -1e-6).all() and np.abs(values).max() <= 1.0 + 1e-6


@pytest.mark.parametrize(
    "value, probability, message",
    [
        ([1.0, 2.0], [1.0], "has 1 entries, expected 2"),
        ([2.0, 1.0], [0.5, 0.5], "expected ascending"),
        ([1.0, 1.0], [0.5, 0.5], "expected ascending"),
        ([1.0, 2.0], [0.5, 0.4], "sums to 0.9"),
    ],
)
def test_a_grid_that_is_none_is_refused(value, probability, message):
    with pytest.raises(ParameterError, match=message):
        build("grid", value=value, probability=probability)
