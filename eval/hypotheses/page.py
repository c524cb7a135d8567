"""The judge's report as one HTML page: scores, a card for each plant with its true dose-response, every verdict."""

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arena.outputs import write
from eval.hypotheses import words
from eval.hypotheses.doses import Curves, curves
from eval.hypotheses.evaluate import Judge, Recovery, Report, Verdict
from eval.hypotheses.oracle import FORM
from eval.report import drawn
from eval.report.template import render

#: Proposals that a card names at most; the table has all.
MOST_NAMED = 40
_KINDS = {
    "curve": "Mean outcome when do() sets the variable to each dose.",
    "grid": "Mean outcome when do() sets the variable to each dose and {second} to a level, a line for each level.",
    "mediation": "Mean outcome when do() sets the variable to each dose; and the same with {second} of every unit held "
    "at what it was.",
    "simpsons": "Mean outcome when do() sets the variable to each dose, beside the straight line that the data show.",
    "levels": "Mean outcome when do() sets the variable to each level.",
}


def write_html(judge: Judge, report: Report, proposals: Sequence[Any], path: str | os.PathLike[str]) -> Path:
    """Write the page of a report, one offline file; whole or not at all.

    Without the libraries that draw figures it has tables of their numbers only, and says which command brings them.

    Args:
        judge: Who made the report; the doses of the plants are from its laboratory.
        report: Scores and verdicts.
        proposals: What was judged, in the order of the verdicts.
        path: The file to write.

    Raises:
        DataError: If the file cannot be written.
    """
    content = _content(judge, report, proposals)
    html = render("judge.html", content, styles=("judge.css",), scripts=("judge.js",))
    # Half a surrogate pair, which JSON can hold, is written as the escape that it came as.
    path = Path(path)
    return write(path.parent, {path.name: html.encode("utf-8", "backslashreplace")})[path.name]


def _content(judge: Judge, report: Report, proposals: Sequence[Any]) -> dict[str, Any]:
    simulator, laboratory = judge.simulator, judge.laboratory
    plants = report.recoveries
    readings = laboratory.run([judge.design(recovery.signature.proposal) for recovery in plants])  # type: ignore[arg-type]
    shown = [curves(reading, laboratory.values[reading.design.variable]) for reading in readings]
    specs = _figures(judge, report, shown) if drawn.figures_available() else {}
    read_as, sd, _ = report.read_as
    forms = {v.proposal.form for v in report.verdicts if v.proposal is not None}
    counts = {status: sum(v.status == status for v in report.verdicts) for status in words.STATUS}
    return {
        "title": simulator.spec.name or "spec",
        "outcome": report.outcome,
        "read_as": read_as,
        "sd": f"{sd:.3g}",
        "units": f"{report.n_units:,}",
        "scores": _scores(report),
        "counts": [(status, words.STATUS[status], count) for status, count in counts.items()],
        "plants": [_plant(judge, recovery, found) for recovery, found in zip(plants, shown, strict=True)],
        "proposals": _proposals(report, proposals),
        "forms": sorted(forms),
        "install": "" if specs or not plants else drawn.INSTALL,
        "library": drawn.library() if specs else "",
        "specs": specs,
        "hash": simulator.spec.content_hash,
        "seed": report.seed,
    }


def _scores(report: Report) -> list[dict[str, str]]:
    """The headline scores: value, of what, what it means. A share of nothing is a dash, unless it counts as 0."""
    recoveries, verdicts = report.recoveries, report.verdicts
    directed = [verdict for verdict in verdicts if verdict.directed]
    rows = [
        ("Recall", report.family_recall, sum(bool(r.by) for r in recoveries), len(recoveries), "plants",
         "Planted mechanisms that some proposal names a cause of, in a form of the right family."),
        ("Confirmed recall", report.confirmed_recall, sum(bool(r.confirmed_by) for r in recoveries), len(recoveries),
         "plants", "Of these, with a proposal whose whole claim survived its own experiment."),
        ("Claim precision", report.claim_precision, sum(v.confirmed for v in verdicts), len(verdicts), "proposals",
         "Proposals whose whole claim survived; rejected ones count as failed, and no proposals as 0."),
        ("Directional precision", report.directional_precision, sum(v.direction_right for v in directed),
         len(directed), "directions", "Claimed directions that are right. A diagnostic: it asks for no structure."),
    ]  # fmt: skip
    return [
        {"name": name, "about": about, "of": f"{part} of {whole} {what}",
         "value": f"{value:.3f}" if whole or name == "Claim precision" else "–"}
        for name, value, part, whole, what, about in rows
    ]  # fmt: skip


