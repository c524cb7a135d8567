"""Verifiers of the forms about one variable: what each claims, as checks on its dose-response curve.

Limits and their units stand in `checks`. An effect is the contrast of the highest with the lowest dose unless something
else is said. Every contrast has the Monte Carlo error of its own weights.
"""

import numpy as np

from eval.hypotheses import checks
from eval.hypotheses.checks import Check, at_least, at_most, cannot, share_of_at_least
from eval.hypotheses.claims import Claim, share, total_effect, unordered
from eval.hypotheses.shapes import shape


def bare_direction(claim: Claim) -> list[Check]:
    """Direction only: the outcome moves as claimed when the variable is raised. It asserts no structure.

    Curve: dose-response. Contrast: highest against lowest dose, at least `EFFECT`.
    """
    return [total_effect(claim)]


def threshold(claim: Claim) -> list[Check]:
    """Monotone with a threshold: the response is flat in a part of the range, and changes beyond a point.

    Curve: dose-response at up to 31 doses. Contrasts: highest against lowest dose, at least `EFFECT` in the claimed
    direction; the largest way back, at most `BACK` of that; the largest deviation from the best smooth trend, at least
    `BEND` and `BEND_SHARE` of the effect; and a threshold leaves at most `SHARPER` of what the best trend leaves.
    Trends are lines, sigmoids and parts of bumps; see `shapes`.
    """
    reading = claim.reading
    if (no := unordered(claim, 4)) is not None:
        return [no]
    curve, doses = reading.effect, np.asarray(reading.design.doses)
    total = total_effect(claim)
    up, down = _ways(curve)
    forth, back = (up, down) if claim.proposal.sign > 0 else (down, up)
    found = shape(doses, curve)
    bend = max(checks.BEND, checks.BEND_SHARE * abs(total.value))
    ratio = found.threshold / found.smooth if found.smooth > 0 else np.inf
    return [
        total,
        at_most("way back", share(back[0], forth[0]), checks.BACK, "the response turns back: it is not monotone"),
        at_least("bend", reading.contrast(found.bend), bend, "a smooth trend explains the curve: nothing bends in it"),
        at_most("left by a threshold", ratio, checks.SHARPER, "a threshold explains the curve no better than a trend"),
    ]


def non_monotone(claim: Claim) -> list[Check]:
    """The response rises and falls over the variable's range.

    Curve: dose-response at up to 31 doses. Contrasts: the largest rise and the largest fall between any two doses, the
    smaller at least `EFFECT` and at least `TURN` of the larger.
    """
    if (no := unordered(claim, 3)) is not None:
        return [no]
    up, down = _ways(claim.reading.effect)
    small, large = sorted((up, down))
    _, high, low = small
    failed = "the response never turns: it is monotone, or does not move at all"
    return [
        at_least("smaller of rise and fall", claim.reading.between(high, low), checks.EFFECT, failed),
        share_of_at_least("rise against fall", share(small[0], large[0]), checks.TURN, failed),
    ]


def logarithm(claim: Claim) -> list[Check]:
    """The variable acts by its logarithm; see `grids.derived_feature`."""
    if (no := unordered(claim, 4)) is not None:
        return [no]
    doses = np.asarray(claim.reading.design.doses)
    if doses.min() <= 0:
        return [cannot(f"'{claim.proposal.variable}' is not positive: it has no logarithm")]
    found = shape(doses, claim.reading.effect)
    failed = "the logarithm explains the curve no better than the variable itself"
    return [
        total_effect(claim),
        at_least("bend", claim.reading.contrast(found.line_bend), checks.CURVED, failed),
        at_most("left by the logarithm", share(found.log, found.line), checks.SHARPER, failed),
        at_most("left by the logarithm, of a threshold", share(found.log, found.threshold), 1.0,
                "a threshold explains the curve better than the logarithm"),
    ]  # fmt: skip


def _ways(curve: np.ndarray) -> tuple[tuple[float, int, int], tuple[float, int, int]]:
    """The largest rise and the largest fall of a curve: how far, its higher and its lower dose."""
    differ = curve[None, :] - curve[:, None]  # [i, j]: what dose j has more than dose i
    later = np.triu(np.ones_like(differ), 1).astype(bool)
    rise, fall = np.where(later, differ, 0.0), np.where(later, -differ, 0.0)
    i, j = np.unravel_index(np.argmax(rise), rise.shape)
    k, m = np.unravel_index(np.argmax(fall), fall.shape)
    return (float(rise[i, j]), int(j), int(i)), (float(fall[k, m]), int(k), int(m))
