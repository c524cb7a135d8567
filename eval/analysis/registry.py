"""All analyses by name, and `analyze`, which runs one."""

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

import pandas as pd

from arena.errors import RunError
from arena.spec_errors import did_you_mean, listed
from eval.analysis.curves import dimension, sample_size
from eval.analysis.deltas import deltas
from eval.analysis.domains import domains
from eval.analysis.elo import elo
from eval.analysis.errors import errors
from eval.analysis.frame import Source
from eval.analysis.frontier import frontier
from eval.analysis.interactions import interactions
from eval.analysis.ood import estimates, ood
from eval.analysis.planes import planes
from eval.analysis.priors import coverage
from eval.analysis.protocols import protocols
from eval.analysis.ranks import ranks
from eval.analysis.runtime import runtime
from eval.analysis.slices import slices
from eval.analysis.sortability import sortability
from eval.analysis.summary import summary
from eval.analysis.wins import wins


@dataclasses.dataclass(frozen=True)
class Analysis:
    """One way of looking at a run.

    Attributes:
        name: What `arena analyze --what` calls it.
        title: One line for people.
        source: Where the paper has it, or who else does it.
        function: From a run or its rows, and keyword options, to a tidy table.
        needs_run: Whether it reads graphs, so that rows do not do (those of `interactions` do for factors of graphs).
    """

    name: str
    title: str
    source: str
    function: Callable[..., pd.DataFrame]
    needs_run: bool = False

    @property
    def options(self) -> dict[str, inspect.Parameter]:
        """The keyword options of the function."""
        found = inspect.signature(self.function).parameters
        return {name: value for name, value in found.items() if value.kind is inspect.Parameter.KEYWORD_ONLY}

    def required(self) -> list[str]:
        """Options without a default."""
        return [name for name, value in self.options.items() if value.default is inspect.Parameter.empty]


_ALL = (
    Analysis("summary", "All metrics: mean, spread, interval", "Tables 7 and 14 to 16", summary),
    Analysis("planes", "Precision against recall, F1 against SHD", "figure 4", planes),
    Analysis("wins", "Pairwise win rates", "figures 1 and 19", wins),
    Analysis("slices", "Scores by every factor", "equation 6, Tables 8 to 11", slices),
    Analysis("interactions", "What factors favour which method", "equation 7, figures 10, 12, 13", interactions, True),
    Analysis("dimension", "Scores against the number of variables", "figure 11", dimension),
    Analysis("sample_size", "Scores against the number of rows", "figure 6, Table 18", sample_size),
    Analysis("protocols", "Sensitivity to the intervention protocol", "Table 3", protocols),
    Analysis("runtime", "Seconds to load, and for each graph", "Tables 4 and 5", runtime),
    Analysis("frontier", "Accuracy against cost", "figure 9", frontier),
    Analysis("coverage", "Documented prior coverage", "figure 14", coverage),
    Analysis("ood", "On and off the documented prior", "equation 8, figure 15", ood),
    Analysis("estimates", "F1 if all, or none, were covered", "equations 9 and 10, figure 16", estimates),
    Analysis("domains", "Self-centred domain shifts", "figure 17", domains),
    Analysis("elo", "Elo ratings anchored on RandomRegress", "TabArena, package bencheval", elo),
    Analysis("ranks", "Mean ranks and critical difference", "Demsar 2006", ranks),
    Analysis("sortability", "Scores against var- and R2-sortability", "Reisach et al. 2021, 2023", sortability),
    Analysis("errors", "Edges that are found, reversed, missed, invented", "paper 6.1", errors, True),
    Analysis("deltas", "What changed between two runs", "leaderboards of two runs", deltas),
)
ANALYSES: dict[str, Analysis] = {analysis.name: analysis for analysis in _ALL}


def get(name: str) -> Analysis:
    """The analysis of that name.

    Raises:
        RunError: If there is none.
    """
    if name not in ANALYSES:
        raise RunError(f"no analysis '{name}'{did_you_mean(name, ANALYSES)}; analyses are {listed(ANALYSES)}")
    return ANALYSES[name]


def analyze(source: Source, name: str, **options: Any) -> pd.DataFrame:
    """Run one analysis.

    Args:
        source: A run or its rows.
        name: A key of `ANALYSES`.
        options: As the analysis takes them.

    Raises:
        RunError: If there is no such analysis or option, or the source does not have what it needs.
    """
    analysis = get(name)
    for option in options:
        if option not in analysis.options:
            known = ", ".join(analysis.options) or "none"
            hint = did_you_mean(option, analysis.options)
            raise RunError(f"the analysis '{name}' has no option '{option}'{hint}; its options are {known}")
    for option in analysis.required():
        if option not in options:
            raise RunError(f"the analysis '{name}' needs the option '{option}'")
    return analysis.function(source, **options)
