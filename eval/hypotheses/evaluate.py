"""The judge: proposals against a simulator - verdicts by experiment, then recall and precision."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from arena.errors import DataError
from arena.plants import Plant
from arena.rooms import Room
from eval.hypotheses import verifiers
from eval.hypotheses.checks import EFFECT, SURE, Check
from eval.hypotheses.designs import Planner
from eval.hypotheses.experiments import Laboratory, Reading
from eval.hypotheses.oracle import FORM, claim
from eval.hypotheses.proposals import DIRECTED, Proposal, Rejection, Variable, read_all
from eval.hypotheses.simulator import N_UNITS, Simulator
from eval.hypotheses.verifiers import VERIFIERS, Claim

MODERATION = ("interaction", "interaction_reversal", "subpopulation")
#: The forms that assert the family of a plant. A ratio or product shows under do() as a joint effect of two variables,
#: so an assertion of moderation counts for it; what confounds is expressed as a conditional, reversed or subgroup
#: effect.
FAMILY: dict[str, tuple[str, ...]] = {
    "monotone_threshold": ("threshold",),
    "non_monotone": ("non_monotone",),
    "interaction_reversal": MODERATION,
    "subpopulation_only": MODERATION,
    "derived_feature": ("derived_feature", *MODERATION),
    "simpsons_paradox": ("simpsons", "mediation", *MODERATION),
    "mediation_chain": ("mediation", "simpsons", *MODERATION),
    "category_level": ("categorical_level",),
}
#: Plants for which the proposal's own variable must also move the outcome.
CONFOUND = ("simpsons_paradox", "mediation_chain")
#: Proposals in one list.
MOST = 100_000


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
        confirmed_by: Those of them whose own claim was confirmed.
    """

    plant: Plant
    signature: Verdict
    by: tuple[int, ...]
    confirmed_by: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Report:
    """Verdicts and scores.

    Attributes:
        family_recall: Share of the plants that some proposal names a cause of, in a form of the plant's family, the
            plant's signature being there.
        confirmed_recall: Share of the plants that a proposal recovers whose own claim was confirmed.
        claim_precision: Share of all proposals, malformed ones too, whose full claim was confirmed; 0 without any.
        directional_precision: Share of the proposals with a direction whose direction is right; a diagnostic.
        read_as: How the outcome was read, and the standard deviation that effects are in.
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
    read_as: tuple[str, float]
    parsed_by: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The report as JSON."""
        return {
            "outcome": self.outcome,
            **({} if self.parsed_by is None else {"parsed_by": self.parsed_by}),
            "recall": {"recall": self.family_recall, "confirmed_recall": self.confirmed_recall,
                       "n_plants": len(self.recoveries)},
            "precision": {"claim_precision": self.claim_precision,
                          "directional_precision": self.directional_precision, "n_proposals": len(self.verdicts)},
            "experiment": {"units": self.n_units, "seed": self.seed, "outcome_read_as": self.read_as[0],
                           "outcome_sd": self.read_as[1]},
            "plants": [_recovery_json(recovery) for recovery in self.recoveries],
            "proposals": [_verdict_json(verdict) for verdict in self.verdicts],
        }  # fmt: skip


