"""Reports: what became of each proposal and of each plant, the scores, and all of it as JSON."""

import dataclasses
import math
from typing import Any

from arena.plants import Plant
from eval.hypotheses.checks import EFFECT, SURE, Check
from eval.hypotheses.oracle import FORM
from eval.hypotheses.proposals import DIRECTED, Proposal


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What became of one proposal.

    Attributes:
        proposal: The claim; None if what was proposed is none.
        status: `confirmed`, `refuted`, `no_structure` (a direction alone, whatever it is) or `rejected`.
        reason: Why, in plain language.
        checks: What was measured, in the order of the form's verifier.
        moved: How much raising the variable moves the outcome, in SD, and the Monte Carlo error.
        text: What the claim was read from, if it was free text.
    """

    proposal: Proposal | None
    status: str
    reason: str
    checks: tuple[Check, ...] = ()
    moved: tuple[float, float] = (0.0, 0.0)
    text: str | None = None

    @property
    def confirmed(self) -> bool:
        """Whether the full claim survived its experiment."""
        return self.status == "confirmed"

    @property
    def deciding(self) -> Check | None:
        """The check that failed first, or the one that passed by least of its limit."""
        failed = [check for check in self.checks if not check.passed]
        if failed:
            return failed[0]
        return min(self.checks, key=lambda check: check.margin / max(abs(check.limit), 0.01), default=None)

    @property
    def moves(self) -> bool:
        """Whether the variable moves the outcome at all."""
        return abs(self.moved[0]) >= max(EFFECT, SURE * self.moved[1])

    @property
    def directed(self) -> bool:
        """Whether a direction is claimed."""
        return self.proposal is not None and self.proposal.form in DIRECTED and self.proposal.sign != 0

    @property
    def direction_right(self) -> bool:
        """Whether the claimed direction is that of the effect."""
        return self.directed and self.moves and self.proposal.sign * self.moved[0] > 0  # type: ignore[union-attr]


@dataclasses.dataclass(frozen=True)
class Recovery:
    """What became of one plant.

    Attributes:
        signature: The verdict on the plant itself, as the oracle claims it.
        by: Numbers of the proposals that name a cause of it in a form of its family.
        confirmed_by: Those of them whose own claim was confirmed, and is about the plant's variables: where both have a
            second variable, it is a cause of the plant.
    """

    plant: Plant
    signature: Verdict
    by: tuple[int, ...]
    confirmed_by: tuple[int, ...]

    @property
    def confirmable(self) -> bool:
        """Whether the plant's own claim survives its experiment; no proposal recovers the plant otherwise."""
        return self.signature.confirmed


@dataclasses.dataclass(frozen=True)
class Report:
    """Verdicts and scores.

    Attributes:
        family_recall: Share of the plants that some proposal names a cause of, in a form of the plant's family, the
            plant's signature being there.
        confirmed_recall: Share of the plants that a proposal recovers whose own claim was confirmed, second variable
            included.
        claim_precision: Share of all proposals, malformed ones too, whose full claim was confirmed; 0 without any.
        directional_precision: Share of the proposals with a direction whose direction is right; a diagnostic.
        read_as: How the outcome was read, the standard deviation that effects are in, and its relative error.
        n_distinct, distinct_precision: Proposals that say different things - fields that a form ignores aside - and the
            share of these that was confirmed.
        parsed_by: The language model that read the claims from free text, if one did.
    """

    outcome: str
    verdicts: tuple[Verdict, ...]
    recoveries: tuple[Recovery, ...]
    family_recall: float
    confirmed_recall: float
    claim_precision: float
    directional_precision: float
    n_units: int
    seed: int
    read_as: tuple[str, float, float]
    n_distinct: int
    distinct_precision: float
    parsed_by: str | None = None

    def warnings(self) -> list[str]:
        """The plants that no claim can recover, each with the reason."""
        return [
            f"plant '{r.plant.label}' cannot be confirmed by any claim: {r.signature.reason}"
            for r in self.recoveries
            if not r.confirmable
        ]

    def as_json(self) -> dict[str, Any]:
        """The report as JSON."""
        return {
            "outcome": self.outcome,
            **({} if self.parsed_by is None else {"parsed_by": self.parsed_by}),
            "recall": {"recall": self.family_recall, "confirmed_recall": self.confirmed_recall,
                       "n_plants": len(self.recoveries)},
            "precision": {"claim_precision": self.claim_precision,
                          "directional_precision": self.directional_precision, "n_proposals": len(self.verdicts),
                          "distinct_precision": self.distinct_precision, "n_distinct": self.n_distinct},
            "experiment": {"units": self.n_units, "seed": self.seed, "outcome_read_as": self.read_as[0],
                           "outcome_sd": self.read_as[1], "outcome_sd_error": self.read_as[2]},
            "plants": [_recovery_json(recovery) for recovery in self.recoveries],
            "proposals": [_verdict_json(verdict) for verdict in self.verdicts],
        }  # fmt: skip


def _verdict_json(verdict: Verdict) -> dict[str, Any]:
    deciding = verdict.deciding
    out: dict[str, Any] = {} if verdict.text is None else {"text": verdict.text}
    out |= {
        "proposal": verdict.proposal.model_dump() if verdict.proposal else None,
        "status": verdict.status,
        "reason": verdict.reason,
    }
    if deciding is not None:
        numbers = {"measured": deciding.name, "effect": deciding.value, "mc_error": deciding.error,
                   "limit": deciding.limit, "margin": deciding.margin, "unit": deciding.unit}  # fmt: skip
        out |= {name: _finite(number) for name, number in numbers.items()}
        effect, error = map(_finite, verdict.moved)
        out["total_effect"] = {"effect": effect, "mc_error": error, "unit": "SD"}
        out["checks"] = [
            {name: _finite(getattr(check, name)) for name in ("name", "value", "error", "limit", "margin", "unit")}
            | {"passed": check.passed}
            for check in verdict.checks
        ]
    return out


def _recovery_json(recovery: Recovery) -> dict[str, Any]:
    plant = recovery.plant
    return {
        "label": plant.label, "archetype": plant.archetype, "variable": plant.variable, "moderator": plant.moderator,
        "form": FORM[plant.archetype], "causes": list(plant.causes),
        "confirmable": recovery.confirmable, "signature": _verdict_json(recovery.signature),
        "recovered": bool(recovery.by), "confirmed": bool(recovery.confirmed_by),
        "recovered_by": list(recovery.by), "confirmed_by": list(recovery.confirmed_by),
    }  # fmt: skip


def _finite(value: Any) -> Any:
    """JSON has no infinity."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
