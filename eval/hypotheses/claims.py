"""What a verifier looks at, and what several of them ask."""

from typing import NamedTuple

from eval.hypotheses import checks
from eval.hypotheses.checks import Check, at_least, cannot
from eval.hypotheses.experiments import Reading
from eval.hypotheses.proposals import NOMINAL, Proposal


class Claim(NamedTuple):
    """What a verifier looks at.

    Attributes:
        kinds: Kind of each variable.
    """

    proposal: Proposal
    reading: Reading
    kinds: dict[str, str]


def total_effect(claim: Claim) -> Check:
    """The effect of the highest dose against the lowest, in the claimed direction."""
    measured = claim.reading.between(len(claim.reading.design.doses) - 1, 0)
    failed = "the variable does not move the outcome as claimed"
    return at_least("effect", measured, checks.EFFECT, failed, claim.proposal.sign)


def unordered(claim: Claim, least: int) -> Check | None:
    """Why no curve can be made of the variable, if so: it has no order, or fewer values than `least`."""
    name, doses = claim.proposal.variable, claim.reading.design.doses
    if claim.kinds[name] in NOMINAL:
        return cannot(f"'{name}' is categorical: its values have no order")
    if len(doses) < least:
        return cannot(f"'{name}' has {len(doses)} values, of which no curve can be made")
    return None


def share(part: float, whole: float) -> float:
    """A part of a whole; infinite of nothing."""
    return part / whole if whole > 0 else float("inf") if part > 0 else 0.0
