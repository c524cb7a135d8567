"""The planes of figure 4: precision against recall, F1 against SHD."""

import pandas as pd

from eval.analysis.frame import Source, unit_scores
from eval.analysis.intervals import ROUNDS, summarise


def planes(source: Source, *, rounds: int = ROUNDS, seed: int = 0) -> pd.DataFrame:
    """Where each method lies in a family and split.

    Returns:
        `family`, `split`, `method`, `control`, `f1`, `shd` (each with `_low`, `_high`), `precision`, `recall`, `n`,
        `missing`.
    """
    return summarise(unit_scores(source), ["family", "split"], means=("precision", "recall"), rounds=rounds, seed=seed)
