"""Sensitivity to the intervention protocol (Table 3)."""

from typing import Any

import pandas as pd

from arena.errors import RunError
from eval.analysis.frame import Source, unit_scores, with_levels
from eval.analysis.intervals import ROUNDS, summarise

DEFAULT = "default_resampling"


def protocols(
    source: Source, *, default: str = DEFAULT, split: str = "obs_int", rounds: int = ROUNDS, seed: int = 0
) -> pd.DataFrame:
    """Scores under each protocol, the change against the default one, and how far the F1 of a method varies.

    Args:
        source: A run or its rows.
        default: The protocol that changes are taken against.
        split: Only tables with interventions depend on a protocol.

    Returns:
        `split`, `protocol`, `method`, `control`, `f1` with `_low` and `_high`, `shd`, `delta_f1` (0 for the
        default), `f1_sd` (population standard deviation, ddof = 0, over all protocols, the default included; nan for a
        method that lacks one), `n`, `missing`.

    Raises:
        RunError: If no scenario has a protocol in that split, or none the default one.
    """
    units: Any = with_levels(unit_scores(source), "protocol")
    units = units[units["split"] == split]
    units = units.assign(protocol=units["level"].astype(str))
    found = sorted(set(units["protocol"]))
    if default not in found:
        raise RunError(
            f"no scenario of split '{split}' has the protocol '{default}'; found {', '.join(found) or 'none'}"
        )
    lines: Any = summarise(units, ["split", "protocol"], ["f1"], ["shd"], rounds=rounds, seed=seed)
    wide = lines.pivot(index="method", columns="protocol", values="f1")
    lines["delta_f1"] = lines["f1"] - lines["method"].map(wide[default])
    lines["f1_sd"] = lines["method"].map(wide.std(axis=1, ddof=0, skipna=False))
    columns = ["split", "protocol", "method", "control", "f1", "f1_low", "f1_high", "shd", "delta_f1", "f1_sd"]
    return lines.loc[:, [*columns, "n", "missing"]]
