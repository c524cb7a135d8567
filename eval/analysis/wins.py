"""Pairwise win rates (figures 1 and 19)."""

from typing import Any

import numpy as np
import pandas as pd

from eval.analysis.frame import Source, score_table, unit_scores

#: Metric -> what a larger value is worth.
METRICS = {"f1": 1.0, "shd": -1.0}


def wins(source: Source) -> pd.DataFrame:
    """How often a method beats another, F1 and SHD compared separately on each scenario and then pooled.

    Higher F1 wins, lower SHD wins, a tie counts 0.5. Only scenarios where both have a score are compared.

    Returns:
        `family`, `split`, `method`, `opponent`, `rate` (nan if they never met), `comparisons` (over both metrics).
    """
    units: Any = unit_scores(source)
    parts = []
    for (family, split), part in units.groupby(["family", "split"]):
        won: Any = 0.0
        met: Any = 0.0
        methods: Any = None
        for metric, sign in METRICS.items():
            wide = score_table(part, metric)
            methods, values = wide.columns, sign * wide.to_numpy()
            gap = values[:, :, None] - values[:, None, :]  # [scenarios, methods, methods], nan where one is missing
            won = won + (0.5 * (np.sign(gap) + 1)).sum(axis=0, where=~np.isnan(gap))
            met = met + (~np.isnan(gap)).sum(axis=0)
        with np.errstate(invalid="ignore"):
            rate = won / met
        i, j = np.nonzero(~np.eye(len(methods), dtype=bool))
        parts.append(
            pd.DataFrame(
                {"family": family, "split": split, "method": methods[i], "opponent": methods[j], "rate": rate[i, j],
                 "comparisons": np.asarray(met)[i, j].astype(int)}
            )
        )  # fmt: skip
    return pd.concat(parts, ignore_index=True)
