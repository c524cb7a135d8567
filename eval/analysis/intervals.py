"""Bootstrap percentile intervals over scenarios, for every mean that is shown."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from arena.errors import RunError

ROUNDS = 1000
LEVEL = 0.95


def bootstrap_means(
    values: np.ndarray, rounds: int = ROUNDS, seed: int = 0, level: float = LEVEL
) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the percentile intervals of column means, rows resampled with replacement.

    All columns share their resamples, so that columns can be compared. nan is left out of the mean of a resample.

    Args:
        values: `[k, m]`, a row for each scenario.
        rounds: Resamples.
        seed: The same seed, the same resamples.
        level: Coverage.

    Returns:
        `low` and `high` `[m]`; nan where fewer than two rows have a value, since one scenario tells no spread.
    """
    values = np.asarray(values, np.float64)
    present = ~np.isnan(values)
    low, high = np.full((2, values.shape[1]), np.nan)
    usable = present.sum(axis=0) >= 2
    if usable.any():
        weights = resamples(len(values), rounds, seed)
        with np.errstate(invalid="ignore"):  # a resample may miss every scenario of a column: 0 / 0
            counts = weights @ present[:, usable].astype(np.float64)
            means = (weights @ np.where(present, values, 0.0)[:, usable]) / counts
        tail = (1 - level) / 2
        low[usable], high[usable] = np.nanquantile(means, (tail, 1 - tail), axis=0)
    return low, high


def resamples(k: int, rounds: int, seed: int) -> np.ndarray:
    """`[rounds, k]`, how often each of `k` rows is drawn in each resample.

    Raises:
        RunError: If `rounds` or `seed` is no number of such things.
    """
    for name, value, least in (("rounds", rounds, 1), ("seed", seed, 0)):
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise RunError(f"{name} is {value!r}; it must be a whole number of at least {least}")
    drawn = np.random.default_rng(seed).integers(k, size=(rounds, k))
    return np.bincount((drawn + k * np.arange(rounds)[:, None]).ravel(), minlength=rounds * k).reshape(rounds, k) * 1.0


def summarise(
    units: pd.DataFrame,
    by: Sequence[str],
    intervals: Sequence[str] = ("f1", "shd"),
    means: Sequence[str] = (),
    *,
    rounds: int = ROUNDS,
    seed: int = 0,
) -> pd.DataFrame:
    """Means over scenarios of each method in each group, with intervals.

    Args:
        units: As from `unit_scores`, or `with_levels`; a method has each scenario once in a group.
        by: Columns that make the groups.
        intervals: Metrics that get a mean and the columns `<metric>_low` and `<metric>_high`.
        means: Metrics that get a mean only.

    Returns:
        `by`, `method`, `control`, the metrics in that order, `n` (scenarios with a completed replicate), `missing`
        (replicates not completed). A method without any score in a group has nan and n = 0.
    """
    by, table, parts = list(by), units, []
    grouped: Any = table.groupby(by, observed=True, sort=True)
    for key, part in grouped:
        lines: Any = part.groupby("method")[[*intervals, *means]].mean()
        for metric in intervals:
            wide = part.pivot(index="scenario", columns="method", values=metric)
            low, high = bootstrap_means(wide.to_numpy(), rounds, seed)
            lines = lines.join(pd.DataFrame({f"{metric}_low": low, f"{metric}_high": high}, index=wide.columns))
        tallies = part.assign(n=(part["completed"] > 0).astype(int)).groupby("method")
        lines = lines.join(tallies.agg({"control": "max", "n": "sum", "missing": "sum"})).reset_index()
        parts.append(lines.assign(**dict(zip(by, key, strict=True))))
    names = [name for metric in intervals for name in (metric, f"{metric}_low", f"{metric}_high")]
    columns = [*by, "method", "control", *names, *means, "n", "missing"]
    if not parts:
        return pd.DataFrame(columns=columns)
    return pd.concat(parts, ignore_index=True).loc[:, columns]
