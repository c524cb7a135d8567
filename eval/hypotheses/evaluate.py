"""The judge: proposals against a simulator - verdicts by experiment, then recall and precision."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from arena.errors import DataError
from arena.plants import Plant
from arena.rooms import Room
from eval.hypotheses import verifiers
from eval.hypotheses.claims import Claim
from eval.hypotheses.columns import Column
from eval.hypotheses.designs import Planner
from eval.hypotheses.experiments import Laboratory, Reading, check_units
from eval.hypotheses.oracle import FORM, claim
from eval.hypotheses.proposals import DIRECTED, Proposal, Rejection, Variable, read_all
from eval.hypotheses.reports import Recovery, Report, Verdict
from eval.hypotheses.simulator import N_UNITS, Simulator
from eval.hypotheses.verifiers import VERIFIERS

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


class Judge:
    """Experiments on one simulator, and the verdicts that follow from them.

    Args:
        simulator: A calibrated simulator; its seed chooses the units.
        n: Units of each experiment.
        room: As for a `Laboratory`.
    """

    def __init__(self, simulator: Simulator, n: int = N_UNITS, room: Room | None = None):
        check_units(n)
        self.simulator, self.n = simulator, n
        self.laboratory = Laboratory(simulator, n, room)
        self.variables = variables(self.laboratory.columns)
        self.design = Planner(self.laboratory.values, self.laboratory.columns)

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
        verdicts = self.verdicts([*claims, *self.read([claim(plant) for plant in plants])])
        verdicts, signatures = verdicts[: len(claims)], verdicts[len(claims) :]
        turned = [self._turned(plant, verdict) for plant, verdict in zip(plants, signatures, strict=True)]
        recoveries = tuple(_recovery(p, s, verdicts) for p, s in zip(plants, turned, strict=True))
        directed = [verdict for verdict in verdicts if verdict.directed]
        distinct = list({_said(verdict, k): verdict for k, verdict in enumerate(verdicts)}.values())
        response = self.laboratory.response
        return Report(
            self.simulator.outcome, tuple(verdicts), recoveries,
            _share(sum(bool(r.by) for r in recoveries), len(recoveries)),
            _share(sum(bool(r.confirmed_by) for r in recoveries), len(recoveries)),
            _share(sum(v.confirmed for v in verdicts), len(verdicts)),
            _share(sum(v.direction_right for v in directed), len(directed)),
            self.n, self.simulator.seed, (response.name, response.scale, response.error),
            len(distinct), _share(sum(v.confirmed for v in distinct), len(distinct)),
        )  # fmt: skip

    def oracle(self) -> list[Proposal]:
        """The claims of a method that knows the answer key."""
        plants = self.simulator.answer_key()
        found = self.verdicts([claim(plant) for plant in plants])
        down = [v.moved[0] < 0 and FORM[p.archetype] in DIRECTED for p, v in zip(plants, found, strict=True)]
        return [claim(plant, "-" if falls else "+") for plant, falls in zip(plants, down, strict=True)]

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


def variables(columns: Mapping[str, Column]) -> dict[str, Variable]:
    """What claims may say of each variable."""
    return {
        name: Variable(column.kind, column.levels if column.kind in ("categorical", "ordinal") else ())
        for name, column in columns.items()
    }


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
    confirmed = (k for k in by if verdicts[k].confirmed and _of_its_variables(plant, verdicts[k].proposal))
    return Recovery(plant, signature, tuple(by), tuple(confirmed))


def _of_its_variables(plant: Plant, proposal: Proposal | None) -> bool:
    """Whether the second variable of a claim, if both have one, is the plant's."""
    second = proposal.second if proposal else None
    return second is None or plant.moderator is None or second in plant.causes


def _said(verdict: Verdict, number: int) -> Hashable:
    """What a proposal says; each one that says nothing is by itself."""
    proposal = verdict.proposal
    if proposal is None:
        return number
    levels = (proposal.level, proposal.base) if proposal.form == "categorical_level" else None
    direction = proposal.direction if proposal.form in DIRECTED else None
    return proposal.variable, proposal.form, direction, proposal.second, levels


def _rejected(rejection: Rejection) -> Verdict:
    return Verdict(None, "rejected", rejection.reason)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
