"""Checks: one number from an experiment against one limit. A verdict is a list of them, and holds if all do."""

import dataclasses
import math

#: All in standard deviations of the outcome, as `simulator.response_of` has it.
#: The least effect of a variable from its low to its high doses.
EFFECT = 0.10
#: The least deviation of a threshold from every smooth trend; also as a share of the effect. Small, because a sigmoid
#: comes near a hinge: what tells them apart is how much each leaves unexplained, `SHARPER`.
BEND, BEND_SHARE = 0.01, 0.005
#: The least deviation of a logarithm from a line.
CURVED = 0.03
#: The least difference between the effects at two levels of a moderator.
INTERACTION = 0.15
#: The least association between variable and outcome, a standard deviation of the variable apart.
ASSOCIATION = 0.05
#: An effect counts if it is so many Monte Carlo errors from 0: of the largest of many contrasts, one in 10,000 is.
SURE = 4.0

#: Shares of the largest effect.
#: A monotone curve turns back by no more than this, and a curve that is not monotone by no less than the second.
BACK, TURN = 0.15, 0.15
#: In the levels of a subpopulation an effect is no less than the first, in the others no more than the second.
INSIDE, OUTSIDE = 0.5, 0.15
#: A reversed effect is no less than this.
REVERSED = 0.05
#: Of an effect that is mediated, no more than this is left with the mediator held.
DIRECT = 0.5
#: What a threshold leaves unexplained is no more than this share of what the best smooth trend leaves.
SHARPER = 0.35
#: Share of the variation within levels that a product or ratio explains.
COMPOSITE = 0.97


@dataclasses.dataclass(frozen=True)
class Check:
    """One comparison.

    Attributes:
        name: What was measured, in words.
        value: The number; where a direction is claimed, positive if it is as claimed.
        error: Its Monte Carlo error, 0 for a share.
        limit: What it is compared with.
        least: Whether the limit is the least that passes; the most otherwise.
        unit: `SD` of the outcome, or `share`.
        failed: What it means if the check fails, in words.
    """

    name: str
    value: float
    error: float
    limit: float
    least: bool
    unit: str
    failed: str

    @property
    def margin(self) -> float:
        """Distance to the limit, positive on the side that passes."""
        margin = self.value - self.limit if self.least else self.limit - self.value
        if math.isnan(margin):
            return -1e9
        return margin if math.isfinite(margin) else math.copysign(1e9, margin)

    @property
    def passed(self) -> bool:
        """Whether it is on the right side, and a least effect is sure not to be 0."""
        return self.margin >= 0.0 and (not self.least or self.value >= SURE * self.error)

    def text(self) -> str:
        """One line with its numbers."""
        error = f" +- {self.error:.2g}" if self.unit == "SD" else ""
        sign = ">=" if self.least else "<="
        return f"{self.name} {self.value:.3g}{error} {self.unit} ({sign} {self.limit:.3g})"


def at_least(name: str, measured: tuple[float, float], limit: float, failed: str, sign: int = 1) -> Check:
    """An effect in SD, with its error, that must reach the limit in the direction `sign`."""
    return Check(name, float(sign * measured[0]), float(measured[1]), float(limit), True, "SD", failed)


def at_most(name: str, share: float, limit: float, failed: str) -> Check:
    """A share that must not exceed the limit."""
    return Check(name, float(share), 0.0, limit, False, "share", failed)


def share_of_at_least(name: str, share: float, limit: float, failed: str) -> Check:
    """A share that must reach the limit."""
    return Check(name, float(share), 0.0, limit, True, "share", failed)


def cannot(failed: str) -> Check:
    """A claim that makes no sense for the variables it names."""
    return Check("does not apply", 0.0, 0.0, 1.0, True, "share", failed)
