"""What a scenario says of its science (paper A.5): equations with their contracts, and exceptions from the gates."""

from typing import Annotated, Literal

from pydantic import Field, Strict

from mechanisms.base import Number
from mechanisms.parameters import FROZEN, ONLY_LISTS, Data, Many

Words = Annotated[str, Field(min_length=1, max_length=2000)]
Range = Annotated[tuple[Number, Number], Strict(False), ONLY_LISTS]

#: What a variable is in its scenario; the colours of a card.
Role = Literal["environment", "property", "setting", "state", "instrument", "readout", "decision"]
#: What kind of structural equation a variable has (the categories of paper Figure 18).
Process = Literal[
    "explicit_equation", "physical_law", "empirical_relation", "linear_affine", "calibration_offset", "drift", "gain",
    "measurement_error", "count_process", "lookup_table", "threshold_rule", "control_policy", "quantization",
    "saturation", "mixture", "aggregation", "event_process", "environmental_response",
]  # fmt: skip
#: Gates of which a scenario may declare exceptions.
Excusable = Literal["boundary_mass", "correlation", "dominant_category", "live_parents"]


class EquationSpec(Data, frozen=True):
    """A named equation and its contract: what it is solved for, from what, and why not the other way round.

    The equation itself is the mechanism of the variable that it is solved for.

    Attributes:
        id: Unique in the scenario.
        law: The law's canonical name, the same wherever it is used: `ideal gas law`.
        relation: The equation as one writes it, in the variables' symbols.
        solve_for: The variable that it gives.
        inputs: The variables that it is computed from, exactly the parents of `solve_for`.
        orientation: Why the inputs determine the output here.
        not_reversed: Why an input is not an effect of the output here, although the equation can be solved for it.
        valid: By variable, the range in which the equation holds, in the variable's unit.
        reference: A law, a textbook or a standard that one can look up.
        core: Whether the scenario is built around it.
    """

    id: Words
    law: Words
    relation: Words
    solve_for: str
    inputs: Annotated[tuple[str, ...], Strict(False), Field(min_length=1), ONLY_LISTS]
    orientation: Words
    not_reversed: Words
    valid: Annotated[dict[str, Range], FROZEN, Field(validate_default=True)] = {}
    reference: Words
    core: bool = False


class ExceptionSpec(Data, frozen=True):
    """A gate that some variables may fail, and the scientific reason.

    Attributes:
        gate: Which.
        variables: One variable, or the two of a correlated pair.
        reason: Why that is how the world is.
    """

    gate: Excusable
    variables: Annotated[tuple[str, ...], Strict(False), Field(min_length=1, max_length=2), ONLY_LISTS]
    reason: Words


Equations = Many[EquationSpec]
Exceptions = Many[ExceptionSpec]
