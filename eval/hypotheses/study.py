"""A study of the judge: claims of the oracle, claims made wrong on purpose, and worlds in which nothing is planted."""

import collections
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import beta

from arena.plants import Plant
from arena.rooms import Room
from arena.spec import SCMSpec
from eval.hypotheses.evaluate import Judge
from eval.hypotheses.oracle import FORM
from eval.hypotheses.proposals import DIRECTED, FORMS, MAY_PAIR, PAIRED, Proposal, Rejection
from eval.hypotheses.reports import Verdict
from eval.hypotheses.simulator import Simulator

#: Claims about a plant that are true besides its own: do() cannot refute them, because they follow from its equation.
#: (archetype, op or None for any, claimed form) -> why.
IMPLIED: dict[tuple[str, str | None, str], str] = {
    ("interaction_reversal", None, "interaction"): "a reversal is an interaction; the claim says less and is true",
    ("subpopulation_only", None, "interaction"):
        "an effect in a subpopulation differs from that outside; the claim says less and is true",
    ("derived_feature", "linear", "interaction"):
        "in a ratio or product the effect of one quantity depends on the other; the claim says less and is true",
    ("derived_feature", "threshold", "interaction"): "as for a linear one",
    ("derived_feature", "step", "interaction"): "as for a linear one",
    ("subpopulation_only", "conjunction", "threshold"):
        "averaged over the second condition, a conjunction is a step of the first at the same place",
    ("derived_feature", "step", "threshold"):
        "averaged over the other quantity, a step of a ratio or product is a steep, blurred step of one",
    ("derived_feature", "threshold", "threshold"): "likewise a blurred hinge",
    ("derived_feature", "step", "subpopulation"):
        "at low levels of one quantity no dose of the other passes the cut, at high levels every one does: at the "
        "levels set, the effect is there or absent",
    ("derived_feature", "threshold", "subpopulation"): "likewise, where the cut is high",
}  # fmt: skip


class Mutant(NamedTuple):
    """A claim of the oracle, made wrong.

    Attributes:
        kind: `direction`, `moderator`, `level`, `form` or `noise`: what was changed.
        implied: Whether it is true nevertheless.
    """

    plant: Plant
    kind: str
    claim: Proposal
    implied: bool


class World(NamedTuple):
    """One spec of the study: its judge, the oracle's claims, and the mutants of each."""

    judge: Judge
    oracle: list[Proposal]
    mutants: list[Mutant]


def world(spec: SCMSpec, *, seed: int = 0, n: int = 40_000, room: Room | None = None) -> World:
    """The claims about one spec; `seed` chooses the units, and nothing about the claims."""
    simulator = Simulator(spec, seed=seed).auto_calibrate(room)
    judge = Judge(simulator, n, room)
    oracle = judge.oracle()
    rng = np.random.default_rng(np.frombuffer(simulator.spec.content_hash[:16].encode(), np.uint64))
    plants = simulator.answer_key()
    mutants = [
        m for plant, claim in zip(plants, oracle, strict=True) for m in _mutants(plant, claim, simulator.spec, rng)
    ]
    return World(judge, oracle, [m for m in mutants if isinstance(judge.read([m.claim])[0], Proposal)])


def _mutants(plant: Plant, claim: Proposal, spec: SCMSpec, rng: np.random.Generator) -> Iterator[Mutant]:
    related = _related(spec, plant.causes)
    others = [name for name in spec.names if name not in related and name != plant.outcome]
    noise = [name for name in others if name.startswith("n")]
    # Another variable of a claim, when it takes one: never a cause of the plant, nor a consequence of one.
    other = str(rng.choice(others)) if others else None
    turned = {"+": "-", "-": "+"}[claim.direction]
    if claim.form in DIRECTED:
        yield Mutant(plant, "direction", claim.model_copy(update={"direction": turned}), False)
    if claim.second is not None and other:
        yield Mutant(plant, "moderator", claim.model_copy(update={"moderator": other}), False)
    if noise:
        changed = claim.model_copy(update={"variable": str(rng.choice(noise))})
        if changed.variable != changed.second:
            yield Mutant(plant, "noise", changed, False)
    if claim.form == "categorical_level":
        # Levels that have no effect of their own: one against another, one against all others.
        levels = sorted(set(_levels(spec, plant.variable)) - {plant.level})
        yield Mutant(plant, "level", claim.model_copy(update={"level": levels[0], "base": levels[1]}), False)
        yield Mutant(plant, "level", claim.model_copy(update={"level": levels[0], "direction": claim.direction}), False)
    for form in FORMS:
        second = plant.moderator if plant.moderator is not None else other
        if form in (claim.form, "bare_direction") or form in PAIRED and second is None:
            continue
        level = 1.0 if plant.level is None else plant.level
        update = {"form": form, "moderator": second if form in MAY_PAIR else None, "level": level}
        implied = any((plant.archetype, op, form) in IMPLIED for op in (plant.op, None))
        implied = implied and not (plant.archetype == "derived_feature" and plant.moderator is None)
        for direction in ("+", "-") if form in DIRECTED else ("+",):
            wrong = form in DIRECTED and plant.direction is not None and direction != claim.direction
            changed = claim.model_copy(update={**update, "direction": direction})
            yield Mutant(plant, "form", changed, implied and not wrong)


def _levels(spec: SCMSpec, name: str) -> list[float]:
    root = next(node.root for node in spec.nodes if node.name == name)
    return [float(level) for level in range(len(root.probability))]  # type: ignore[union-attr]


