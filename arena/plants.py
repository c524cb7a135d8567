"""What a spec planted to be found: the labelled terms of its outcome, as plants with their causes."""

import dataclasses
from typing import Any

from arena.errors import SpecError
from arena.spec import NodeSpec, SCMSpec
from mechanisms.terms import TermsParameters, TermSpec


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
            `+` is a peak. None where that depends on the moderator.
        level: The level that it singles out, if any.
        causes: The variables whose do() moves the outcome by this mechanism.
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


def answer_key(spec: SCMSpec) -> tuple[Plant, ...]:
    """The plants of a spec, in the order of its terms.

    Raises:
        SpecError: If there is no outcome, or the graph lacks what a plant needs: a common cause for a Simpson's
            paradox, a cause of the mediator for a mediation chain.
    """
    nodes = {node.name: node for node in spec.nodes}
    outcome = nodes[outcome_of(spec)]
    return tuple(_plant(term, outcome, nodes) for term in _terms(outcome) if term.label)


def as_json(plants: tuple[Plant, ...]) -> list[dict[str, Any]]:
    """The plants as JSON objects."""
    return [dataclasses.asdict(plant) | {"causes": list(plant.causes)} for plant in plants]


def _plant(term: TermSpec, outcome: NodeSpec, nodes: dict[str, NodeSpec]) -> Plant:
    variable, sign = term.operand.of[0], "+" if term.weight > 0 else "-"
    moderator = term.operand.of[1] if len(term.operand.of) == 2 else None
    causes = term.variables()
    direction: str | None = sign
    assert term.label is not None and term.archetype is not None
    match term.archetype:
        case "interaction_reversal":
            assert term.by is not None
            moderator, direction = term.by.of[0], None
        case "subpopulation_only":
            assert term.by is not None
            moderator = term.by.of[0]
        case "simpsons_paradox":
            moderator = _confounder(variable, outcome, nodes, term.label)
            causes = (variable, moderator)
        case "mediation_chain":
            variable, moderator = _source(variable, outcome, nodes, term.label), variable
            causes = (variable, moderator)
            direction = None  # the product of two effects: the experiment says its sign
    return Plant(
        term.label, term.archetype, outcome.name, variable, moderator, direction, term.level,
        tuple(dict.fromkeys(causes)), term.op, str(term.operand),
    )  # fmt: skip


def _confounder(variable: str, outcome: NodeSpec, nodes: dict[str, NodeSpec], label: str) -> str:
    """The first cause of the variable that causes the outcome by another way too."""
    for parent in nodes[variable].parents:
        others = [p for p in outcome.parents if p != variable]
        if any(parent in (p, *_ancestors(p, nodes, without=variable)) for p in others):
            return parent
    raise SpecError(
        f"variable '{outcome.name}', term '{label}': no cause of '{variable}' also causes '{outcome.name}' by another "
        "way, expected one: that is what a Simpson's paradox is made of"
    )


def _source(mediator: str, outcome: NodeSpec, nodes: dict[str, NodeSpec], label: str) -> str:
    """The first cause of the mediator that is no direct cause of the outcome."""
    for parent in nodes[mediator].parents:
        if parent not in outcome.parents:
            return parent
    raise SpecError(
        f"variable '{outcome.name}', term '{label}': '{mediator}' has no cause that acts on '{outcome.name}' through "
        "it only, expected one at the head of the chain"
    )


def _ancestors(name: str, nodes: dict[str, NodeSpec], without: str) -> set[str]:
    found, todo = set(), [name]
    while todo:
        for parent in nodes[todo.pop()].parents:
            if parent not in found and parent != without:
                found.add(parent)
                todo.append(parent)
    return found


def _terms(node: NodeSpec) -> tuple[TermSpec, ...]:
    return node.mechanism.terms if isinstance(node.mechanism, TermsParameters) else ()
