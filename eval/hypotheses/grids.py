"""Verifiers of the forms about two variables: what each claims, as checks on the effects within levels of the second.

Limits and their units stand in `checks`. An effect within a level is the contrast of the highest with the lowest dose
unless something else is said. Every contrast has the Monte Carlo error of its own weights.
"""

from typing import NamedTuple

import numpy as np

from eval.hypotheses import checks
from eval.hypotheses.checks import Check, at_least, at_most, cannot, share_of_at_least
from eval.hypotheses.claims import Claim, share
from eval.hypotheses.curves import logarithm
from eval.hypotheses.experiments import Reading
from eval.hypotheses.proposals import NOMINAL
from eval.hypotheses.shapes import single_index


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


def interaction(claim: Claim) -> list[Check]:
    """The variable's effect depends on the moderator.

    Curves: dose-response within each level of the moderator, or within 9 that reach its tails, both set. Contrast: the
    largest difference between two levels of the difference between two doses, at least `INTERACTION`.
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
        share_of_at_least("opposite effects", share(small[0], large[0]), checks.REVERSED, failed),
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

    Curves as for an interaction, of two positive quantities; where one is 0, as counts may be, the shape is not looked
    at. Contrasts: the interaction; the average effect of the variable, at least `EFFECT` in the claimed direction; no
    level where it is reversed by more than `BACK` of the largest; a line, step or hinge of the product or ratio
    explains at least `COMPOSITE` of the variation within levels.
    One variable: the curve leaves at most `SHARPER` after a line in the logarithm of what it leaves after a line in the
    dose, the deviation from the latter is at least `CURVED`, and no threshold explains it better.
    """
    proposal, reading = claim.proposal, claim.reading
    if proposal.second is None:
        return logarithm(claim)
    for name, values in ((proposal.variable, reading.design.doses), (proposal.second, reading.design.levels)):
        if claim.kinds[name] in (*NOMINAL, "binary") or sum(value > 0 for value in values) < 3:
            return [cannot(f"'{name}' has no amounts: with it, a product or ratio is an effect in a subpopulation")]
        if min(values) < 0:
            return [cannot(f"'{name}' is not positive: a product or ratio of it has no direction")]
    grid, sign = _grid(claim), proposal.sign
    levels, doses = grid.effect.shape
    weights = np.zeros((levels, doses))
    weights[:, -1], weights[:, 0] = 1.0 / levels, -1.0 / levels
    average = reading.contrast(weights.ravel())
    effects = [sign * grid.within(level)[0] for level in range(levels)]
    first, second = np.asarray(reading.design.doses), np.asarray(reading.design.levels)
    explained = single_index(grid.effect[np.ix_(second > 0, first > 0)], first[first > 0], second[second > 0])
    return [
        _interaction(grid),
        at_least("average effect", average, checks.EFFECT, "the variable does not move the outcome as claimed", sign),
        at_most("reversed effect", share(-min(effects), max(effects)), checks.BACK,
                "the effect changes its sign, which no product or ratio of positive quantities does"),
        share_of_at_least("explained by product or ratio", explained, checks.COMPOSITE,
                          "the joint response is no function of the product or the ratio"),
    ]  # fmt: skip


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
