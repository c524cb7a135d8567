"""Claims, planted terms and numbers in words, as HTML in which every name is escaped."""

import json
import math
from typing import Any

from markupsafe import Markup

from arena.plants import Plant
from arena.spec import NodeSpec, SCMSpec
from eval.hypotheses.checks import Check
from eval.hypotheses.evaluate import Verdict
from eval.hypotheses.proposals import Proposal
from mechanisms.terms import TermsParameters, TermSpec

STATUS = {
    "confirmed": "confirmed",
    "refuted": "refuted",
    "no_structure": "no structure claimed",
    "rejected": "rejected",
}
ARCHETYPE = {
    "monotone_threshold": "a threshold",
    "non_monotone": "a response that turns",
    "interaction_reversal": "an effect that changes its sign",
    "subpopulation_only": "an effect in a subpopulation only",
    "derived_feature": "an effect of a derived quantity",
    "simpsons_paradox": "a Simpson's paradox",
    "mediation_chain": "a chain through a mediator",
    "category_level": "a level that differs",
}
#: What a noise with a link has the terms add up to.
_LINKED = {"logit": "the log-odds of ", "log": "the log mean of "}
#: Where exp(-z^2 / 2) is one half.
HALF = math.sqrt(2.0 * math.log(2.0))
#: A proposal that was rejected is shown up to this many characters.
MOST = 300


def claim(proposal: Proposal, outcome: str) -> Markup:
    """What a proposal says of the outcome."""
    rises = {1: "raises", -1: "lowers", 0: "changes"}[proposal.sign]
    base = "the other levels" if proposal.base is None else f"{proposal.base:g}"
    template = {
        "bare_direction": "raising {x} {rises} {y}",
        "threshold": "raising {x} {rises} {y}, with a threshold",
        "non_monotone": "{y} rises and falls over the range of {x}",
        "interaction": "the effect of {x} on {y} depends on {m}",
        "interaction_reversal": "the effect of {x} on {y} changes its sign with {m}",
        "subpopulation": "raising {x} {rises} {y}, at some levels of {m} only",
        "derived_feature": "raising {x} {rises} {y}, through its product or ratio with {m}",
        "mediation": "raising {x} {rises} {y}, through {m}",
        "simpsons": "raising {x} {rises} {y}, though the data show the opposite, because of {m}",
        "categorical_level": "{x} = {level} {rises} {y}, against {base}",
    }[proposal.form]
    if proposal.second is None:
        template = template.replace("its product or ratio with {m}", "its logarithm").replace(", because of {m}", "")
    level = "" if proposal.level is None else f"{proposal.level:g}"
    names = {"x": _name(proposal.variable), "y": _name(outcome), "m": _name(proposal.second or "")}
    return Markup(template).format(**names, rises=rises, level=level, base=base)


def term_of(plant: Plant, spec: SCMSpec) -> tuple[TermSpec, NodeSpec]:
    """The term that a plant is, and the node of its outcome."""
    node = next(node for node in spec.nodes if node.name == plant.outcome)
    assert isinstance(node.mechanism, TermsParameters)
    return next(term for term in node.mechanism.terms if term.label == plant.label), node


