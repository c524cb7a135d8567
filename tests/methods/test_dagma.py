"""DAGMA: which model the data ask for, and what the library leaves behind."""

import jax
import numpy as np
import pytest

from arena.dataset import Dataset
from arena.errors import MethodError
from methods.dagma import DAGMA
from methods.linearity import spline_gain
from methods.preflight import preflight

torch = pytest.importorskip("torch", reason="needs the extra `torch`")
KEY = jax.random.key(0)


def straight(seed, noise, n=800):
    rng = np.random.default_rng(seed)
    draw = {"normal": rng.normal, "exponential": rng.exponential, "uniform": rng.uniform}[noise]
    x, y = draw(size=(2, n))
    z = x - y + draw(size=n)
    return _ready(x, y, z, z + draw(size=n))


def curved(seed, n=800):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, n))
    z = np.sin(2 * x) + np.cos(1.5 * y) + 0.5 * rng.normal(size=n)
    return _ready(x, y, z, z**2 + 0.5 * rng.normal(size=n))


def _ready(*columns):
    ready = preflight(Dataset(("x", "y", "z", "w"), np.stack(columns, axis=1))).dataset
    assert ready is not None
    return ready


@pytest.mark.parametrize("seed", range(5))
def test_the_data_say_whether_relations_are_straight(seed):
    gain = lambda data: spline_gain(data.values, np.random.default_rng(0))  # noqa: E731
    for noise in ("normal", "uniform", "exponential"):
        assert gain(straight(seed, noise)) < DAGMA().curvature
    assert gain(curved(seed)) > 2 * DAGMA().curvature


def test_nothing_to_predict_is_straight():
    noise = np.random.default_rng(0).normal(size=(300, 4))
    assert spline_gain(noise, np.random.default_rng(0)) == 0.0
    assert spline_gain(noise[:6], np.random.default_rng(0)) == 0.0


def test_the_choice_is_recorded(monkeypatch):
    monkeypatch.setattr("methods.dagma._REDUCED", {"warm_iter": 20, "max_iter": 20})
    linear, other = DAGMA().fit(straight(0, "normal"), KEY).info, DAGMA().fit(curved(0), KEY).info
    assert linear["model"] == "linear" and not linear["reduced"] and linear["spline_gain"] < 0.05
    assert other["model"] == "nonlinear" and other["reduced"] and other["spline_gain"] > 0.05
    told = DAGMA(model="linear").fit(curved(0), KEY).info
    assert told["model"] == "linear" and "spline_gain" not in told


def test_nothing_is_left_behind(monkeypatch, capfd):
    monkeypatch.setattr("methods.dagma._REDUCED", {"warm_iter": 5, "max_iter": 5})
    DAGMA(model="nonlinear").fit(curved(0), KEY)
    assert torch.get_default_dtype() == torch.float32
    assert capfd.readouterr() == ("", "")

    monkeypatch.setattr("dagma.nonlinear.DagmaNonlinear.fit", lambda *args, **kwargs: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        DAGMA(model="nonlinear").fit(curved(0), KEY)
    assert torch.get_default_dtype() == torch.float32


@pytest.mark.parametrize("settings", [{"model": "other"}, {"schedule": "fast"}, {"threshold": -1.0}, {"hidden": 0}])
def test_settings_out_of_range(settings):
    with pytest.raises(MethodError, match=f"dagma: {next(iter(settings))} is"):
        DAGMA(**settings)
