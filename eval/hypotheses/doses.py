"""Curves of an experiment: what its worlds show, as points of lines that a figure or a table has."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from eval.hypotheses.designs import Kind
from eval.hypotheses.experiments import Reading

#: Half the width of a band, in Monte Carlo errors.
BAND = 2.0
#: Names of lines.
DO, DATA = "set by do()", "seen in the data"
FREE, HELD = "free to respond", "held"


class Point(NamedTuple):
    """A mean outcome, in SD from where it is when nothing is set, and its Monte Carlo error."""

    line: str
    dose: float
    effect: float
    error: float


class Curves(NamedTuple):
    """The lines of an experiment.

    Attributes:
        second: What tells the lines apart; empty if there is one.
        lines: In order.
        points: By line, then by dose.
    """

    kind: Kind
    variable: str
    second: str
    lines: tuple[str, ...]
    points: tuple[Point, ...]

    @property
    def largest_error(self) -> float:
        """The largest Monte Carlo error of a point."""
        return max((point.error for point in self.points), default=0.0)


def curves(reading: Reading, values: np.ndarray) -> Curves:
    """The curves of a reading.

    A grid has a line for each level of the second variable, a mediation one with the mediator free and one with it
    held. Beside the curve of a Simpson's paradox stands the straight line that the data show: through the means, with
    the slope of the response on the variable.

    Args:
        reading: What the experiment showed.
        values: `[n]` of the variable, in the data.
    """
    design, doses = reading.design, reading.design.doses
    worlds = list(zip(reading.effect, np.sqrt(np.maximum(np.diag(reading.covariance), 0.0)), strict=True))
    second, lines = design.second or "", ("",)
    match design.kind:
        case "grid":
            lines = labels(design.levels)
        case "mediation":
            lines = FREE, HELD
        case "simpsons":
            second, lines = "", (DO, DATA)
            k = len(doses)
            z = (np.asarray(doses) - values.mean()) / (values.std() or 1.0)
            slope, error = reading.association[k], reading.association_error[k]
            worlds = [*worlds[:k], *zip(slope * z, error * np.abs(z), strict=True)]
        case _:
            second = ""
    places = [(line, dose) for line in lines for dose in doses]
    points = [Point(*place, float(mean), float(error)) for place, (mean, error) in zip(places, worlds, strict=True)]
    return Curves(design.kind, design.variable, second, lines, tuple(points))


def labels(levels: Sequence[float]) -> tuple[str, ...]:
    """Levels as texts, with as few digits as tell them apart, three at least."""
    for digits in range(3, 18):
        found = tuple(f"{level:.{digits}g}" for level in levels)
        if len(set(found)) == len(found):
            return found
    return tuple(map(repr, levels))
