"""Verifiers: what each form claims, as checks on the curves of its experiment. No text is looked at.

Those about curves and about grids of curves have modules of their own. Limits and their units stand in `checks`.
"""

from collections.abc import Callable

import numpy as np

from eval.hypotheses import checks
from eval.hypotheses.checks import Check, at_least, at_most, cannot
from eval.hypotheses.claims import Claim, share
from eval.hypotheses.curves import bare_direction, non_monotone, threshold
from eval.hypotheses.grids import derived_feature, interaction, interaction_reversal, subpopulation


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
        at_most("effect with the mediator held", share(abs(direct[0]), abs(total[0])), checks.DIRECT, failed),
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
    doses = reading.design.doses
    for level in (proposal.level, proposal.base):
        if level is not None and level not in doses:
            return [cannot(f"no experiment sets '{proposal.variable}' to {level:g}")]
    if (effect := _level_effect(claim)) is None:
        return [cannot(f"too few units have another level of '{proposal.variable}'")]
    sign = proposal.sign or (1 if effect[0] >= 0 else -1)
    return [at_least("level against base", effect, checks.EFFECT, "the level does not differ as claimed", sign)]


def _level_effect(claim: Claim) -> tuple[float, float] | None:
    """The level against its base, with the error; None where no other level occurs."""
    proposal, reading = claim.proposal, claim.reading
    doses, weights = reading.design.doses, np.zeros(len(reading.design.doses))
    place = doses.index(proposal.level)  # type: ignore[arg-type]
    if proposal.base is not None:
        weights[doses.index(proposal.base)] = -1.0
    else:
        others = np.array(reading.design.weight)
        others[place] = 0.0
        if not others.sum() > 0.0:
            return None
        weights = -others / others.sum()
    weights[place] = 1.0
    return reading.contrast(weights)


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
    """How much the outcome moves when the variable is raised, on average over a moderator's levels, with the error.

    Of a claim about a level: how much the outcome has more at the level than at its base.
    """
    if claim.proposal.form == "categorical_level" and claim.proposal.level in claim.reading.design.doses:
        return _level_effect(claim) or (0.0, 0.0)
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
