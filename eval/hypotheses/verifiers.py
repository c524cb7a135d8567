"""Verifiers: what each form claims, as checks on the curves of its experiment. No text is looked at.

Limits and their units stand in `checks`. An effect within a level, or of a curve, is the contrast of the highest with
the lowest dose unless something else is said. Every contrast has the Monte Carlo error of its own weights.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from eval.hypotheses import checks
from eval.hypotheses.checks import Check, at_least, at_most, cannot, share_of_at_least
from eval.hypotheses.experiments import Reading
from eval.hypotheses.proposals import NOMINAL, Proposal
from eval.hypotheses.shapes import shape, single_index


class Claim(NamedTuple):
    """What a verifier looks at.

    Attributes:
        kinds: Kind of each variable.
    """

    proposal: Proposal
    reading: Reading
    kinds: dict[str, str]


class Grid(NamedTuple):
    """Effects by level and dose, `[L, K]`, and how a cell is found among the worlds."""

    reading: Reading
    effect: np.ndarray

    def cell(self, level: int, dose: int) -> int:
        return level * self.effect.shape[1] + dose

    def within(self, level: int, high: int = -1, low: int = 0) -> tuple[float, float]:
        """The effect of one dose against another within a level, with its error."""
        k = self.effect.shape[1]
        return self.reading.between(self.cell(level, high % k), self.cell(level, low % k))

    def widest(self, level: int) -> float:
        """The largest difference between two doses within a level."""
        return float(np.ptp(self.effect[level]))


def bare_direction(claim: Claim) -> list[Check]:
    """Direction only: the outcome moves as claimed when the variable is raised. It asserts no structure.

    Curve: dose-response. Contrast: highest against lowest dose, at least `EFFECT`.
    """
    return [_total(claim)]


def threshold(claim: Claim) -> list[Check]:
    """Monotone with a threshold: the response is flat in a part of the range, and changes beyond a point.

    Curve: dose-response at 15 doses. Contrasts: highest against lowest dose, at least `EFFECT` in the claimed
    direction; the largest way back, at most `BACK` of that; the largest deviation from the best smooth trend, at least
    `BEND` and `BEND_SHARE` of the effect; and a threshold leaves at most `SHARPER` of what the best trend leaves.
    """
    reading = claim.reading
    if (no := _unordered(claim, 4)) is not None:
        return [no]
    curve, doses = reading.effect, np.asarray(reading.design.doses)
    total = _total(claim)
    up, down = _ways(curve)
    forth, back = (up, down) if claim.proposal.sign > 0 else (down, up)
    found = shape(doses, curve)
    bend = max(checks.BEND, checks.BEND_SHARE * abs(total.value))
    ratio = found.threshold / found.smooth if found.smooth > 0 else np.inf
    return [
        total,
        at_most("way back", _share(back[0], forth[0]), checks.BACK, "the response turns back: it is not monotone"),
        at_least("bend", reading.contrast(found.bend), bend, "a smooth trend explains the curve: nothing bends in it"),
        at_most("left by a threshold", ratio, checks.SHARPER, "a threshold explains the curve no better than a trend"),
    ]


def non_monotone(claim: Claim) -> list[Check]:
    """The response rises and falls over the variable's range.

    Curve: dose-response at 15 doses. Contrasts: the largest rise and the largest fall between any two doses, the
    smaller at least `EFFECT` and at least `TURN` of the larger.
    """
    if (no := _unordered(claim, 3)) is not None:
        return [no]
    up, down = _ways(claim.reading.effect)
    small, large = sorted((up, down))
    _, high, low = small
    failed = "the response never turns: it is monotone, or does not move at all"
    return [
        at_least("smaller of rise and fall", claim.reading.between(high, low), checks.EFFECT, failed),
        share_of_at_least("rise against fall", _share(small[0], large[0]), checks.TURN, failed),
    ]


def interaction(claim: Claim) -> list[Check]:
    """The variable's effect depends on the moderator.

    Curves: dose-response within each of up to 5 levels of the moderator, both set. Contrast: the largest difference
    between two levels of the difference between two doses, at least `INTERACTION`.
    """
    return [_interaction(_grid(claim))]


def interaction_reversal(claim: Claim) -> list[Check]:
    """The variable's effect changes its sign with the moderator.

    Curves and first contrast as for an interaction. Further contrasts: the largest effect within a level and the
    largest of the other sign, the latter at least `EFFECT` and at least `REVERSED` of the former.
    """
    grid = _grid(claim)
    effects = [grid.within(level) for level in range(len(grid.effect))]
    high, low = max(effects), min(effects)
    small, large = sorted((high, (-low[0], low[1])))
    failed = "the effect has the same sign, or none, at every level of the moderator"
    return [
        _interaction(grid),
        at_least("smaller of the opposite effects", small, checks.EFFECT, failed),
        share_of_at_least("opposite effects", _share(small[0], large[0]), checks.REVERSED, failed),
    ]


def subpopulation(claim: Claim) -> list[Check]:
    """The variable acts in some levels of the moderator only.

    Curves as for an interaction. Contrasts: the largest effect within a level, at least `EFFECT` in the claimed
    direction; every other level has either at least `INSIDE` of it, or moves by at most `OUTSIDE` of it between any two
    doses; there is a level of either kind.
    """
    grid, sign = _grid(claim), claim.proposal.sign
    effects = [sign * grid.within(level)[0] for level in range(len(grid.effect))]
    best = int(np.argmax(effects))
    largest = max(effects[best], 1e-12)
    quiet = [grid.widest(level) / largest for level in range(len(effects))]
    # A level is judged by the nearer of the two limits; one between them fails both.
    inside = [value / largest for value in effects]
    outside = min(quiet)
    doubt = max(
        (min(q - checks.OUTSIDE, checks.INSIDE - e) for q, e in zip(quiet, inside, strict=True)), default=1.0
    )  # fmt: skip
    return [
        at_least("largest effect in a level", grid.within(best), checks.EFFECT,
                 "no level of the moderator shows the claimed effect", sign),
        at_most("effect outside", outside, checks.OUTSIDE, "the variable acts at every level of the moderator"),
        at_most("level in doubt", doubt, 0.0, "the effect differs from level to level, and is not there or absent"),
    ]  # fmt: skip


def derived_feature(claim: Claim) -> list[Check]:
    """The two variables act through their product or ratio; with no second variable, the one acts by its logarithm.

    Curves as for an interaction, of two positive quantities. Contrasts: the interaction; the average effect of the
    variable, at least `EFFECT` in the claimed direction; no level where it is reversed by more than `BACK` of the
    largest; a line, step or hinge of the product or ratio explains at least `COMPOSITE` of the variation within levels.
    One variable: the curve leaves at most `SHARPER` after a line in the logarithm of what it leaves after a line in the
    dose, the deviation from the latter is at least `BEND`, and no threshold explains it better.
    """
    proposal, reading = claim.proposal, claim.reading
    if proposal.second is None:
        return _logarithm(claim)
    for name, values in ((proposal.variable, reading.design.doses), (proposal.second, reading.design.levels)):
        if claim.kinds[name] in (*NOMINAL, "binary") or len(values) < 3:
            return [cannot(f"'{name}' has no amounts: with it, a product or ratio is an effect in a subpopulation")]
        if min(values) <= 0:
            return [cannot(f"'{name}' is not positive: a product or ratio of it has no direction")]
    grid, sign = _grid(claim), proposal.sign
    levels, doses = grid.effect.shape
    weights = np.zeros((levels, doses))
    weights[:, -1], weights[:, 0] = 1.0 / levels, -1.0 / levels
    average = reading.contrast(weights.ravel())
    effects = [sign * grid.within(level)[0] for level in range(levels)]
    explained = single_index(grid.effect, np.asarray(reading.design.doses), np.asarray(reading.design.levels))
    return [
        _interaction(grid),
        at_least("average effect", average, checks.EFFECT, "the variable does not move the outcome as claimed", sign),
        at_most("reversed effect", _share(-min(effects), max(effects)), checks.BACK,
                "the effect changes its sign, which no product or ratio of positive quantities does"),
        share_of_at_least("explained by product or ratio", explained, checks.COMPOSITE,
                          "the joint response is no function of the product or the ratio"),
    ]  # fmt: skip


def mediation(claim: Claim) -> list[Check]:
    """The variable acts through the mediator.

    Curves: dose-response, and the same with the mediator of every unit held at what it was. Contrasts: highest against
    lowest dose, at least `EFFECT` in the claimed direction; what holding the mediator takes of it, at least `EFFECT`;
    what is left, at most `DIRECT` of it.
    """
    reading, sign = claim.reading, claim.proposal.sign
    k = len(reading.design.doses)
    total, weights = reading.between(k - 1, 0), np.zeros(2 * k)
    weights[[k - 1, 0, 2 * k - 1, k]] = 1.0, -1.0, -1.0, 1.0
    direct = reading.between(2 * k - 1, k)
    failed = "the effect is the same with the mediator held: it does not run through it"
    return [
        at_least("total effect", total, checks.EFFECT, "the variable does not move the outcome as claimed", sign),
        at_least("effect through the mediator", reading.contrast(weights), checks.EFFECT, failed, sign),
        at_most("effect with the mediator held", _share(abs(direct[0]), abs(total[0])), checks.DIRECT, failed),
    ]


def simpsons(claim: Claim) -> list[Check]:
    """What the data show is the opposite of what the variable does, because of a common cause.

    Curves: dose-response; association in the natural world, and in worlds where the common cause is set. Contrasts:
    highest against lowest dose, at least `EFFECT` in the claimed direction; the natural association, at least
    `ASSOCIATION` in the other direction. If the common cause is named: setting it moves the variable by at least
    `ASSOCIATION` of its SD, and the association while it is set, averaged over its levels, is at least `ASSOCIATION` in
    the claimed direction.
    """
    reading, sign = claim.reading, claim.proposal.sign
    k = len(reading.design.doses)
    natural = reading.association[k], reading.association_error[k]
    out = [
        at_least("effect", reading.between(k - 1, 0), checks.EFFECT,
                 "the variable does not move the outcome as claimed", sign),
        at_least("opposite association", natural, checks.ASSOCIATION,
                 "the data do not show the opposite of what the variable does", -sign),
    ]  # fmt: skip
    if claim.proposal.second is not None:
        moved = float(np.ptp(reading.x[k + 1 :]))
        errors = reading.association_error[k + 1 :]
        inside = float(reading.association[k + 1 :].mean()), float(np.sqrt((errors**2).sum()) / len(errors))
        failed = "setting the named common cause does not undo the reversal"
        out += [
            at_least("variable moved by the common cause", (moved, 0.0), checks.ASSOCIATION, failed),
            at_least("association with the common cause set", inside, checks.ASSOCIATION, failed, sign),
        ]
    return out


def categorical_level(claim: Claim) -> list[Check]:
    """The outcome differs where the variable has the level.

    Curve: the mean outcome at each level. Contrast: the level against the base, or against the other levels by how
    frequent they are; at least `EFFECT` in the claimed direction, either one if only a difference is claimed.
    """
    proposal, reading = claim.proposal, claim.reading
    doses, weight = reading.design.doses, np.asarray(reading.design.weight)
    for level in (proposal.level, proposal.base):
        if level is not None and level not in doses:
            return [cannot(f"the level {level:g} is too rare to be compared")]
    weights = np.zeros(len(doses))
    place = doses.index(proposal.level)  # type: ignore[arg-type]
    if proposal.base is not None:
        weights[doses.index(proposal.base)] = -1.0
    else:
        weight[place] = 0.0
        weights = -weight / weight.sum()
    weights[place] = 1.0
    effect = reading.contrast(weights)
    sign = proposal.sign or (1 if effect[0] >= 0 else -1)
    return [at_least("level against base", effect, checks.EFFECT, "the level does not differ as claimed", sign)]


VERIFIERS: dict[str, Callable[[Claim], list[Check]]] = {
    "bare_direction": bare_direction,
    "threshold": threshold,
    "non_monotone": non_monotone,
    "interaction": interaction,
    "interaction_reversal": interaction_reversal,
    "subpopulation": subpopulation,
    "derived_feature": derived_feature,
    "mediation": mediation,
    "simpsons": simpsons,
    "categorical_level": categorical_level,
}


def direction(claim: Claim) -> tuple[float, float]:
    """How much the outcome moves when the variable is raised, on average over a moderator's levels, with the error."""
    reading, k = claim.reading, len(claim.reading.design.doses)
    weights = np.zeros(len(reading.effect))
    if reading.design.kind == "grid":
        cells = weights.reshape(-1, k)
        cells[:, -1] += 1.0 / len(cells)
        cells[:, 0] -= 1.0 / len(cells)
    else:
        weights[k - 1] += 1.0
        weights[0] -= 1.0
    return reading.contrast(weights)