def _related(spec: SCMSpec, names: Sequence[str]) -> set[str]:
    """Ancestors and descendants of the variables, and these."""
    found = set(names)
    parents = {node.name: node.parents for node in spec.nodes}
    todo = list(names)
    while todo:
        for parent in parents[todo.pop()]:
            if parent not in found:
                found.add(parent)
                todo.append(parent)
    below = set(names)
    for _ in spec.nodes:
        below |= {name for name in spec.names if any(parent in below for parent in parents[name])}
    return found | below


class Tally:
    """Counts over specs.

    Attributes:
        accepted: By kind of mutant: accepted, judged; those that are true nevertheless are counted as `implied`.
        confusion: By planted form and op, and claimed form: accepted, judged; right directions only.
        changed: Verdicts that differ with other units, and all that were compared.
        oracle: Plants, those recovered, those with a confirmed claim; claims of the oracle, those confirmed.
        failures: What the oracle claimed and the judge refuted, in words.
    """

    def __init__(self) -> None:
        self.accepted: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0])
        self.confusion: dict[tuple[str, str], list[int]] = collections.defaultdict(lambda: [0, 0])
        self.changed = [0, 0]
        self.oracle = [0, 0, 0, 0, 0]
        self.failures: list[str] = []
        self.surprises: list[str] = []

    def add(self, spec: SCMSpec, *, n: int = 40_000, room: Room | None = None, again: bool = True) -> None:
        """Judge one spec; with `again`, also with other units."""
        first = world(spec, n=n, room=room)
        report = first.judge.report(first.oracle)
        self._add_oracle(report.verdicts, [bool(r.by) for r in report.recoveries],
                         [bool(r.confirmed_by) for r in report.recoveries])  # fmt: skip
        verdicts = first.judge.verdicts([mutant.claim for mutant in first.mutants])
        for claim, verdict in zip(first.oracle, report.verdicts, strict=True):
            if not verdict.confirmed:
                self.failures.append(f"{spec.name}: {claim.form} {claim.variable}: {verdict.reason}")
        for mutant, verdict in zip(first.mutants, verdicts, strict=True):
            self._add_mutant(mutant, verdict)
        for plant, verdict in zip(first.judge.simulator.answer_key(), report.verdicts, strict=True):
            self._count(self.confusion[_planted(plant), FORM[plant.archetype]], verdict.confirmed)
        if again:
            other = Judge(Simulator(first.judge.simulator.spec, seed=1), n, room)
            claims: list[Proposal | Rejection] = [*first.oracle, *(mutant.claim for mutant in first.mutants)]
            for one, two in zip([*report.verdicts, *verdicts], other.verdicts(claims), strict=True):
                self._count(self.changed, one.status != two.status)

    def _add_oracle(self, verdicts: Sequence[Verdict], recovered: list[bool], confirmed: list[bool]) -> None:
        own = [len(recovered), sum(recovered), sum(confirmed), len(verdicts), sum(v.confirmed for v in verdicts)]
        self.oracle = [a + b for a, b in zip(self.oracle, own, strict=True)]

    def _add_mutant(self, mutant: Mutant, verdict: Verdict) -> None:
        kind = f"{mutant.kind}, implied" if mutant.implied else mutant.kind
        self._count(self.accepted[kind], verdict.confirmed)
        if mutant.kind == "form" and (
            mutant.claim.form not in DIRECTED or verdict.direction_right or not verdict.moves
        ):
            self._count(self.confusion[_planted(mutant.plant), mutant.claim.form], verdict.confirmed)
        if verdict.confirmed and not mutant.implied:
            self.surprises.append(
                f"{mutant.kind}: {mutant.plant.archetype} {mutant.plant.op} {mutant.plant.operand} by "
                f"{mutant.plant.moderator}, claimed {mutant.claim.form} {mutant.claim.variable} "
                f"{mutant.claim.direction} {mutant.claim.second}: {verdict.reason}"
            )

    @staticmethod
    def _count(pair: list[int], happened: bool) -> None:
        pair[0] += happened
        pair[1] += 1

    @property
    def recall(self) -> float:
        """Share of the plants that the oracle's claims recover, confirmed."""
        return self.oracle[2] / self.oracle[0]

    @property
    def precision(self) -> float:
        """Share of the oracle's claims that are confirmed."""
        return self.oracle[4] / self.oracle[3]


def _planted(plant: Plant) -> str:
    return f"{plant.archetype} ({plant.op})"


def random_claims(judge: Judge, n: int, seed: int) -> list[Proposal]:
    """Random claims of all forms but the bare direction, over all variables of a simulator."""
    rng, found = np.random.default_rng(seed), []
    names = [name for name in judge.simulator.spec.names if name != judge.simulator.outcome]
    forms = [form for form in FORMS if form != "bare_direction"]
    while len(found) < n:
        variable, second = map(str, rng.choice(names, 2, replace=False))
        levels = judge.variables[variable].levels
        data = {
            "variable": variable, "form": str(rng.choice(forms)), "direction": str(rng.choice(["+", "-"])),
            "moderator": second, "level": float(rng.choice(levels)) if levels else None,
        }  # fmt: skip
        found += [claim for claim in judge.read([data]) if isinstance(claim, Proposal)]
    return found


def interval(events: int, trials: int, level: float = 0.95) -> tuple[float, float]:
    """The Clopper-Pearson interval of a rate."""
    tail = (1.0 - level) / 2.0
    low = float(beta.ppf(tail, events, trials - events + 1)) if events else 0.0
    high = float(beta.ppf(1.0 - tail, events + 1, trials - events)) if events < trials else 1.0
    return low, high
