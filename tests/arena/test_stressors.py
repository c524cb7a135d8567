"""Stressors: what they hit and how often, what they leave alone, and that they are data."""

import math

import numpy as np
import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

from arena import stressors
from arena.stressors import FAMILIES, WARPS, Stressor, apply, draw
from arena.synthetic.difficulty import STRESSORS

N, D = 2000, 20
NAMES = tuple(f"X{j}" for j in range(D))
MEASURED = sorted(set(FAMILIES) - {"soft_interventions"})


class Holder(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    stressors: tuple[Stressor, ...]


def table(n=N, seed=0, dtype=np.float32):
    rng = np.random.default_rng(seed)
    return rng.normal(np.arange(D), np.linspace(0.5, 3, D), size=(n, D)).astype(dtype)


VALUES = table()
CENTER, SCALE = VALUES.mean(0), VALUES.std(0)
#: The last fifth of the rows.
INTERVENED = np.arange(N) >= 0.8 * N


def drawn(family, seed=0):
    return draw(family, np.random.default_rng(seed), NAMES, CENTER, SCALE)


def applied(*families, values=VALUES, seed=0, rows=None):
    rows = INTERVENED[: len(values)] if rows is None else rows
    return apply([drawn(family) for family in families], values, NAMES, rows, np.random.default_rng(seed))


def assert_rate(hit, rate):
    assert abs(hit.mean() - rate) < 4 * math.sqrt(rate * (1 - rate) / hit.size)


def test_every_stressor_of_the_schedule_is_here_or_in_the_mechanisms():
    assert set(FAMILIES) == set(STRESSORS) - {"weak_signal", "high_noise"}


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_stressors_are_strict_data(family):
    stressor = drawn(family)
    assert stressor.family == family and stressor == drawn(family) and set(stressor.variables) <= set(NAMES)
    holder = Holder(stressors=(stressor,))
    assert Holder.model_validate_json(holder.model_dump_json()) == holder
    data = stressor.model_dump(mode="json")
    assert stressors.FAMILIES[family].model_validate(data) == stressor
    with pytest.raises(ValidationError, match="Extra inputs"):
        type(stressor).model_validate({**data, "colour": 1})
    with pytest.raises(ValidationError, match="frozen"):
        stressor.family = "outliers"


@pytest.mark.parametrize(
    "data",
    [
        {"family": "outlier", "rate": 0.1},
        {"family": "feature_corruption", "rate": 1.5},
        {"family": "soft_interventions", "softness": "0.5"},
        {"family": "feature_warping", "columns": {"X0": {"transform": "cube", "center": 0.0, "scale": 1.0}}},
        {"family": "feature_warping", "columns": {"X0": {"transform": "tanh", "center": 0.0, "scale": 0.0}}},
        {"family": "missingness", "rate": 0.1, "columns": {"X0": {"mean": float("nan"), "jitter": 0.0}}},
    ],
)
def test_bad_stressors_are_refused(data):
    with pytest.raises(ValidationError):
        Holder.model_validate({"stressors": (data,)})


@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tables_stay_tables(family, dtype):
    values = table(dtype=dtype)
    before = values.copy()
    out = applied(family, values=values)
    assert out.shape == values.shape and out.dtype == dtype and np.isfinite(out).all()
    assert np.array_equal(values, before) and not np.shares_memory(out, values)
    assert np.array_equal(out, applied(family, values=values))


@pytest.mark.parametrize("family", MEASURED)
def test_a_stressor_changes_something(family):
    assert not np.array_equal(applied(family), VALUES)


@pytest.mark.parametrize("family", ["outliers", "missingness", "feature_corruption"])
def test_another_seed_hits_other_entries(family):
    hit, other = (applied(family, seed=seed) != VALUES for seed in (0, 1))
    assert (hit & other).sum() < 0.2 * hit.sum()


def test_warping_keeps_the_order_of_about_half_of_the_columns():
    warping, out = drawn("feature_warping"), applied("feature_warping")
    assert len(warping.columns) == round(0.55 * D)
    for j, name in enumerate(NAMES):
        if name not in warping.columns:
            assert np.array_equal(out[:, j], VALUES[:, j])
            continue
        rank = np.argsort(VALUES[:, j], kind="stable")
        assert (np.diff(out[rank, j]) >= 0).all() and len(np.unique(out[:, j])) > 0.9 * len(np.unique(VALUES[:, j]))
        z = (VALUES[:, j].astype(float) - CENTER[j]) / SCALE[j]
        expected = CENTER[j] + SCALE[j] * WARPS[warping.columns[name].transform](z)
        np.testing.assert_allclose(out[:, j], expected, rtol=1e-4, atol=1e-4)


def test_all_transforms_turn_up_and_increase():
    found = {warp.transform for seed in range(5) for warp in drawn("feature_warping", seed).columns.values()}
    assert found == set(WARPS)
    z = np.linspace(-4, 4, 101)
    for transform in WARPS.values():
        assert (np.diff(transform(z)) > 0).all() and np.allclose(transform(-z), -transform(z))


def test_outliers_are_rare_and_large():
    out = applied("outliers")
    jump = (out.astype(float) - VALUES) / SCALE
    hit = out != VALUES
    assert_rate(hit, 0.025)
    sizes = np.abs(jump[hit])
    assert sizes.min() > 3 * (1 - 1e-5) and 4 < np.mean(sizes) < 5 and sizes.max() > 15
    assert 0.4 < (jump[hit] > 0).mean() < 0.6
    assert_rate(hit[INTERVENED], 0.025)


def test_missing_entries_are_filled_with_the_mean():
    out = applied("missingness")
    hit = out != VALUES
    assert_rate(hit, 0.05)
    filled = np.where(hit, (out - CENTER) / SCALE, np.nan)
    assert np.nanmax(np.abs(filled)) < 0.0501 and np.nanstd(filled) > 0.02
    assert np.nanmax(np.abs(np.nanmean(filled, axis=0))) < 0.02


def test_corruption_permutes_entries_within_columns_and_kinds_of_rows():
    out = applied("feature_corruption")
    assert_rate(out != VALUES, 0.03)
    for rows in (INTERVENED, ~INTERVENED):
        assert np.array_equal(np.sort(out[rows], axis=0), np.sort(VALUES[rows], axis=0))


def test_only_interventional_rows_of_some_columns_shift():
    shift, out = drawn("distribution_shift"), applied("distribution_shift")
    assert np.array_equal(out[~INTERVENED], VALUES[~INTERVENED]) and len(shift.columns) == round(0.3 * D)
    for j, name in enumerate(NAMES):
        if name not in shift.columns:
            assert np.array_equal(out[:, j], VALUES[:, j])
            continue
        before, after = VALUES[INTERVENED, j].astype(float), out[INTERVENED, j].astype(float)
        gain = after.std() / before.std()
        offset = (after.mean() - CENTER[j] - gain * (before.mean() - CENTER[j])) / SCALE[j]
        assert 0.6 <= gain <= 0.85 or 1.15 <= gain <= 1.6
        assert 0.29 < abs(offset) < 0.81
    assert np.array_equal(applied("distribution_shift", rows=np.zeros(N, bool)), VALUES)


def test_soft_interventions_leave_tables_alone():
    assert np.array_equal(applied("soft_interventions"), VALUES)
    assert stressors.softness([drawn("outliers"), drawn("soft_interventions")]) == 0.45
    assert stressors.softness([drawn("outliers")]) == stressors.softness([]) == 1.0


def test_no_stressor_is_a_copy():
    out = applied()
    assert np.array_equal(out, VALUES) and out is not VALUES


def test_two_stressors_act_one_after_the_other_with_seeds_of_their_own():
    first, second = drawn("feature_warping"), drawn("outliers")
    both = apply([first, second], VALUES, NAMES, INTERVENED, np.random.default_rng(5))
    warped = apply([first], VALUES, NAMES, INTERVENED, np.random.default_rng(5))
    hit = both != warped
    assert_rate(hit, 0.025)
    twice = apply([second, second], VALUES, NAMES, INTERVENED, np.random.default_rng(5)) != VALUES
    assert_rate(twice, 1 - 0.975**2)


@pytest.mark.parametrize("family", ["feature_warping", "outliers", "missingness", "distribution_shift"])
def test_rows_do_not_depend_on_later_rows(family):
    np.testing.assert_array_equal(applied(family)[:500], applied(family, values=VALUES[:500]))


def test_columns_that_a_stressor_does_not_name_are_untouched():
    for family in ("outliers", "missingness"):
        few = draw(family, np.random.default_rng(0), NAMES[:3], CENTER[:3], SCALE[:3])
        out = apply([few], VALUES, NAMES, INTERVENED, np.random.default_rng(0))
        assert np.array_equal(out[:, 3:], VALUES[:, 3:]) and not np.array_equal(out[:, :3], VALUES[:, :3])


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_tables_of_one_column_and_constant_columns(family):
    values = np.full((50, 1), 2.0, np.float32)
    stressor = draw(family, np.random.default_rng(0), ("X",), values.mean(0), values.std(0))
    out = apply([stressor], values, ("X",), np.arange(50) >= 40, np.random.default_rng(0))
    assert np.isfinite(out).all() and np.allclose(out, 2.0)
