"""What a spec planted to be found: the labelled terms of its outcome, as plants with their causes."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from arena import thresholds
from arena.errors import SpecError
from arena.levels import levels_of, nearest, quantile
from arena.rooms import Room
from arena.spec import NodeSpec, SCMSpec
from mechanisms import registry
from mechanisms.terms import TermsParameters, TermSpec

#: A root counts as positive if it is so outside this share of the data.
NEGLIGIBLE = 0.02


@dataclasses.dataclass(frozen=True)
class Plant:
    """A mechanism that a spec planted.

    Attributes:
        label: Its name.
        archetype: Its kind; see `mechanisms.terms.Archetype`.
        outcome: The variable that it acts on.
        variable: Its main cause.
        moderator: The second variable of its claim: moderator, component, confounder or mediator; None if it has none.
        direction: `+` or `-`: how the outcome moves when the main cause rises, or where it has the level; for a bump,
            `+` is a peak. None where that depends on the moderator, or where the experiment has to say it.
        level: The level that it singles out, if any, as the variable has it.
        causes: The variables whose do() moves the outcome by this mechanism; all common causes or sources that the
            graph has for it are among them.
        op, operand: The term, as text.
    """

    label: str
    archetype: str
    outcome: str
    variable: str
    moderator: str | None
    direction: str | None
    level: float | None
    causes: tuple[str, ...]
    op: str
    operand: str


def outcome_of(spec: SCMSpec) -> str:
    """The variable that hypotheses are about: the one that the spec names, or the only one with labelled terms.

    Raises:
        SpecError: If there is no such variable, or labelled terms stand elsewhere.
    """
    labelled = [node.name for node in spec.nodes if any(term.label for term in _terms(node))]
    name = spec.outcome or (labelled[0] if len(labelled) == 1 else None)
    if name is None:
        found = f"{len(labelled)} variables have labelled terms"
        raise SpecError(f"spec, field 'outcome': is missing, and {found}; expected the variable hypotheses are about")
    for other in labelled:
        if other != name:
            raise SpecError(f"variable '{other}': has labelled terms, expected them in the outcome '{name}' only")
    return name


def answer_key(spec: SCMSpec, room: Room | None = None) -> tuple[Plant, ...]:
    """The plants of a spec, in the order of its terms.

    Where the graph has several common causes for a Simpson's paradox, or several sources of a chain, the strongest in a
    sample of the calibrated spec is the plant's; all of them are among its causes.

    Args:
        spec: A spec; one that is not calibrated is, where strengths are compared.
        room: What the sample is drawn in; it changes no number.

    Raises:
        SpecError: If there is no outcome, or a plant cannot be what its archetype says; see `check_plants`.
    """
    outcome, found = check_plants(spec), []
    nodes = {node.name: node for node in spec.nodes}
    values: dict[str, np.ndarray] | None = None
    for term in _terms(outcome):
        if term.label:
            others = _others(term, outcome, nodes)
            if len(others) > 1:
                if values is None:
                    values = thresholds.sample_of(spec, room)
                others = _strongest(term, others, outcome.name, values)
            found.append(_plant(term, outcome, nodes, others))
    return tuple(found)


def check_plants(spec: SCMSpec) -> NodeSpec:
    """The outcome of a spec, if its plants can be what their archetypes say.

    Raises:
        SpecError: If there is no outcome; if the graph lacks a common cause for a Simpson's paradox, or a source for a
            mediation chain; if a level does not exist; if a derived feature is of a root that is not positive.
    """
    nodes = {node.name: node for node in spec.nodes}
    outcome = nodes[outcome_of(spec)]
    for term in _terms(outcome):
        if term.label:
            _others(term, outcome, nodes)
            _level(term, outcome.name, nodes)
            _check_positive(term, outcome.name, nodes)
    return outcome


def as_json(plants: tuple[Plant, ...]) -> list[dict[str, Any]]:
    """The plants as JSON objects."""
    return [dataclasses.asdict(plant) | {"causes": list(plant.causes)} for plant in plants]


def _plant(term: TermSpec, outcome: NodeSpec, nodes: dict[str, NodeSpec], others: tuple[str, ...]) -> Plant:
    variable, causes = term.operand.of[0], term.variables()
    moderator = term.operand.of[1] if len(term.operand.of) == 2 else None
    direction = _direction(term, nodes)
    assert term.label is not None and term.archetype is not None
    match term.archetype:
        case "interaction_reversal":
            assert term.by is not None
            moderator, direction = term.by.of[0], None
        case "subpopulation_only":
            assert term.by is not None
            moderator = term.by.of[0]
        case "simpsons_paradox":
            moderator, causes = others[0], (variable, *others)
        case "mediation_chain":
            variable, moderator, causes = others[0], variable, (others[0], variable, *others)
            direction = None  # the product of two effects: the experiment says its sign
    return Plant(
        term.label, term.archetype, outcome.name, variable, moderator, direction, _level(term, outcome.name, nodes),
        tuple(dict.fromkeys(causes)), term.op, str(term.operand),
    )  # fmt: skip


def _direction(term: TermSpec, nodes: dict[str, NodeSpec]) -> str | None:
    """How the main cause moves the outcome, None where that depends on the sign of another variable."""
    rises = term.weight > 0
    if term.operand.op in ("product", "ratio"):
        other = nodes[term.operand.of[1]]
        lowest, highest = quantile(other, 1e-5), quantile(other, 1 - 1e-5)
        if lowest is None or highest is None or lowest < 0.0 < highest:
            return None
        rises ^= highest <= 0.0
    return "+" if rises else "-"


def _level(term: TermSpec, outcome: str, nodes: dict[str, NodeSpec]) -> float | None:
    """The level that a term singles out, as the variable has it."""
    operand = term.by if term.op == "gate" else term.operand
    if term.level is None or operand is None or operand.op != "raw":
        return term.level
    (name,) = operand.of
    node, where = nodes[name], f"variable '{outcome}', term '{term.label}'"
    known = levels_of(node)
    if term.op == "category" and (node.kind == "binary" or known is not None and len(known[0]) <= 2):
        raise SpecError(
            f"{where}: singles out a level of '{name}', which has two values: there it is a direction and no "
            "structure; expected a variable with more levels"
        )
    if known is None:
        if node.root is not None and _continuous(node):
            raise SpecError(f"{where}: '{name}' has no levels, found level {term.level:g}")
        return term.level
    wanted = term.level
    level = nearest(wanted, known[0])
    if level is None:
        closest = sorted(sorted(known[0], key=lambda one: abs(one - wanted))[:5])
        listed = ", ".join(f"{one:.6g}" for one in closest)
        raise SpecError(f"{where}: '{name}' has no level {wanted:g}; the nearest of its levels are {listed}")
    return level


def _continuous(node: NodeSpec) -> bool:
    assert node.root is not None
    return node.kind == "continuous" and registry.families("root")[node.root.family].value_kind == "continuous"  # type: ignore[attr-defined]


def _check_positive(term: TermSpec, outcome: str, nodes: dict[str, NodeSpec]) -> None:
    """SpecError where a derived feature is of a root with values that leave it no direction, or no meaning."""
    if term.archetype != "derived_feature":
        return
    for place, name in enumerate(term.operand.of):
        low = quantile(nodes[name], NEGLIGIBLE)
        zero = term.operand.op == "product" or (term.operand.op == "ratio" and place == 0)
        if low is not None and (low < 0.0 or low == 0.0 and not zero):
            raise SpecError(
                f"variable '{outcome}', term '{term.label}': a {term.operand.op} of '{name}', whose quantile "
                f"{NEGLIGIBLE} is {low:.3g}; expected a positive variable: of others a derived feature has no direction"
            )


def _others(term: TermSpec, outcome: NodeSpec, nodes: dict[str, NodeSpec]) -> tuple[str, ...]:
    """The common causes of a Simpson's paradox, or the sources of a mediation chain, in the order of the spec."""
    variable, where = term.operand.of[0], f"variable '{outcome.name}', term '{term.label}'"
    match term.archetype:
        case "simpsons_paradox":
            around = _ancestors(outcome.name, nodes, without=variable)
            found = _in_order(_ancestors(variable, nodes) & around, nodes)
            if not found:
                raise SpecError(
                    f"{where}: no cause of '{variable}' also causes '{outcome.name}' by another way, expected one: "
                    "that is what a Simpson's paradox is made of"
                )
            return found
        case "mediation_chain":
            around = _ancestors(outcome.name, nodes, without=variable)
            found = _in_order(_ancestors(variable, nodes) - around, nodes)
            # None acts through it only: those that do so in part, if the other part has a mediator of its own.
            found = found or tuple(name for name in nodes[variable].parents if name not in outcome.parents)
            if not found:
                raise SpecError(
                    f"{where}: '{variable}' has no cause that acts on '{outcome.name}' through it only, expected one "
                    "at the head of the chain"
                )
            return found
    return ()


