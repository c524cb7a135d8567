"""Self-centred domain shifts (figure 17)."""

from typing import Any

import pandas as pd

from eval.analysis.frame import Source, unit_scores, with_levels
from eval.analysis.intervals import ROUNDS, summarise


def domains(source: Source, *, rounds: int = ROUNDS, seed: int = 0) -> pd.DataFrame:
    """The F1 of a method on a domain minus its own mean over the family.

    Returns:
        `family`, `split`, `method`, `control`, `domain`, `f1` with `_low` and `_high`, `shift`, `sd`
        (sample standard deviation, ddof = 1, of the method's shifts over the domains that it has), `n`, `missing`.

    Raises:
        RunError: If no scenario has a domain.
    """
    whole: Any = unit_scores(source)
    units: Any = with_levels(whole, "domain").assign(domain=lambda table: table["level"].astype(str))
    cell = ["family", "split", "method"]
    lines: Any = summarise(units, ["family", "split", "domain"], ["f1"], rounds=rounds, seed=seed)
    own = whole.groupby(cell)["f1"].mean().rename("own")
    lines["shift"] = lines["f1"] - lines.join(own, on=cell)["own"]
    lines["sd"] = lines.groupby(cell)["shift"].transform("std", ddof=1)
    return lines.loc[:, [*cell, "control", "domain", "f1", "f1_low", "f1_high", "shift", "sd", "n", "missing"]]
