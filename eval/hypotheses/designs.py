"""Designs: which worlds an experiment compares.

A world sets the variable to a dose or leaves it alone; sets the second variable to a level, holds it at what each unit
had anyway, or leaves it alone. All worlds of an experiment are of the same units. A design follows from the claim and
from the data that the spec generates: where the outcome bends or turns has no part in it.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np

from eval.hypotheses.columns import Column
from eval.hypotheses.proposals import Proposal


def _both_ends(*tail: float) -> np.ndarray:
    """The probabilities, a half, and what is left to 1."""
    return np.array([*tail, 0.5, *(1.0 - p for p in tail[::-1])])


#: Where doses lie among the variable's values, as probabilities: of curves, of curves within levels; and levels. They
#: are dense at the ends, so that what happens there shows in several worlds.
CURVE = _both_ends(0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.045, 0.065, 0.09, 0.13, 0.18, 0.24, 0.31, 0.38, 0.46)
FEW = np.array([0.005, 0.05, 0.25, 0.5, 0.75, 0.95, 0.995])
LEVELS = np.array([0.02, 0.08, 0.2, 0.35, 0.5, 0.65, 0.8, 0.92, 0.98])
POINTS = {"curve": CURVE, "few": FEW, "levels": LEVELS}
#: Worlds of an experiment, at most.
WORLDS = 64
#: Where there are more levels than room: doses and levels that stay in any case.
LEAST_DOSES, LEAST_LEVELS = 3, 5
#: Values rarer than this, on either side, are not among the doses of a variable that has few values.
RARE = 0.0005

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
        weight: How frequent each dose is in the data, where the variable has levels; 0 elsewhere.
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
        columns: The kind and levels of each variable.
    """

    def __init__(self, values: Mapping[str, np.ndarray], columns: Mapping[str, Column]):
        self._values, self._columns = values, columns
        self._known: dict[tuple[str, str], tuple[float, ...]] = {}

    def __call__(self, proposal: Proposal) -> Design:
        """The experiment that a claim asks for."""
        variable, second = proposal.variable, proposal.second
        kind = KIND[proposal.form]
        if proposal.form == "derived_feature" and second is None:
            kind = "curve"
        doses = self._points(variable, "curve" if kind in ("curve", "levels") else "few")
        levels = self._points(second, "levels") if second is not None and kind != "mediation" else ()
        match kind:
            case "grid":
                doses, levels = self._crossed(proposal, doses, levels)
                worlds = [World(dose, level) for level in levels for dose in doses]
            case "mediation":
                doses = _thinned(doses, WORLDS // 2)
                worlds = [World(dose, level) for level in (None, HELD) for dose in doses]
            case "simpsons":
                doses, levels = _thinned(doses, WORLDS // 2), _thinned(levels, WORLDS // 2 - 1)
                worlds = [*map(World, doses), World(), *(World(None, level) for level in levels)]
            case _:
                asked = {proposal.level, proposal.base} if kind == "levels" else set()
                doses = _thinned(doses, WORLDS, asked)
                worlds = [*map(World, doses)]
        column = self._columns[variable]
        share = dict(zip(column.levels, column.share, strict=True))
        weight = tuple(share.get(dose, 0.0) for dose in doses)
        return Design(kind, variable, second, doses, levels, tuple(worlds), weight)

    def _crossed(
        self, proposal: Proposal, doses: tuple[float, ...], levels: tuple[float, ...]
    ) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Doses and levels that have room together: all levels of a variable that has levels before any others."""
        if self._columns[proposal.variable].levels and not self._columns[str(proposal.second)].levels:
            doses = _thinned(doses, WORLDS // min(len(levels), LEAST_LEVELS))
            return doses, _thinned(levels, WORLDS // len(doses))
        levels = _thinned(levels, WORLDS // min(len(doses), LEAST_DOSES))
        return _thinned(doses, WORLDS // len(levels)), levels

    def _points(self, name: str, use: str) -> tuple[float, ...]:
        """Values of a variable, ascending: its levels, or what its distribution has at some probabilities."""
        if (name, use) not in self._known:
            self._known[name, use] = self._columns[name].levels or _spread(self._values[name], POINTS[use])
        return self._known[name, use]


def _spread(column: np.ndarray, probabilities: np.ndarray) -> tuple[float, ...]:
    """Values at the probabilities, each once; all values but the rarest where they are few."""
    if len(np.unique(column[:1000])) <= len(probabilities):
        low, high = np.quantile(column, (RARE, 1.0 - RARE), method="inverted_cdf")
        distinct = np.unique(column[(column >= low) & (column <= high)])
        if len(distinct) <= len(probabilities):
            return tuple(distinct.tolist())
    return tuple(np.unique(np.quantile(column, probabilities, method="inverted_cdf")).tolist())


def _thinned(values: tuple[float, ...], most: int, keep: set[float | None] = frozenset()) -> tuple[float, ...]:  # type: ignore[assignment]
    """At most so many of the values, evenly spaced in their order, first and last among them; `keep` besides."""
    if len(values) <= most:
        return values
    kept = {value for value in keep if value is not None}
    places = np.round(np.linspace(0, len(values) - 1, most - len(kept))).astype(int)
    return tuple(sorted({values[k] for k in places} | kept))