def _strongest(
    term: TermSpec, others: tuple[str, ...], outcome: str, values: Mapping[str, np.ndarray]
) -> tuple[str, ...]:
    """The others in the order of what they do in the sample.

    A common cause by the association that it makes between variable and outcome, against the effect of the variable:
    the product of its coefficients in linear regressions of both. A source by its correlation with the mediator.
    """
    variable = term.operand.of[0]
    z = np.stack([_standard(values[name]) for name in others], axis=1)
    x, y = _standard(values[variable]), _standard(values[outcome])
    if term.archetype == "mediation_chain":
        strength = np.abs(z.T @ x)
    else:
        on_x = np.linalg.lstsq(z, x, rcond=None)[0]
        on_y = np.linalg.lstsq(np.column_stack([x, z]), y, rcond=None)[0]
        strength = -np.sign(term.weight) * on_x * on_y[1:]
    return tuple(others[k] for k in np.argsort(-strength, kind="stable"))


def _standard(v: np.ndarray) -> np.ndarray:
    v = v.astype(np.float64)
    return (v - v.mean()) / (v.std() or 1.0)


def _in_order(names: set[str], nodes: dict[str, NodeSpec]) -> tuple[str, ...]:
    return tuple(name for name in nodes if name in names)


def _ancestors(name: str, nodes: dict[str, NodeSpec], without: str | None = None) -> set[str]:
    """The causes of a variable, direct or not, by paths that avoid another one."""
    found, todo = set(), [name]
    while todo:
        for parent in nodes[todo.pop()].parents:
            if parent not in found and parent != without:
                found.add(parent)
                todo.append(parent)
    return found


def _terms(node: NodeSpec) -> tuple[TermSpec, ...]:
    return node.mechanism.terms if isinstance(node.mechanism, TermsParameters) else ()
