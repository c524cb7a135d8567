"""Each noise against scipy's distribution, its prior against the paper's ranges, and what each promises besides."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from mechanisms import registry
from mechanisms.base import Blueprint, ParameterError

NOISES = registry.families("noise")
PARENTS = ["a", "b", "c"]
#: The signal is no value, but the log-odds, the chance, the mean or the log mean of one.
DRAWS = ("bernoulli_logit", "binomial", "poisson_count", "poisson_log")
EXTREMES = np.array([2.0**-24, 1.0 - 2.0**-24])
U = (np.linspace(0, 2**23 - 1, 20_000).astype(np.int64) + 0.5) * 2.0**-23


def draws(seed, n=10_000):
    return (np.random.default_rng(seed).integers(2**23, size=n) + 0.5) * 2.0**-23


def build(family, **parameters):
    cls = NOISES[family]
    return cls.from_parameters(cls.parameters().model_validate({"family": family, **parameters}), PARENTS)


def calibrated(family, signal, **parameters):
    """A noise with its calibrated fields filled from the given signals."""
    fields = NOISES[family].calibrated
    first = build(family, **parameters, **dict.fromkeys(fields, 0.0))
    found = first.calibrate(jnp.asarray(signal, jnp.float32), jnp.asarray(draws(0, len(signal)), jnp.float32))
    return build(family, **parameters, **dict(zip(fields, map(float, found), strict=True)))


def from_prior(family, seed):
    return calibrated(family, np.linspace(-2.0, 3.0, 200), **NOISES[family].prior(np.random.default_rng(seed)))


_run = jax.jit(lambda noise, signal, u, parents: jax.vmap(noise)(signal, u, parents))


def run(noise, signal, u, parents=(0.3, -0.2, 0.5)):
    signal, u, parents = (jnp.asarray(x, jnp.float32) for x in (signal, u, parents))
    return np.asarray(
        _run(noise, jnp.broadcast_to(signal, u.shape), u, jnp.broadcast_to(parents, (*u.shape, 3))), np.float64
    )


def centred_beta(a, b, scale):
    return stats.beta(a, b, -scale * a / (a + b), scale)


CASES = [
    ("gaussian", {"scale": 0.4}, stats.norm(0, 0.4)),
    ("uniform", {"scale": 0.3}, stats.uniform(-0.3, 0.6)),
    ("laplace", {"scale": 0.2}, stats.laplace(0, 0.2)),
    ("heteroskedastic", {"base": 0.1, "slope": 0.2}, stats.norm(0, 0.1 + 0.2 / (1 + np.exp(-2.0)))),
    ("student_t", {"degrees": 2.5, "scale": 0.3}, stats.t(2.5, 0, 0.3)),
    ("student_t", {"degrees": 4.4, "scale": 0.03}, stats.t(4.4, 0, 0.03)),
    ("student_t", {"degrees": 8.0, "scale": 0.1}, stats.t(8.0, 0, 0.1)),
    ("target_r2_gaussian", {"r2": 0.5, "scale": 0.7}, stats.norm(0, 0.7)),
    ("beta", {"alpha": 1.0, "beta": 1.0, "scale": 0.45}, stats.uniform(-0.225, 0.45)),
    ("beta", {"alpha": 1.0, "beta": 10.0, "scale": 0.3}, centred_beta(1.0, 10.0, 0.3)),
    ("beta", {"alpha": 10.0, "beta": 3.3, "scale": 0.05}, centred_beta(10.0, 3.3, 0.05)),
    ("exponential", {"rate": 4.0, "scale": 0.2}, stats.expon(-0.05, 0.05)),
    ("gumbel", {"scale": 0.35}, stats.gumbel_r(-0.35 * np.euler_gamma, 0.35)),
]


@pytest.mark.parametrize("family, parameters, reference", CASES)
def test_additive_noise_has_its_distribution(family, parameters, reference):
    noise = build(family, **parameters)
    values, expected = run(noise, -2.0, U) + 2.0, reference.ppf(U)
    bulk, spread = (U > 1e-3) & (U < 1.0 - 1e-3), np.subtract(*reference.ppf([0.75, 0.25]))
    rounding = 3e-7  # of float32 near -2
    np.testing.assert_allclose(values[bulk], expected[bulk], rtol=5e-4, atol=2e-4 * spread + rounding)
    np.testing.assert_allclose(values, expected, rtol=5e-3, atol=2e-4 * spread + rounding)
    assert stats.kstest(run(noise, -2.0, draws(1)) + 2.0, reference.cdf).pvalue > 0.05


def test_no_noise_is_the_signal():
    assert build("none")(jnp.float32(1.25), jnp.float32(0.9), jnp.zeros(3)) == 1.25


@pytest.mark.parametrize("signal", [-3.0, 0.02, 700.0])
def test_multiplicative_lognormal(signal):
    factor = run(build("multiplicative_lognormal", log_scale=0.25), signal, draws(2)) / signal
    assert stats.kstest(factor, stats.lognorm(0.25, scale=np.exp(-(0.25**2) / 2)).cdf).pvalue > 0.05
    on_grid = run(build("multiplicative_lognormal", log_scale=0.25), signal, U) / signal
    assert on_grid.mean() == pytest.approx(1.0, abs=1e-4)
    assert (run(build("multiplicative_lognormal", log_scale=0.25), 0.0, U) == 0.0).all()


@pytest.mark.parametrize("probability", [0.01, 0.08])
def test_mixture_outlier(probability):
    noise = build("mixture_outlier", scale=0.1, probability=probability, outlier_scale=2.0)

    def cdf(x):
        return (1 - probability) * stats.norm.cdf(x, 0, 0.1) + probability * stats.norm.cdf(x, 0, 2.0)

    assert stats.kstest(run(noise, 0.0, draws(3)), cdf).pvalue > 0.05
    outliers = np.abs(run(noise, 0.0, U)) > 0.6
    assert outliers.mean() == pytest.approx(probability * 2 * stats.norm.sf(0.3), rel=0.02)


def test_rff_heteroskedastic_scale_is_the_softplus_of_a_random_function():
    cls = NOISES["rff_heteroskedastic"]
    parameters = {"family": cls.family, "n_features": 80, "length_scale": 0.7, "output_scale": 1.8, "seed": 4}
    arrays = cls.arrays(cls.parameters().model_validate(parameters), PARENTS)
    assert arrays["frequency"].shape == (80, 3)
    x = np.random.default_rng(0).normal(size=(len(U), 3))
    latent = np.cos(x @ arrays["frequency"].T + arrays["phase"]) @ arrays["amplitude"]
    values = run(cls(**arrays), 1.5, U, x)
    np.testing.assert_allclose(values, 1.5 + np.log1p(np.exp(latent)) * stats.norm.ppf(U), atol=5e-4)
    fixed = run(cls(**arrays), 0.0, draws(4), x[0])
    assert stats.kstest(fixed, stats.norm(0, np.log1p(np.exp(latent[0]))).cdf).pvalue > 0.05
    assert latent.std() > 0.5  # parents matter


SIGNALS = {
    "normal": lambda rng: rng.normal(size=20_000),
    "skewed": lambda rng: 3.0 + rng.lognormal(0.0, 0.5, size=20_000),
    "wide": lambda rng: rng.uniform(-1e3, 1e3, size=20_000),
    "narrow": lambda rng: 50.0 + 0.02 * rng.normal(size=20_000),
    "binary": lambda rng: (rng.random(20_000) < 0.3) * 1.0,
}


@pytest.mark.parametrize("r2", [0.1, 0.3, 0.5, 0.75, 0.9])
@pytest.mark.parametrize("name", SIGNALS)
def test_target_r2_is_met_on_fresh_units(name, r2):
    noise = calibrated("target_r2_gaussian", SIGNALS[name](np.random.default_rng(0))[:5000], r2=r2)
    signal = SIGNALS[name](np.random.default_rng(1))
    values = run(noise, signal, draws(5, len(signal)))
    assert np.corrcoef(signal, values)[0, 1] ** 2 == pytest.approx(r2, abs=0.03)


@pytest.mark.parametrize("name", SIGNALS)
def test_censored_mass_at_each_end(name):
    noise = calibrated("censored", SIGNALS[name](np.random.default_rng(2)), scale=0.4)
    signal, u = SIGNALS[name](np.random.default_rng(3)), draws(6, 20_000)
    values = run(noise, signal, u)
    assert (values == values.min()).mean() == pytest.approx(0.03, abs=0.006)
    assert (values == values.max()).mean() == pytest.approx(0.03, abs=0.006)
    inside = (values > values.min()) & (values < values.max())
    uncensored = signal + 0.4 * stats.norm.ppf(u)
    np.testing.assert_allclose(values[inside], uncensored[inside], rtol=1e-6, atol=1e-5)


def test_a_constant_signal_can_be_calibrated():
    assert calibrated("target_r2_gaussian", np.full(100, 2.0), r2=0.3).scale == 0.0
    censored = calibrated("censored", np.full(100, 2.0), scale=0.1)
    assert censored.low < 2.0 < censored.high


@pytest.mark.parametrize("step", [0.05, 0.2, 0.35])
def test_quantized_values_lie_on_the_grid_nearest_to_the_noisy_ones(step):
    signal, u = 4.0 * np.random.default_rng(4).normal(size=10_000), draws(7)
    values = run(build("quantized", scale=0.3, step=step), signal, u)
    assert np.abs(values / step - np.round(values / step)).max() < 1e-4
    assert np.abs(values - (signal + 0.3 * stats.norm.ppf(u))).max() < step / 2 + 1e-5


def test_every_noise_family_is_checked():
    others = {
        "none",
        "multiplicative_lognormal",
        "mixture_outlier",
        "rff_heteroskedastic",
        "censored",
        "quantized",
        *DRAWS,
    }
    assert {family for family, *_ in CASES} | others == set(NOISES)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("family", sorted(NOISES))
def test_values_are_finite_and_rise_with_u(family, seed):
    noise = from_prior(family, seed)
    u = np.concatenate([EXTREMES[:1], U, EXTREMES[1:]])
    for signal in (-1e3, -0.3, 0.0, 1e-3, 2.0, 1e3):
        values = run(noise, signal, u)
        assert np.isfinite(values).all()
        if family != "mixture_outlier":
            direction = np.sign(signal) if family == "multiplicative_lognormal" else 1.0
            assert (direction * np.diff(values) >= -1e-6 * (np.ptp(values) + abs(signal))).all()


@pytest.mark.parametrize("family", sorted(set(NOISES) - {"censored", *DRAWS}))
def test_noise_is_centred(family):
    """The expected value is the signal; of censored noise, only before clipping."""
    noise = from_prior(family, 1)
    step = float(noise.step) if family == "quantized" else 1.0
    values = run(noise, step, U) - step
    assert abs(values.mean()) <= 2e-3 * values.std()


#: Paper A.1, Structural noise; for the scales of quantized and censored noise, those of Gaussian noise.
RANGES = {
    "gaussian": {"scale": (0.05, 0.45)},
    "uniform": {"scale": (0.05, 0.45)},
    "laplace": {"scale": (0.03, 0.35)},
    "student_t": {"degrees": (2.5, 8), "scale": (0.03, 0.30)},
    "multiplicative_lognormal": {"log_scale": (0.03, 0.25)},
    "heteroskedastic": {"base": (0.02, 0.15), "slope": (0.02, 0.20)},
    "rff_heteroskedastic": {
        "n_features": (64, 256), "length_scale": (0.25, 3.0), "output_scale": (0.3, 1.8), "seed": (0, 2**53),
    },
    "target_r2_gaussian": {"r2": (0.1, 0.9)},
    "mixture_outlier": {"scale": (0.02, 0.15), "probability": (0.01, 0.08), "outlier_scale": (0.8, 2.5)},
    "quantized": {"scale": (0.05, 0.45), "step": (0.05, 0.35)},
    "censored": {"scale": (0.05, 0.45)},
    "beta": {"alpha": (1, 10), "beta": (1, 10), "scale": (0.05, 0.45)},
    "exponential": {"rate": (0.8, 4.0), "scale": (0.03, 0.35)},
    "gumbel": {"scale": (0.03, 0.35)},
    "none": {},
    "bernoulli_logit": {"bias": (-1, 1)},
    "poisson_log": {"bias": (0, 2)},
    "poisson_count": {"background": (0, 2)},
    "binomial": {"trials": (5, 50)},
}  # fmt: skip


@pytest.mark.parametrize("family", sorted(NOISES))
def test_prior_fills_the_ranges_of_the_paper(family):
    drawn = [NOISES[family].prior(np.random.default_rng(seed)) for seed in range(300)]
    assert set(drawn[0]) == set(RANGES[family])
    for field, (low, high) in RANGES[family].items():
        values, margin = np.array([d[field] for d in drawn]), 0.05 * (high - low)
        assert (values >= low).all() and (values <= high).all()
        assert values.min() < low + margin and values.max() > high - margin


@pytest.mark.parametrize("family", sorted(NOISES))
def test_prior_and_calibration_give_every_field(family):
    cls = NOISES[family]
    drawn = set(cls.prior(np.random.default_rng(0)))
    assert not drawn & set(cls.calibrated)
    assert drawn | set(cls.calibrated) | {"family"} == set(cls.parameters().model_fields)


@pytest.mark.parametrize("family", sorted(NOISES))
def test_all_draws_of_a_family_share_a_bank(family):
    cls = NOISES[family]
    buckets = set()
    for seed in range(50):
        drawn = {**cls.prior(np.random.default_rng(seed)), **dict.fromkeys(cls.calibrated, 0.0)}
        parameters = cls.parameters().model_validate({"family": family, **drawn})
        buckets.add(Blueprint(cls, cls.arrays(parameters, PARENTS)).bucket())
    assert len(buckets) == 1


@pytest.mark.parametrize("family", sorted(NOISES))
def test_gradients_are_finite(family):
    """By the parameters, the signal and the parents."""
    noise = from_prior(family, 0)
    slope = jax.grad(lambda inputs, u: inputs[0](inputs[1], u, inputs[2]))
    inputs = noise, jnp.float32(0.4), jnp.asarray([0.3, -0.2, 0.5], jnp.float32)
    slopes = jax.jit(jax.vmap(slope, in_axes=(None, 0)))(inputs, jnp.asarray([*EXTREMES, 0.03, 0.5], jnp.float32))
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(slopes))


@pytest.mark.parametrize("signal, bias", [(-2.0, 0.5), (0.0, 0.0), (1.2, -0.3)])
def test_binary_outcomes_are_the_bernoulli_quantile(signal, bias):
    values = run(build("bernoulli_logit", bias=bias), signal, U)
    expected = stats.bernoulli(1.0 / (1.0 + np.exp(-(signal + bias)))).ppf(U)
    assert (values != expected).mean() < 1e-4  # next to the jump, float32 may fall on the other side


@pytest.mark.parametrize("mean", [1e-3, 0.7, 5.0, 60.0, 900.0])
def test_counts_are_the_poisson_quantile(mean):
    values = run(build("poisson_log", bias=np.log(mean) - 0.4), 0.4, U)
    expected = stats.poisson(mean).ppf(U)
    apart, inner = np.abs(values - expected), (U > 1e-5) & (U < 1 - 1e-5)
    assert apart[inner].max() <= 1 and apart.max() <= 2 and (apart > 0).mean() < 2e-3 + 1e-5 * mean
    assert values.mean() == pytest.approx(expected.mean(), rel=1e-3)


@pytest.mark.parametrize("mean", [0.0, 1e-3, 5.0, 900.0, 1001.0, 1e4, 1e6])
def test_detector_counts_are_the_poisson_quantile(mean):
    values = run(build("poisson_count", background=0.25 * mean), 0.75 * mean, U)
    expected = stats.poisson(mean).ppf(U) if mean else np.zeros(len(U))
    apart, inner = np.abs(values - expected), (U > 1e-5) & (U < 1 - 1e-5)
    assert (
        apart[inner].max() <= 1 and apart.max() <= 2 and (apart > 0).mean() < 2e-3 + 1e-5 * min(mean, 1e3) + 4e-8 * mean
    )
    assert run(build("poisson_count"), -3.0, U[::1000]).max() == 0.0


@pytest.mark.parametrize("trials", [1, 12, 1000])
@pytest.mark.parametrize("chance", [0.0, 0.003, 0.4, 0.97, 1.0])
def test_successes_are_the_binomial_quantile(trials, chance):
    values, some = run(build("binomial", trials=trials), chance, U), np.clip(np.float32(chance), 1e-7, 1 - 1e-7)
    apart = np.abs(values - stats.binom(trials, np.float64(some)).ppf(U))
    assert apart.max() <= 1 and (apart > 0).mean() < 2e-3 + 4e-5 * trials  # float32
    assert (np.diff(values) >= 0).all() and 0 <= values.min() and values.max() <= trials


def test_half_a_trial_is_refused():
    with pytest.raises(ParameterError, match="expected a whole number"):
        build("binomial", trials=2.5)


def test_a_mean_that_explodes_is_capped():
    assert run(build("poisson_log"), 1e3, U[::100]).mean() == pytest.approx(1000.0, rel=0.01)


def test_censoring_bounds_the_wrong_way_round_are_refused():
    with pytest.raises(ParameterError, match="expected no less than low = 1.0"):
        build("censored", scale=0.1, low=1.0, high=0.5)
