"""Designs: which worlds an experiment compares.

A world sets the variable to a dose or leaves it alone; sets the second variable to a level, holds it at what each unit
had anyway, or leaves it alone. All worlds of an experiment are of the same units.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np

from eval.hypotheses.proposals import NOMINAL, Proposal

#: Where doses lie among the variable's values, as probabilities: of curves, of curves within levels; and levels.
CURVE = np.linspace(0.03, 0.97, 15)
FEW = np.linspace(0.05, 0.95, 6)
LEVELS = np.linspace(0.10, 0.90, 5)
POINTS = {"curve": CURVE, "few": FEW, "levels": LEVELS}
#: At most so many levels of a nominal variable, the most frequent ones.
MOST_LEVELS = 15  # an experiment has 32 worlds at most: 5 levels of 6 doses, or two curves of 15

HELD = "held"
Kind = Literal["curve", "grid", "mediation", "simpsons", "levels"]
KIND: dict[str, Kind] = {
    "bare_direction": "curve",
    "threshold": "curve",
    "non_monotone": "curve",
    "interaction": "grid",
    "interaction_reversal": "grid",
    "subpopulation": "grid",
    "derived_feature": "grid",
    "mediation": "mediation",
    "simpsons": "simpsons",
    "categorical_level": "levels",
}


class World(NamedTuple):
    """What is set in a world.

    Attributes:
        dose: The variable's value, None if it is left alone.
        level: The second variable's value, `HELD`, or None if it is left alone.
    """

    dose: float | None = None
    level: float | str | None = None


class Design(NamedTuple):
    """The worlds of an experiment.

    Attributes:
        doses: Ascending values of the variable.
        levels: Ascending values of the second variable, empty if it has no part.
        worlds: In the order that `kind` says: `curve` by dose; `grid` by level, then by dose; `mediation` by dose, then
            by dose with the mediator held; `simpsons` by dose, then the natural world, then by level with the variable
            left alone; `levels` by level of the variable.
        weight: How frequent each dose is in the data.
    """

    kind: Kind
    variable: str
    second: str | None
    doses: tuple[float, ...]
    levels: tuple[float, ...]
    worlds: tuple[World, ...]
    weight: tuple[float, ...]


class Planner:
    """Designs for the variables of one sample; what is read from a column is read once.

    Args:
        values: A sample `[n]` of each variable.
        kinds: The kind of each variable.
    """

    def __init__(self, values: Mapping[str, np.ndarray], kinds: Mapping[str, str]):
        self._values, self._kinds = values, kinds
        self._known: dict[tuple[str, str], tuple[tuple[float, ...], tuple[float, ...]]] = {}

    def __call__(self, proposal: Proposal) -> Design:
        """The experiment that a claim asks for."""
        variable, second = proposal.variable, proposal.second
        kind = KIND[proposal.form]
        if proposal.form == "derived_feature" and second is None:
            kind = "curve"
        doses, weight = self._points(variable, "curve" if kind in ("curve", "levels") else "few")
        levels: tuple[float, ...] = ()
        if second is not None and kind != "mediation":
            levels = self._points(second, "levels")[0]
        match kind:
            case "grid":
                worlds = [World(dose, level) for level in levels for dose in doses]
            case "mediation":
                worlds = [World(dose, level) for level in (None, HELD) for dose in doses]
            case "simpsons":
                worlds = [*map(World, doses), World(), *(World(None, level) for level in levels)]
            case _:
                worlds = [*map(World, doses)]
        return Design(kind, variable, second, doses, levels, tuple(worlds), weight)

    def _points(self, name: str, use: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Values of a variable, ascending, and how frequent each is."""
        if (name, use) not in self._known:
            column, probabilities = self._values[name], POINTS[use]
            if self._kinds[name] in NOMINAL:
                found = _frequent(column, MOST_LEVELS if use == "curve" else len(probabilities))
            else:
                found = _spread(column, probabilities)
            self._known[name, use] = found, tuple(float(np.mean(column == value)) for value in found)
        return self._known[name, use]


def _spread(column: np.ndarray, probabilities: np.ndarray) -> tuple[float, ...]:
    """Values at the probabilities, each once; all values where they are few."""
    if len(np.unique(column[:1000])) <= len(probabilities):
        distinct = np.unique(column)
        if len(distinct) <= len(probabilities):
            return tuple(distinct.tolist())
    return tuple(np.unique(np.quantile(column, probabilities, method="inverted_cdf")).tolist())


def _frequent(column: np.ndarray, most: int) -> tuple[float, ...]:
    """The most frequent values, ascending."""
    distinct, count = np.unique(column, return_counts=True)
    return tuple(np.sort(distinct[np.argsort(-count, kind="stable")[:most]]).tolist())
