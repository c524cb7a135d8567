"""Interaction scores (equation 7; figures 10, 12 and 13): where a method does better than both margins say."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from arena.errors import RunError
from eval.analysis.edges import ROOT, edge_counts
from eval.analysis.frame import Source, competitors, unit_scores, with_levels
from eval.run import Run

GRAPH_FACTORS = ("graph_family", "root_dependency")
EDGE_FACTORS = ("mechanism", "noise")
COLUMNS = ["factor", "level", "split", "method", "f1", "interaction", "n", "common"]


def interactions(source: Source, *, factor: str | Sequence[str] | None = None, pooled: bool = False) -> pd.DataFrame:
    """F1 by category, and what is left of it without the method's and the category's own level.

    A factor of whole graphs (any that phi(S) has once for each SCM) uses the F1 of the scenarios of a category.
    `mechanism` and `noise` belong to edges: an edge has those of its child, so the F1 of a graph is that of its edges
    into children of the category, and a category's F1 is the mean over graphs. Floors are left out.

    A method that lacks a category keeps its F1, but has no interaction and enters no margin: else the categories that
    it lacks would seem easier or harder than they are. For the same reason interactions are those of the scenarios on
    which all methods that enter have a score.

    Args:
        source: A run; its rows do for factors of graphs.
        factor: One or several; when None `graph_family`, `root_dependency`, and for a run also `mechanism` and `noise`,
            as far as there are any.
        pooled: Pool the counts of all edges of a category before the F1 is formed, as in Tables 12 and 13, so that
            large graphs count more. Edge factors only.

    Returns:
        `factor`, `level`, `split`, `method`, `f1` and `n` (of all graphs with a score), `interaction` and `common`
        (over so many graphs that all methods share).

    Raises:
        RunError: If no scenario has the factor, or edges are asked for and only rows given.
    """
    names = [factor] if isinstance(factor, str) else list(factor or ())
    units = competitors(unit_scores(source))
    if not names:
        known = {name for factors in units["factors"] for name in factors}
        names = [name for name in GRAPH_FACTORS if name in known]
        names += EDGE_FACTORS if isinstance(source, Run) and known & {"mechanisms", "noises"} else ()
    if not names:
        raise RunError(f"no scenario has one of the factors {', '.join(GRAPH_FACTORS)}; choose another factor")
    graphs, edges = [name for name in names if name not in EDGE_FACTORS], [n for n in names if n in EDGE_FACTORS]
    if pooled and graphs:
        raise RunError(f"only the edges of {' and '.join(EDGE_FACTORS)} can be pooled, not '{graphs[0]}'")
    cells = [_by_graph(units, name) for name in graphs]
    if edges:
        counts: Any = edge_counts(source)
        counts = counts[counts["method"].isin(set(units["method"])) & (counts["level"] != ROOT)]
        lacking = [name for name in edges if name not in set(counts["factor"])]
        if lacking:
            raise RunError(f"no scenario says which {lacking[0]} its variables have")
        cells.append(counts[counts["factor"].isin(edges)])
    grouped: Any = pd.concat(cells, ignore_index=True).groupby(["factor", "split"], sort=False)
    parts = [_of_one_factor(part, pooled).assign(factor=factor, split=split) for (factor, split), part in grouped]
    return pd.concat(parts, ignore_index=True).loc[:, COLUMNS]


def _of_one_factor(scores: pd.DataFrame, pooled: bool) -> pd.DataFrame:
    """The lines of one factor and split from scores by `level`, `method` and `scenario`."""
    table: Any = scores
    lines: Any = _means(table, pooled)
    levels = lines.dropna(subset="f1").groupby("method")["level"].nunique()
    whole = set(levels.index[levels == lines["level"].nunique()])
    scored = table[table["method"].isin(whole) & table["f1"].notna()]
    common = scored[scored.groupby(["level", "scenario"])["method"].transform("nunique") == len(whole)]
    if common["level"].nunique() < lines["level"].nunique():
        return lines.assign(interaction=np.nan, common=0)
    shared: Any = _means(common, pooled)
    centred: Any = double_centred(shared.pivot(index="method", columns="level", values="f1"))
    places = list(lines[["method", "level"]].itertuples(index=False, name=None))
    used = common.groupby("level")["scenario"].nunique()
    return lines.assign(
        interaction=[centred.loc[method, level] if method in whole else np.nan for method, level in places],
        common=[used[level] if method in whole else 0 for method, level in places],
    )


def _means(scores: pd.DataFrame, pooled: bool) -> pd.DataFrame:
    """`level`, `method`, `f1` (a mean over scenarios, or of pooled counts), `n` (scenarios with a score)."""
    table: Any = scores
    grouped = table.groupby(["level", "method"])
    lines = grouped.agg(f1=("f1", "mean"), n=("f1", "count")).reset_index()
    if pooled:
        sums = grouped[["hit", "fp", "true"]].sum().reset_index()
        lines["f1"] = 2 * sums["hit"] / (sums["hit"] + sums["fp"] + sums["true"])
    return lines


def double_centred(table: pd.DataFrame) -> pd.DataFrame:
    """Equation 7: F - row mean - column mean + grand mean, over the methods that have every category.

    Args:
        table: `[methods, categories]`, nan where a method has no score.

    Returns:
        The same shape; nan in the rows of methods that lack a category.
    """
    whole: Any = table.dropna()
    rest = whole.sub(whole.mean(axis=1), axis=0).sub(whole.mean(axis=0), axis=1)
    return (rest + whole.to_numpy().mean() if len(whole) else rest).reindex(table.index)


def _by_graph(units: pd.DataFrame, factor: str) -> pd.DataFrame:
    table: Any = with_levels(units, factor)
    return table.assign(level=table["level"].astype(str)).loc[
        :, ["factor", "level", "split", "scenario", "method", "f1"]
    ]
