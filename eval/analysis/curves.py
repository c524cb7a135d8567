"""Curves over an ordered factor: dimension (figure 11) and sample size (figure 6, Table 18)."""

import pandas as pd

from arena.errors import RunError
from eval.analysis.frame import Source, unit_scores
from eval.analysis.intervals import ROUNDS, summarise


def dimension(source: Source, *, rounds: int = ROUNDS, seed: int = 0) -> pd.DataFrame:
    """Scores against the number of variables.

    Returns:
        `family`, `split`, `d`, `method`, `control`, `f1` with `_low` and `_high`, `shd`, `n`, `missing`.
    """
    units = unit_scores(source).dropna(subset="d")
    return summarise(units, ["family", "split", "d"], ["f1"], ["shd"], rounds=rounds, seed=seed)


def sample_size(source: Source, *, rounds: int = ROUNDS, seed: int = 0) -> pd.DataFrame:
    """Scores against the number of rows of a table, by the factor `n` of the scenarios.

    Returns:
        `split`, `rows`, `method`, `control`, `f1` with `_low` and `_high`, `shd`, `n`, `missing`.

    Raises:
        RunError: If no scenario has the factor.
    """
    units = unit_scores(source)
    units["rows"] = pd.array([factors.get("n") for factors in units["factors"]], dtype="Int64")
    units = units.dropna(subset="rows")
    if not len(units):
        raise RunError("no scenario has the factor 'n', the number of rows of its tables")
    return summarise(units, ["split", "rows"], ["f1"], ["shd"], rounds=rounds, seed=seed)
