"""Edge error cards: which edges a method finds, turns round, misses and makes up."""

from typing import Any

import pandas as pd

from eval.analysis.edges import edge_counts
from eval.analysis.frame import Source, unit_scores

SHOWN = ("true", "hit", "reversed", "missed", "invented")


def errors(source: Source) -> pd.DataFrame:
    """Counts of edges by mechanism, noise and depth of the child, and by the sign of the effect.

    Returns:
        `factor`, `level`, `split`, `method`; `true` edges of that level; of these `hit`, `reversed` (the other
        direction was predicted) and `missed` (neither was); `invented` edges between variables that are not adjacent
        (counted at the child that was predicted; missing for signs, which only true edges have); `recall` = hit / true.
        All tables of all replicates are pooled: `tables` with edges of that level have an answer, and of the method
        `missing` tables of the split have none.

    Raises:
        RunError: If rows are given instead of a run, or nothing is known of its nodes.
    """
    table: Any = edge_counts(source)
    lines = table.groupby(["factor", "level", "split", "method"])[list(SHOWN)].sum().reset_index()
    lines["invented"] = lines["invented"].astype("Int64").mask(lines["factor"] == "sign")
    lines["recall"] = lines["hit"] / lines["true"]
    tables = table.groupby(["factor", "level", "split", "method"])["tables"].sum().rename("tables")
    lines = lines.join(tables, on=["factor", "level", "split", "method"])
    units: Any = unit_scores(source)
    missing = units.groupby(["split", "method"])["missing"].sum().rename("missing")
    return lines.join(missing, on=["split", "method"])
