"""Mean ranks, their critical difference (Demsar 2006), and how stable they are."""

from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from arena.errors import RunError
from eval.analysis.frame import Source, competitors, score_table, unit_scores
from eval.analysis.intervals import ROUNDS, resamples

#: Metric -> whether a larger value is better.
METRICS = {"f1": True, "shd": False}
COLUMNS = [
    *("split", "metric", "method", "mean_rank", "rank_low", "rank_high", "first", "critical_difference", "groups"),
    *("friedman", "p_value", "n", "left_out", "without"),
]


def ranks(source: Source, *, alpha: float = 0.05, rounds: int = ROUNDS, seed: int = 0) -> pd.DataFrame:
    """Mean ranks of methods over scenarios, ties sharing their mean rank.

    Only scenarios where every method of the split has a score count, since ranks among different methods mean different
    things. Floors, and methods that do not take the split, are left out.

    Args:
        source: A run or its rows.
        alpha: Level of the Nemenyi test.
        rounds: Bootstrap resamples of the scenarios.

    Returns:
        `split`, `metric` (`f1`, `shd`), `method`, `mean_rank` (1 is best), `rank_low`, `rank_high` (95% bootstrap
        interval of the mean rank), `first` (share of resamples in which the method has the best mean rank),
        `critical_difference` (Nemenyi), `groups` (all largest sets of neighbours that it does not separate, `a, b | b,
        c`; the same text on each line), `friedman`, `p_value`, `n` (scenarios), `left_out` (scenarios that some method
        has no score on), `without` (methods that take the split and have no score at all, which are not ranked).

    Raises:
        RunError: If no split has two methods with a score on a common scenario.
    """
    if not isinstance(alpha, int | float) or not 0 < alpha < 1:
        raise RunError(f"alpha is {alpha!r}; it must lie between 0 and 1")
    units: Any = competitors(unit_scores(source))
    parts = []
    for split, part in units.groupby("split"):
        refused = part.groupby("method").agg({"completed": "sum", "missing": "sum", "unsupported": "sum"})
        refused = refused[(refused["completed"] == 0) & (refused["missing"] == refused["unsupported"])]
        part = part[~part["method"].isin(set(refused.index))]
        lost = part.groupby("method")["completed"].sum()
        lost = ", ".join(sorted(lost[lost == 0].index))
        for metric, larger in METRICS.items():
            table = score_table(part, metric).dropna(axis=1, how="all")
            whole = table.dropna()
            if table.shape[1] >= 2 and len(whole):
                lines = _ranks(whole, larger, alpha, rounds, seed)
                tallies = {"n": len(whole), "left_out": len(table) - len(whole), "without": lost}
                parts.append(lines.assign(split=split, metric=metric, **tallies))
    if not parts:
        raise RunError("ranks need at least two methods, and a scenario on which all methods of a split have a score")
    return pd.concat(parts, ignore_index=True).loc[:, COLUMNS]


def critical_difference(k: int, n: int, alpha: float = 0.05) -> float:
    """Nemenyi: mean ranks of `k` methods over `n` scenarios that differ by this much differ significantly."""
    q = stats.studentized_range.ppf(1 - alpha, k, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(k * (k + 1) / (6 * n)))


def neighbours(mean_ranks: dict[str, float], difference: float) -> list[tuple[str, ...]]:
    """The largest sets of methods whose mean ranks lie within `difference`, best first; singles are left out."""
    names = sorted(mean_ranks, key=lambda name: (mean_ranks[name], name))
    found: list[tuple[str, ...]] = []
    reach = 0
    for i, name in enumerate(names):
        end = max(j for j in range(i, len(names)) if mean_ranks[names[j]] - mean_ranks[name] <= difference)
        if end > i and end + 1 > reach:
            found.append(tuple(names[i : end + 1]))
        reach = max(reach, end + 1)
    return found


def _ranks(table: pd.DataFrame, larger: bool, alpha: float, rounds: int, seed: int) -> pd.DataFrame:
    """`table` `[scenarios, methods]` without gaps."""
    places = table.rank(axis=1, ascending=not larger).to_numpy()  # [n, k]
    n, k = places.shape
    means = dict(zip(table.columns, places.mean(axis=0).tolist(), strict=True))
    drawn = resamples(n, rounds, seed) @ places / n  # [rounds, k]
    low, high = np.quantile(drawn, (0.025, 0.975), axis=0) if n >= 2 else np.full((2, k), np.nan)
    best = np.isclose(drawn, drawn.min(axis=1, keepdims=True))
    # Friedman's statistic needs three methods, and some difference; without either it says nothing.
    usable = k >= 3 and n >= 2 and bool((places != places[:, :1]).any())
    statistic, p_value = stats.friedmanchisquare(*places.T) if usable else (np.nan, np.nan)
    difference = critical_difference(k, n, alpha)
    groups = " | ".join(", ".join(group) for group in neighbours(means, difference))
    return pd.DataFrame(
        {"method": table.columns, "mean_rank": list(means.values()), "rank_low": low, "rank_high": high,
         "first": (best / best.sum(axis=1, keepdims=True)).mean(axis=0), "critical_difference": difference,
         "groups": groups, "friedman": statistic, "p_value": p_value}
    ).sort_values("mean_rank", kind="stable")  # fmt: skip
