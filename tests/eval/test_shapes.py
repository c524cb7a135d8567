"""Shapes of curves: thresholds wherever they lie are told from smooth curves however they bend."""

import numpy as np
import pytest
from scipy import stats

from eval.hypotheses.checks import SHARPER
from eval.hypotheses.designs import CURVE
from eval.hypotheses.shapes import shape

VALUES = {
    "gaussian": stats.norm(),
    "lognormal": stats.lognorm(1.0),
    "gamma": stats.gamma(3),
    "uniform": stats.uniform(0, 1),
    "few counts": stats.poisson(0.5),
    "counts": stats.poisson(6),
}
QUANTILES = (0.02, 0.1, 0.35, 0.65, 0.9, 0.98)


def doses(name):
    return np.unique(VALUES[name].ppf(CURVE).astype(float))


@pytest.mark.parametrize("name", VALUES)
def test_thresholds_are_thresholds_wherever_they_lie(name):
    x, seen = doses(name), 0
    for q in QUANTILES:
        at = VALUES[name].ppf(q)
        for curve in ((x > at).astype(float), np.maximum(x - at, 0), np.minimum(x - at, 0)):
            distinct = np.unique(curve)
            # Where a hinge bends beyond the doses it is a line; where it has three values or fewer, any curve fits.
            if np.ptp(curve) == 0 or len(distinct) == len(x) or len(distinct) == 3:
                continue
            found, seen = shape(x, curve), seen + 1
            assert found.threshold <= 0.5 * SHARPER * found.smooth, (q, curve)
            assert abs(found.bend @ curve) > 0.003 * np.ptp(curve)
    assert seen >= 3


SMOOTH = {
    "slow sigmoid": lambda z: 1 / (1 + np.exp(-z)),
    "sigmoid off centre": lambda z: 1 / (1 + np.exp(-2 * (z - 1))),
    "steep sigmoid": lambda z: 1 / (1 + np.exp(-6 * z)),
    "falling sigmoid": lambda z: -1 / (1 + np.exp(-3 * (z + 1.5))),
    "normal probability": lambda z: stats.norm.cdf(2 * z),
    "exponential": np.exp,
    "steep exponential": lambda z: np.exp(2 * z),
    "square": lambda z: (z + 3) ** 2,
    "cube": lambda z: z**3,
    "soft hinge": lambda z: np.log1p(np.exp(2 * z)),
    "bump that turns at an end": lambda z: np.exp(-0.5 * (z - 2.05) ** 2),
    "bump that turns beyond": lambda z: np.exp(-0.5 * (z - 2.6) ** 2),
    "narrow bump that turns beyond": lambda z: np.exp(-0.5 * ((z - 2.5) / 0.5) ** 2),
}


@pytest.mark.parametrize("curve", SMOOTH)
def test_smooth_curves_are_no_thresholds(curve):
    for name, scale in (("gaussian", 1.0), ("uniform", 3.4), ("lognormal", 0.55)):
        x = doses(name)
        y = SMOOTH[curve](scale * (x - VALUES[name].mean()))
        found = shape(x, y)
        smooth = found.threshold > SHARPER * found.smooth or abs(found.bend @ y) < 0.005 * np.ptp(y)
        assert smooth, (name, found.threshold / found.smooth)


def test_lines_and_logarithms_leave_nothing():
    x = doses("lognormal")
    assert shape(x, 3 * x + 1).line < 1e-6 and shape(x, 2 * np.log(x)).log < 1e-6
    assert shape(x - 5, x).log == np.inf