def _plant(judge: Judge, recovery: Recovery, found: Curves) -> dict[str, Any]:
    plant, signature = recovery.plant, recovery.signature
    assert signature.proposal is not None
    state = "confirmed" if recovery.confirmed_by else "recovered" if recovery.by else "missed"
    named = recovery.by[:MOST_NAMED]
    return {
        "label": plant.label,
        "archetype": plant.archetype,
        "kind": words.ARCHETYPE[plant.archetype],
        "state": state,
        "term": words.planted(plant, judge.simulator.spec),
        "causes": plant.causes,
        "claim": words.claim(signature.proposal, plant.outcome),
        "form": FORM[plant.archetype],
        "signature": _verdict(signature),
        "by": [{"number": k + 1, "confirmed": k in recovery.confirmed_by} for k in named],
        "more": len(recovery.by) - len(named),
        "about": _KINDS[found.kind].format(second=found.second or "a second variable"),
        "error": words.error(found.largest_error),
        "variable": found.variable,
        "second": found.second,
        "bars": found.kind == "levels",
        "several": len(found.lines) > 1,
        "points": [(p.line, f"{p.dose:.4g}", words.number(p.effect), words.error(p.error)) for p in found.points],
    }


def _proposals(report: Report, proposals: Sequence[Any]) -> list[dict[str, Any]]:
    recovers: dict[int, list[str]] = {}
    for recovery in report.recoveries:
        for k in recovery.by:
            recovers.setdefault(k, []).append(recovery.plant.label)
    lines = []
    for k, (verdict, given) in enumerate(zip(report.verdicts, proposals, strict=True)):
        claim = verdict.proposal
        line = _verdict(verdict) | {"number": k + 1, "recovers": recovers.get(k, ())}
        line["form"] = claim.form if claim else None
        line["claim"] = words.claim(claim, report.outcome) if claim else None
        line["given"] = None if claim else verdict.text or words.proposed(given)
        lines.append(line)
    return lines


def _verdict(verdict: Verdict) -> dict[str, Any]:
    deciding = verdict.deciding
    margin = None if deciding is None else deciding.margin
    return {
        "status": verdict.status,
        "verdict": words.STATUS[verdict.status],
        "reason": words.reason(verdict),
        "margin": None if margin is None else words.number(margin),
        "sort": "" if margin is None or not math.isfinite(margin) else margin,
        "moved": None if verdict.proposal is None else (words.number(verdict.moved[0]), words.error(verdict.moved[1])),
        "moved_sort": "" if verdict.proposal is None else verdict.moved[0],
        "checks": [
            {"name": c.name, "value": words.number(c.value), "error": words.error(c.error) if c.unit == "SD" else None,
             "limit": words.limit(c), "margin": words.number(c.margin), "unit": c.unit, "passed": c.passed}
            for c in verdict.checks
        ],
    }  # fmt: skip


def _figures(judge: Judge, report: Report, shown: Sequence[Curves]) -> dict[str, Any]:
    """The figure of each plant, by the number of its card."""
    from eval.hypotheses.figures import figure

    spec, read_as = judge.simulator.spec, report.read_as[0]
    units = {node.name: node.unit for node in spec.nodes if node.unit}
    outcome = report.outcome if read_as == "value" else f"{read_as} of {report.outcome}"
    specs = {}
    for k, (recovery, found) in enumerate(zip(report.recoveries, shown, strict=True)):
        term, _ = words.term_of(recovery.plant, spec)
        own, turns = term.operand.op, term.op in ("threshold", "step", "bump", "conjunction")
        at = term.at if turns and own in ("raw", "log") and term.operand.of[0] == found.variable else None
        at = math.exp(at) if at is not None and own == "log" else at
        specs[f"plant-{k + 1}"] = figure(found, judge.laboratory.kinds, units, outcome, at)
    return specs
