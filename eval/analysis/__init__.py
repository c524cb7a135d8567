"""Analyses of a run, one a file: each a function from a run or its rows to a tidy DataFrame (paper 5, 6, appendix C).

    from eval.analysis import ANALYSES, analyze

    analyze(run, "slices", factor="graph_family")  # the same as eval.analysis.slices.slices(run, ...)

Replicates are averaged first, then scenarios, each of which counts the same. A cell without a score stays missing: it
is counted in `missing`, and nothing is put in its place. Every mean over scenarios that has `_low` and `_high` has a
95% bootstrap interval over scenarios.
"""

from eval.analysis.frame import unit_scores
from eval.analysis.registry import ANALYSES, Analysis, analyze

__all__ = ["ANALYSES", "Analysis", "analyze", "unit_scores"]
