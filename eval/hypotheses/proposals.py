"""Structured proposals: what a method claims about the outcome, one claim each, checked strictly and one by one."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import Field, ValidationError

from arena.levels import nearest
from arena.spec_errors import did_you_mean, first_error, listed
from mechanisms.base import Number
from mechanisms.parameters import Data

Form = Literal[
    "bare_direction", "threshold", "non_monotone", "interaction", "interaction_reversal", "subpopulation",
    "derived_feature", "mediation", "simpsons", "categorical_level",
]  # fmt: skip
FORMS: tuple[str, ...] = get_args(Form)
#: Forms that say nothing without a second variable.
PAIRED = ("interaction", "interaction_reversal", "subpopulation", "mediation")
#: Forms that may name one.
MAY_PAIR = (*PAIRED, "derived_feature", "simpsons")
#: Forms whose claim has a direction; the effect of the others changes its sign, or may.
DIRECTED = ("bare_direction", "threshold", "subpopulation", "derived_feature", "mediation", "simpsons",
            "categorical_level")  # fmt: skip
#: Kinds of variables whose values have no order.
NOMINAL = ("categorical",)
#: Levels that a message lists.
MOST_LISTED = 20


class Proposal(Data, frozen=True):
    """One claim about what moves the outcome.

    Fields that a form has no use for are ignored.

    Attributes:
        variable: The primary cause.
        form: What is claimed of it.
        direction: `+` or `-`: how the outcome moves when the variable is raised (for `categorical_level`, when it has
            `level` and not `base`); `level` only says that a level differs.
        moderator: The second variable: moderator, component of a ratio or product, mediator, or confounder.
        level: The level that is singled out.
        base: The level that it is compared with; all others, as frequent as they are, if omitted.
    """

    variable: Annotated[str, Field(min_length=1, max_length=100)]
    form: Form = "bare_direction"
    direction: Literal["+", "-", "level"] = "+"
    moderator: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    level: Number | None = None
    base: Number | None = None

    @property
    def second(self) -> str | None:
        """The second variable, if the form has a use for one."""
        return self.moderator if self.form in MAY_PAIR else None

    @property
    def sign(self) -> int:
        """1, -1, or 0 where no direction is claimed."""
        return {"+": 1, "-": -1, "level": 0}[self.direction]


class Rejection(NamedTuple):
    """A proposal that is no claim about this outcome.

    Attributes:
        reason: What is wrong with it, where, and what would be right.
    """

    reason: str


class Variable(NamedTuple):
    """What a claim may say of a variable: its kind, and its levels if it has few values."""

    kind: str
    levels: tuple[float, ...]


def read(data: Any, variables: Mapping[str, Variable], outcome: str) -> Proposal | Rejection:
    """One proposal as parsed from JSON.

    Args:
        data: What was proposed; anything. A rejection stays one.
        variables: All variables of the data, the outcome among them.
    """
    if isinstance(data, Rejection):
        return data
    if isinstance(data, Proposal):
        proposal = data
    elif not isinstance(data, dict):
        return Rejection(f"found {_short(data)}, expected an object with 'variable' and 'form'")
    else:
        try:
            proposal = Proposal.model_validate(data)
        except ValidationError as error:
            return Rejection(first_error(error, data, Proposal).removeprefix("spec: "))
        except RecursionError:
            return Rejection("is nested too deeply")
    for field, name in (("variable", proposal.variable), ("moderator", proposal.second)):
        if name is None:
            continue
        if name not in variables:
            hint = did_you_mean(name, variables)
            return Rejection(f"field '{field}': found {_short(name)}{hint}, which is not a variable of the data")
        if name == outcome:
            return Rejection(f"field '{field}': found the outcome '{outcome}' itself, expected a possible cause of it")
    if proposal.second == proposal.variable:
        return Rejection(f"field 'moderator': found '{proposal.variable}' again, expected a second variable")
    if proposal.form in PAIRED and proposal.second is None:
        return Rejection(f"field 'moderator': is missing; the form '{proposal.form}' is about two variables")
    if proposal.form in DIRECTED and proposal.sign == 0 and proposal.form != "categorical_level":
        return Rejection(f"field 'direction': found 'level', expected + or - for the form '{proposal.form}'")
    if proposal.form == "categorical_level":
        return _with_levels(proposal, variables[proposal.variable])
    return proposal


def _with_levels(proposal: Proposal, variable: Variable) -> Proposal | Rejection:
    if variable.kind not in ("categorical", "ordinal"):
        found = f"found '{proposal.variable}', which is {variable.kind}"
        return Rejection(f"field 'variable': {found}; a level can be singled out of categorical and ordinal ones")
    if proposal.level is None:
        return Rejection("field 'level': is missing; the form 'categorical_level' singles one out")
    # As the variable has them: a level may be claimed as it is printed.
    meant: dict[str, float] = {}
    for field, value in (("level", proposal.level), ("base", proposal.base)):
        if value is None:
            continue
        level = nearest(value, variable.levels)
        if level is None:
            levels = ", ".join(f"{level:.6g}" for level in variable.levels[:MOST_LISTED])
            more = ", ..." if len(variable.levels) > MOST_LISTED else ""
            found = f"found {value:g}, expected a level of '{proposal.variable}': {levels}{more}"
            return Rejection(f"field '{field}': {found}")
        meant[field] = level
    if any(getattr(proposal, field) != level for field, level in meant.items()):
        proposal = proposal.model_copy(update=meant)
    if proposal.level == proposal.base:
        return Rejection("field 'base': found the level itself, expected another one")
    return proposal


def read_all(data: Sequence[Any], variables: Mapping[str, Variable], outcome: str) -> list[Proposal | Rejection]:
    """Every proposal of a list; see `read`."""
    return [read(one, variables, outcome) for one in data]


def _short(value: Any) -> str:
    try:
        text = json.dumps(value) if isinstance(value, str) else " ".join(repr(value).split())
    except Exception:  # deeper than Python can print
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def forms() -> str:
    """All forms, as text."""
    return listed(FORMS)