def _total(claim: Claim) -> Check:
    measured = claim.reading.between(len(claim.reading.design.doses) - 1, 0)
    failed = "the variable does not move the outcome as claimed"
    return at_least("effect", measured, checks.EFFECT, failed, claim.proposal.sign)


def _unordered(claim: Claim, least: int) -> Check | None:
    name, doses = claim.proposal.variable, claim.reading.design.doses
    if claim.kinds[name] in NOMINAL:
        return cannot(f"'{name}' is categorical: its values have no order")
    if len(doses) < least:
        return cannot(f"'{name}' has {len(doses)} values, of which no curve can be made")
    return None


def _grid(claim: Claim) -> Grid:
    design = claim.reading.design
    return Grid(claim.reading, claim.reading.effect.reshape(len(design.levels), len(design.doses)))


def _interaction(grid: Grid) -> Check:
    levels, doses = grid.effect.shape
    # For each pair of levels, the widest difference between doses of the difference between them.
    apart = grid.effect[:, None, :] - grid.effect[None, :, :]
    a, b = np.unravel_index(np.argmax(np.ptp(apart, axis=2)), (levels, levels))
    high, low = int(np.argmax(apart[a, b])), int(np.argmin(apart[a, b]))
    weights = np.zeros((levels, doses))
    weights[a, high] += 1.0
    weights[a, low] -= 1.0
    weights[b, high] -= 1.0
    weights[b, low] += 1.0
    failed = "the effect is the same at every level of the moderator"
    return at_least("difference of effects", grid.reading.contrast(weights.ravel()), checks.INTERACTION, failed)


def _logarithm(claim: Claim) -> list[Check]:
    if (no := _unordered(claim, 4)) is not None:
        return [no]
    doses = np.asarray(claim.reading.design.doses)
    if doses.min() <= 0:
        return [cannot(f"'{claim.proposal.variable}' is not positive: it has no logarithm")]
    found = shape(doses, claim.reading.effect)
    failed = "the logarithm explains the curve no better than the variable itself"
    return [
        _total(claim),
        at_least("bend", claim.reading.contrast(found.line_bend), checks.BEND, failed),
        at_most("left by the logarithm", _share(found.log, found.line), checks.SHARPER, failed),
        at_most("left by the logarithm, of a threshold", _share(found.log, found.threshold), 1.0,
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


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else float("inf") if part > 0 else 0.0