def planted(plant: Plant, spec: SCMSpec) -> Markup:
    """The term of a plant with its numbers, and what the graph adds to it.

    Numbers are those of the calibrated equation; an effect is on what its terms add up to.
    """
    term, node = term_of(plant, spec)
    units = {other.name: other.unit or "" for other in spec.nodes}
    first, second = term.factors()
    x, z = _operand(term.operand), _per(term.operand, first.scale, units)
    at = _amount(term.operand, first.at, units)
    link = getattr(node.channel.cls, "link", None) or ""
    scale = node.scaling[1] if node.scaling is not None and link not in _LINKED else 1.0
    weight = term.weight * node.strength / scale
    words: dict[str, Any] = {
        "y": Markup(_LINKED.get(link, "")) + _name(plant.outcome),
        "x": x, "z": z, "at": at, "size": f"{abs(weight):.3g}", "rises": "rises" if weight > 0 else "falls",
        "higher": "higher" if weight > 0 else "lower",
    }  # fmt: skip
    if term.by is not None:
        words |= {"w": _operand(term.by), "w_at": _amount(term.by, second.at, units)}
        words |= {"is": "is" if second.shape == "level" else "is above"}
        words |= {"w_up": _amount(term.by, (second.at or 0.0) + (second.scale or 1.0), units)}
    template = {
        "linear": "{y} {rises} by {size} for every {z} of {x}",
        "threshold": "{y} {rises} by {size} for every {z} of {x} above {at}; below, nothing happens",
        "step": "{y} is {size} {higher} where {x} is above {at}",
        "bump": "{y} is up to {size} {higher} at {x} = {at}, and half of that {z} to either side",
        "interaction": "where {w} is {w_up}, {y} {rises} by {size} for every {z} of {x}; the effect is 0 at {w_at}, "
        "and the other way round below",
        "gate": "where {w} {is} {w_at}, {y} {rises} by {size} for every {z} of {x}; elsewhere nothing happens",
        "conjunction": "{y} is {size} {higher} where {x} is above {at} and {w} is above {w_at}",
        "category": "{y} is {size} {higher} where {x} is {at}",
    }[term.op]
    if term.op == "bump" and first.scale is not None:
        words["z"] = _amount(term.operand, HALF * first.scale, units)
    graph = {
        "simpsons_paradox": "; {m} is a cause of both {v} and {y}",
        "mediation_chain": "; {v} acts on it through {m} only",
    }.get(plant.archetype, "")
    return Markup(template + graph).format(**words, v=_name(plant.variable), m=_name(plant.moderator or ""))


def reason(verdict: Verdict) -> str:
    """Why a verdict is what it is, without the numbers, which stand beside it as checks."""
    failed = [check for check in verdict.checks if not check.passed]
    if verdict.status == "confirmed":
        return f"It holds under do(): the experiment passes {'all checks' if len(verdict.checks) > 1 else 'its check'}."
    text = verdict.reason
    for check in (*failed, *verdict.checks)[:1]:
        text = text.removesuffix(f": {check.text()}")
    return f"{text[:1].upper()}{text[1:]}."


def proposed(data: Any) -> str:
    """What was proposed, as text, where it is no claim; cut where it is long."""
    try:
        text = json.dumps(data.model_dump() if isinstance(data, Proposal) else data, ensure_ascii=False)
    except (RecursionError, TypeError, ValueError):
        text = f"a {type(data).__name__} that is not JSON, or too deep"
    return text if len(text) <= MOST else text[: MOST - 1] + "…"


def number(value: float) -> str:
    """A number of a check, with three digits behind the point; beyond a million it is as good as infinite."""
    if not math.isfinite(value) or abs(value) >= 1e6:
        return "–" if math.isnan(value) else "∞" if value > 0 else "−∞"
    text = f"{value:.3f}" if abs(value) < 1000 else f"{value:.0f}"
    return ("0.000" if float(text) == 0 else text).replace("-", "−")


def error(value: float) -> str:
    """A Monte Carlo error, with two digits that count."""
    return number(value) if value > 1 else f"{value:.2g}"


def limit(check: Check) -> str:
    """The limit of a check, with its side."""
    return f"{'≥' if check.least else '≤'}\N{NO-BREAK SPACE}{number(check.limit)}"


def _name(name: str) -> Markup:
    return Markup("<code>{}</code>").format(name)


def _operand(operand: Any) -> Markup:
    joined = {"raw": "{0}", "log": "log {0}", "ratio": "{0} / {1}", "product": "{0} × {1}"}[operand.op]
    return Markup(joined).format(*map(_name, operand.of))


def _amount(operand: Any, value: float | None, units: dict[str, str]) -> str:
    """A value of an operand with its unit."""
    if value is None:
        return ""
    unit = units[operand.of[0]] if operand.op == "raw" else ""
    return f"{value:.4g} {unit}".strip()


def _per(operand: Any, scale: float | None, units: dict[str, str]) -> str:
    return "unit" if scale is None or scale == 1.0 else _amount(operand, scale, units)
