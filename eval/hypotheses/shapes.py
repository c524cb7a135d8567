"""Shapes of dose-response curves: what a smooth trend explains of one, and what a threshold does.

A curve is compared with two kinds of models, by least squares over its doses; each has a constant and one column.
Smooth: a line in the dose, in its logarithm, or in its inverse; a sigmoid, or a part of a bump, in the dose or in its
logarithm. Threshold: a level that jumps, or a line that is flat up to a knot or beyond one, in the dose or its
logarithm. A steep enough sigmoid is a step, so that smooth ones are no steeper than `WIDTH`, and rise between two
neighbouring doses by no more than a share of what they rise at all.
"""

import dataclasses
import functools
import itertools
from typing import NamedTuple

import numpy as np

#: Knots that are tried between neighbouring doses.
KNOTS = 12
#: The least width of a sigmoid (its 1/slope), as a share of half the distance of the inner half of the doses; the
#: factor between widths, and how many there are. A bump is this many times as wide as a sigmoid.
WIDTH, WIDER, N_WIDTHS, BUMP = 0.2, 1.5, 8, 3.0
#: Centres of sigmoids and bumps, from half a range below the doses to half a range above.
CENTRES = 25
#: The largest rise between neighbouring doses, of a curve that turns within the doses, and of one that does not.
JUMP, JUMP_OUTSIDE = 0.6, 0.8


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


class _Models(NamedTuple):
    """Columns `[M, K]`, centred and of length 1; the first lines are in the dose and, if positive, in its logarithm."""

    positive: bool
    smooth: np.ndarray
    threshold: np.ndarray


def shape(doses: np.ndarray, curve: np.ndarray) -> Shape:
    """The shape of a curve `[K]` over ascending doses `[K]`, K at least 4."""
    models = _models(tuple(doses.tolist()))
    line, logarithm = models.smooth[:1], models.smooth[1:2]
    best = models.smooth[[int(np.argmax((models.smooth @ _centred(curve)) ** 2))]]
    return Shape(
        _left(best, curve), _left(models.threshold, curve), _left(line, curve),
        _left(logarithm, curve) if models.positive else np.inf,
        _largest(best[0], curve), _largest(line[0], curve),
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


@functools.lru_cache(maxsize=32)
def _models(doses: tuple[float, ...]) -> _Models:
    x = np.asarray(doses, np.float64)
    scales = [x, np.log(x)] if x.min() > 0 else [x]
    unit = [(scale - scale.mean()) / np.ptp(scale) for scale in scales]
    lines = np.stack([*unit, *([1.0 / x] if x.min() > 0 else [])])
    smooth = np.concatenate([lines, *map(_curves, unit)])
    return _Models(x.min() > 0, _normal(smooth), _normal(np.concatenate([_functions(z)[1:] for z in unit])))


def _curves(z: np.ndarray) -> np.ndarray:
    """`[M, K]`, sigmoids and bumps over ascending numbers of range 1 that the numbers are dense enough to show."""
    k = len(z)
    inner = 0.5 * (z[round(0.75 * (k - 1))] - z[round(0.25 * (k - 1))])
    widths = WIDTH * inner * WIDER ** np.arange(N_WIDTHS)
    centres = np.concatenate([np.linspace(z[0] - 0.5, z[-1] + 0.5, CENTRES), 0.5 * (z[1:] + z[:-1])])
    apart = (z - centres[:, None, None]) / widths[None, :, None]
    most = np.where((centres > z[0]) & (centres < z[-1]), JUMP, JUMP_OUTSIDE)[:, None]
    found = []
    for values in (1.0 / (1.0 + np.exp(-np.clip(apart, -50, 50))), np.exp(-0.5 * np.clip(apart / BUMP, -30, 30) ** 2)):
        jump = np.abs(np.diff(values, axis=2)).max(axis=2)
        found.append(values[jump <= most * np.ptp(values, axis=2)])
    return np.concatenate(found)


def _functions(x: np.ndarray) -> np.ndarray:
    """`[M, *x]`: x itself, steps between its values, and lines that are flat up to a knot, or beyond one."""
    distinct = np.unique(x)
    cuts = 0.5 * (distinct[1:] + distinct[:-1])
    knots = np.unique(np.concatenate([np.linspace(a, b, KNOTS) for a, b in itertools.pairwise(distinct)]))[1:-1]
    apart = lambda points: x[None] - points.reshape(-1, *(1,) * x.ndim)  # noqa: E731
    hinges = apart(knots)
    return np.concatenate([x[None], (apart(cuts) > 0).astype(float), np.maximum(hinges, 0), np.minimum(hinges, 0)])


def _normal(columns: np.ndarray) -> np.ndarray:
    """The columns `[M, K]` centred and of length 1, without those that are all but constant; the first are kept."""
    size = np.abs(columns).max(axis=1, keepdims=True)
    columns = columns / np.where(size > 0, size, 1.0)
    columns = columns - columns.mean(axis=1, keepdims=True)
    length = np.sqrt((columns**2).sum(axis=1))
    usable = length > 1e-6
    return columns[usable] / length[usable, None]


def _explained(candidates: np.ndarray, centred: np.ndarray) -> float:
    """The largest sum of squares that one of the centred candidates `[M, K]` explains."""
    norm = (candidates**2).sum(axis=1)
    usable = norm > 1e-10
    if not usable.any():
        return 0.0
    return float(((candidates[usable] @ centred) ** 2 / norm[usable]).max())


def _left(columns: np.ndarray, curve: np.ndarray) -> float:
    """Root mean square of what the best of the columns leaves."""
    left = float(np.var(curve)) - float(((columns @ _centred(curve)) ** 2).max()) / len(curve)
    return max(left, 0.0) ** 0.5


def _largest(column: np.ndarray, curve: np.ndarray) -> np.ndarray:
    """`[K]` weights of the largest deviation of the curve from a constant and the column."""
    k = len(column)
    residuals = np.eye(k) - 1.0 / k - np.outer(column, column)
    left = residuals @ curve
    worst = int(np.argmax(np.abs(left)))
    return residuals[worst] * (1.0 if left[worst] >= 0 else -1.0)


def _centred(curve: np.ndarray) -> np.ndarray:
    return curve - curve.mean()
