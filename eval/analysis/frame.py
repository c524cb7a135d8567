"""From rows to units: one line per scenario, split and method, replicates averaged first (paper B.1).

Every analysis starts here, so that all of them mean the same by a score, by `n` and by `missing`.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from arena.errors import RunError
from eval.run import Run
from methods.base import Status

KEYS = ["family", "scenario", "split", "method"]
METRICS = (
    *("f1", "precision", "recall", "shd", "nshd", "reachability_distance", "sid", "auroc", "average_precision"),
    *("cpdag_shd", "seconds_fit", "seconds_load"),
)
#: Names of the paper's factors where those of phi(S) are lists: an SCM has several mechanisms.
PLURALS = {"mechanism": "mechanisms", "noise": "noises", "root": "roots"}
#: A numeric factor with more values than this is cut at its quartiles.
MAX_LEVELS = 12
_DIGITS = 12

Source = Run | pd.DataFrame


def as_rows(source: Source) -> pd.DataFrame:
    """The rows of a run; a table of rows is passed through."""
    return source if isinstance(source, pd.DataFrame) else source.rows()


def unit_scores(source: Source) -> pd.DataFrame:
    """Means over the replicates of a scenario.

    Args:
        source: A run, or rows with the columns `family`, `scenario`, `split`, `method`. Of the other columns of
            `eval.store.COLUMNS` those that are absent count as empty; without `status`, a row with an F1 is completed.

    Returns:
        `family`, `scenario`, `split`, `method`; `control` (a floor); `d`, the number of variables; `completed`,
        `missing` and, among the latter, `unsupported` (replicates); `METRICS`, means over completed replicates, nan
        where there is none; `factors`, phi(S) as a dict.

    Raises:
        RunError: If there is no row, or a column is lacking.
    """
    rows = as_rows(source)
    lacking = [name for name in KEYS if name not in rows.columns]
    if lacking:
        raise RunError(f"rows have no column '{lacking[0]}'; every row needs {', '.join(KEYS)}")
    if not len(rows):
        raise RunError("there are no rows to analyse; has the run finished a single fit?")
    table: Any = pd.DataFrame({name: rows[name].astype(str) for name in KEYS})
    for name in METRICS:
        table[name] = rows[name].astype("float64") if name in rows.columns else np.nan
    status: Any = rows["status"].astype(str) if "status" in rows.columns else None
    done = table["f1"].notna() if status is None else status == Status.completed
    table.loc[~done, list(METRICS)] = np.nan
    table["control"] = rows["control"].astype(int) if "control" in rows.columns else 0
    table["d"] = rows["d"].astype("float64") if "d" in rows.columns else np.nan
    table["completed"], table["missing"] = done.astype(int), (~done).astype(int)
    table["unsupported"] = 0 if status is None else (status == Status.unsupported).astype(int)
    how = {"control": "max", "d": "max", "completed": "sum", "missing": "sum", "unsupported": "sum"}
    units = table.groupby(KEYS).agg(how | dict.fromkeys(METRICS, "mean")).reset_index()
    # Means of equal scores in another order differ by rounding, and would be no ties.
    units[list(METRICS)] = units[list(METRICS)].round(_DIGITS)
    # A fit that never saw its table has no d of its own.
    units["d"] = units.groupby("scenario")["d"].transform("max").astype("Int64")
    units["factors"] = _factors(rows, units["scenario"])
    return units


def _factors(rows: pd.DataFrame, scenarios: Any) -> list[dict[str, Any]]:
    if "factors" not in rows.columns:
        return [{} for _ in scenarios]
    texts = dict(zip(rows["scenario"].astype(str), rows["factors"], strict=True))
    parsed = {name: json.loads(text) if isinstance(text, str) else dict(text) for name, text in texts.items()}
    return [parsed[name] for name in scenarios]


def factor_names(units: pd.DataFrame) -> list[str]:
    """The factors that any scenario has, sorted."""
    return sorted({name for factors in units["factors"] for name in factors})


def with_levels(units: pd.DataFrame, factor: str) -> pd.DataFrame:
    """The units once for each category of a factor that their scenario has, in the columns `factor` and `level`.

    A scenario whose factor is a list counts for each of its distinct entries (paper 6.2), one without the factor for
    none. Levels are texts, and an ordered categorical: numbers by size, all else by name. More than `MAX_LEVELS`
    numbers become quartiles of the scenarios.

    Args:
        units: As from `unit_scores`.
        factor: A key of phi(S); `mechanism`, `noise` and `root` also stand for the lists of these.

    Raises:
        RunError: If no scenario has the factor.
    """
    key = factor
    if not any(key in factors for factors in units["factors"]):
        key = PLURALS.get(factor, factor)
    values = [_values(factors.get(key)) for factors in units["factors"]]
    if not any(values):
        known = ", ".join(factor_names(units)) or "(none)"
        raise RunError(f"no scenario has the factor '{factor}'; they have {known}")
    found = {value for some in values for value in some}
    of_scenario = dict(zip(units["scenario"], values, strict=True))
    names = _names(found, [value for some in of_scenario.values() for value in some])
    levels = [list(dict.fromkeys(names[value] for value in some)) for some in values]
    table: Any = units.assign(factor=factor, level=levels)
    table = table.explode("level", ignore_index=True).dropna(subset="level")
    order = list(dict.fromkeys(names[value] for value in sorted(found, key=_by_size)))
    return table.assign(level=pd.Categorical(table["level"], order, ordered=True)).reset_index(drop=True)


def _values(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    parts = value if isinstance(value, list | tuple) else [value]
    plain = (int, float, str)
    return tuple(dict.fromkeys(part if isinstance(part, plain) else str(part) for part in parts))


def _by_size(value: Any) -> tuple[bool, float, str]:
    number = _is_number(value)
    return (not number, float(value) if number else 0.0, str(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _names(found: Iterable[Any], drawn: Sequence[Any]) -> dict[Any, str]:
    """What each value is called; the quartiles of `drawn` where there are too many numbers."""
    found = set(found)
    if len(found) <= MAX_LEVELS or not all(_is_number(value) for value in found):
        return {value: str(value) for value in found}
    ordered = sorted(found)
    cuts = np.unique(np.quantile(np.asarray(drawn, float), (0.25, 0.5, 0.75)))
    place = np.searchsorted(cuts, ordered, side="right")
    names = {}
    for quarter in np.unique(place):
        inside = [value for value, where in zip(ordered, place, strict=True) if where == quarter]
        label = f"{inside[0]:g}" if len(inside) == 1 else f"{inside[0]:g} to {inside[-1]:g}"
        names |= dict.fromkeys(inside, label)
    return names


def competitors(units: pd.DataFrame) -> pd.DataFrame:
    """The units of methods that are ranked: floors are left out."""
    table: Any = units
    floors = set(table.loc[table["control"] == 1, "method"])
    return table[~table["method"].isin(floors)]


def score_table(units: pd.DataFrame, metric: str) -> pd.DataFrame:
    """`[scenarios, methods]` of one metric in one split, nan where there is no score.

    Raises:
        RunError: If the units are of several splits.
    """
    table: Any = units
    if table["split"].nunique() > 1:
        raise RunError("scores of several splits cannot be one table; choose one split")
    return table.pivot(index="scenario", columns="method", values=metric)
