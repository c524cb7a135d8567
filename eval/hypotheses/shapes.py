"""Shapes of dose-response curves: what a smooth trend explains of one, and what a threshold does.

A curve is compared with two kinds of models, by least squares over its doses. Smooth: a line in the dose, in its
logarithm, or in its inverse. Threshold: a level that jumps, or a line that is flat up to a knot or beyond one, in the
dose or its logarithm. Doses lie at equal steps of probability, so every part of the population counts alike.
"""

import dataclasses
import itertools

import numpy as np

#: Knots that are tried between neighbouring doses.
KNOTS = 12


@dataclasses.dataclass(frozen=True)
class Shape:
    """How models explain a curve.

    Attributes:
        smooth, threshold, line, log: Root mean square of what the best smooth model, the best threshold, a line in the
            dose and a line in its logarithm leave; `log` is infinite where doses are not positive.
        bend: `[K]` weights of the largest deviation from the best smooth model, as a contrast of the curve.
        line_bend: `[K]` the same for the line in the dose.
    """

    smooth: float
    threshold: float
    line: float
    log: float
    bend: np.ndarray
    line_bend: np.ndarray


def shape(doses: np.ndarray, curve: np.ndarray) -> Shape:
    """The shape of a curve `[K]` over ascending doses `[K]`, K at least 4."""
    scales = _scales(doses)
    smooth = [_rms(_residuals(scale) @ curve) for scale in scales]
    best = scales[int(np.argmin(smooth))]
    candidates = np.concatenate([_thresholds(scale) for scale in scales[:2]])
    explained = _explained(candidates - candidates.mean(axis=1, keepdims=True), curve - curve.mean())
    left = max(float(np.var(curve)) - explained / len(curve), 0.0) ** 0.5
    return Shape(
        min(smooth), left, smooth[0], smooth[1] if len(smooth) > 1 else np.inf, _largest(_residuals(best), curve),
        _largest(_residuals(scales[0]), curve),
    )  # fmt: skip


def single_index(grid: np.ndarray, first: np.ndarray, second: np.ndarray) -> float:
    """How much of a grid of responses is a function of the product or of the ratio of two quantities.

    Args:
        grid: `[L, K]` responses by level of `second` and dose of `first`, both positive.

    Returns:
        The largest share of the variation within levels that a line, a step or a hinge of one of them explains; what
        `second` does by itself takes no part. From 0 to 1.
    """
    within = (grid - grid.mean(axis=1, keepdims=True)).ravel()
    total = float(within @ within)
    if total == 0.0:
        return 0.0
    a, b = np.log(first)[None, :], np.log(second)[:, None]
    best = 0.0
    for index in (np.exp(a + b), np.exp(a - b), np.exp(b - a)):
        candidates = _functions(index / index.max()).reshape(-1, *grid.shape)
        candidates = candidates - candidates.mean(axis=2, keepdims=True)
        best = max(best, _explained(candidates.reshape(len(candidates), -1), within) / total)
    return best


def _scales(doses: np.ndarray) -> list[np.ndarray]:
    scales = [doses]
    if doses.min() > 0:
        scales += [np.log(doses), 1.0 / doses]
    return [(scale - scale.mean()) / (np.ptp(scale) or 1.0) for scale in scales]


def _thresholds(scale: np.ndarray) -> np.ndarray:
    """`[M, K]`, steps and hinges of ascending numbers."""
    return _functions(scale)[1:]


def _functions(x: np.ndarray) -> np.ndarray:
    """`[M, *x]`: x itself, steps between its values, and lines that are flat up to a knot, or beyond one."""
    distinct = np.unique(x)
    cuts = 0.5 * (distinct[1:] + distinct[:-1])
    knots = np.unique(np.concatenate([np.linspace(a, b, KNOTS) for a, b in itertools.pairwise(distinct)]))[1:-1]
    apart = lambda points: x[None] - points.reshape(-1, *(1,) * x.ndim)  # noqa: E731
    hinges = apart(knots)
    return np.concatenate([x[None], (apart(cuts) > 0).astype(float), np.maximum(hinges, 0), np.minimum(hinges, 0)])


def _explained(candidates: np.ndarray, centred: np.ndarray) -> float:
    """The largest sum of squares that one of the centred candidates `[M, K]` explains."""
    norm = (candidates**2).sum(axis=1)
    usable = norm > 1e-10
    if not usable.any():
        return 0.0
    return float(((candidates[usable] @ centred) ** 2 / norm[usable]).max())


def _residuals(scale: np.ndarray) -> np.ndarray:
    """`[K, K]`, what takes a curve to what a line in the scale leaves of it."""
    q, _ = np.linalg.qr(np.stack([np.ones_like(scale), scale], axis=1))
    return np.eye(len(scale)) - q @ q.T


def _largest(residuals: np.ndarray, curve: np.ndarray) -> np.ndarray:
    left = residuals @ curve
    worst = int(np.argmax(np.abs(left)))
    return residuals[worst] * (1.0 if left[worst] >= 0 else -1.0)


def _rms(left: np.ndarray) -> float:
    return float(np.sqrt(np.mean(left**2)))