class Judge:
    """Experiments on one simulator, and the verdicts that follow from them.

    Args:
        simulator: A calibrated simulator; its seed chooses the units.
        n: Units of each experiment.
        room: As for a `Laboratory`.
    """

    def __init__(self, simulator: Simulator, n: int = N_UNITS, room: Room | None = None):
        if n < 1000:
            raise DataError(f"{n} units an experiment are asked for, expected at least 1000")
        self.simulator, self.n = simulator, n
        self.laboratory = Laboratory(simulator, n, room)
        self.variables = variables(self.laboratory)
        self.design = Planner(self.laboratory.values, self.laboratory.kinds)

    def read(self, data: Any) -> list[Proposal | Rejection]:
        """What was proposed, as claims or rejections."""
        if not isinstance(data, list | tuple):
            raise DataError(f"proposals are {type(data).__name__}, expected a list of objects")
        if len(data) > MOST:
            raise DataError(f"{len(data)} proposals, expected at most {MOST}")
        return read_all(data, self.variables, self.simulator.outcome)

    def verdicts(self, claims: Sequence[Proposal | Rejection]) -> list[Verdict]:
        """The verdict on each, from one pass of experiments."""
        proposals = [one for one in claims if isinstance(one, Proposal)]
        readings = iter(self.laboratory.run([self.design(proposal) for proposal in proposals]))
        return [
            self._verdict(one, next(readings)) if isinstance(one, Proposal) else _rejected(one) for one in claims
        ]  # fmt: skip

    def report(self, data: Any) -> Report:
        """Judge a list of proposals, as parsed from JSON.

        Raises:
            DataError: If it is no list.
        """
        claims, plants = self.read(data), self.simulator.answer_key()
        verdicts = self.verdicts([*claims, *(claim(plant) for plant in plants)])
        verdicts, signatures = verdicts[: len(claims)], verdicts[len(claims) :]
        turned = [self._turned(plant, verdict) for plant, verdict in zip(plants, signatures, strict=True)]
        recoveries = tuple(_recovery(p, s, verdicts) for p, s in zip(plants, turned, strict=True))
        directed = [verdict for verdict in verdicts if verdict.directed]
        response = self.laboratory.response
        return Report(
            self.simulator.outcome, tuple(verdicts), recoveries,
            _share(sum(bool(r.by) for r in recoveries), len(recoveries)),
            _share(sum(bool(r.confirmed_by) for r in recoveries), len(recoveries)),
            _share(sum(v.confirmed for v in verdicts), len(verdicts)),
            _share(sum(v.direction_right for v in directed), len(directed)),
            self.n, self.simulator.seed, (response.name, response.scale),
        )  # fmt: skip

    def oracle(self) -> list[Proposal]:
        """The claims of a method that knows the answer key."""
        plants = self.simulator.answer_key()
        found = self.verdicts([claim(plant) for plant in plants])
        return [claim(p, "-" if v.moved[0] < 0 else "+") for p, v in zip(plants, found, strict=True)]

    def _turned(self, plant: Plant, verdict: Verdict) -> Verdict:
        """A signature whose direction the answer key leaves open, in the direction that the experiment shows."""
        if plant.direction is None and verdict.moved[0] < 0:
            return self.verdicts([claim(plant, "-")])[0]
        return verdict

    def _verdict(self, proposal: Proposal, reading: Reading) -> Verdict:
        asked = Claim(proposal, reading, self.laboratory.kinds)
        checks = tuple(VERIFIERS[proposal.form](asked))
        moved = verifiers.direction(asked)
        failed = [check for check in checks if not check.passed]
        if proposal.form == "bare_direction":
            right = "the direction is right" if not failed else failed[0].failed
            return Verdict(proposal, "no_structure", f"claims no structure; {right}: {checks[0].text()}", checks, moved)
        if failed:
            return Verdict(proposal, "refuted", f"{failed[0].failed}: {failed[0].text()}", checks, moved)
        numbers = "; ".join(check.text() for check in checks)
        return Verdict(proposal, "confirmed", f"holds under do(): {numbers}", checks, moved)


def judge(simulator: Simulator, proposals: Any, n: int = N_UNITS) -> Report:
    """Judge proposals against a calibrated simulator.

    Args:
        simulator: The world; its seed chooses the units of the experiments.
        proposals: Objects as parsed from JSON; see `Proposal`.
        n: Units of each experiment.

    Raises:
        DataError: If `proposals` is no list. What is wrong with one proposal is its verdict.
    """
    return Judge(simulator, n).report(proposals)


def variables(laboratory: Laboratory) -> dict[str, Variable]:
    """What claims may say of each variable."""
    found = {}
    for name, kind in laboratory.kinds.items():
        levels = ()
        if kind in ("categorical", "ordinal"):
            levels = tuple(sorted(set(laboratory.values[name].tolist())))
        found[name] = Variable(kind, levels)
    return found


def _recovery(plant: Plant, signature: Verdict, verdicts: Sequence[Verdict]) -> Recovery:
    by = []
    for number, verdict in enumerate(verdicts):
        proposal = verdict.proposal
        if proposal is None or proposal.variable not in plant.causes:
            continue
        if proposal.form not in FAMILY[plant.archetype] or not signature.confirmed:
            continue
        if plant.archetype in CONFOUND and not verdict.moves:
            continue
        by.append(number)
    return Recovery(plant, signature, tuple(by), tuple(k for k in by if verdicts[k].confirmed))


def _rejected(rejection: Rejection) -> Verdict:
    return Verdict(None, "rejected", rejection.reason)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


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
        out["total_effect"] = {"effect": verdict.moved[0], "mc_error": verdict.moved[1], "unit": "SD"}
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
        "signature": _verdict_json(recovery.signature),
        "recovered": bool(recovery.by), "confirmed": bool(recovery.confirmed_by),
        "recovered_by": list(recovery.by), "confirmed_by": list(recovery.confirmed_by),
    }  # fmt: skip


def _finite(value: Any) -> Any:
    """JSON has no infinity."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
