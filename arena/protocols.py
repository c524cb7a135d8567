"""Intervention protocols: which rows are intervened on, where, and to what (paper A.1, Interventions; A.2)."""

import dataclasses

import numpy as np

from arena.spec import Kind

#: Rows of the two matched splits on the main leaderboard (paper 4.5).
N_OBS = 1000
N_OBS_OF_MIXED, N_INT = 800, 200
#: Size of the intervention target pool, (least, most), up to each number of variables (paper A.1, Target-pool size).
POOL_SIZES = ((10, (2, 4)), (20, (3, 6)), (30, (4, 8)), (50, (5, 12)), (float("inf"), (8, 20)))
#: Percentiles between which a target is resampled (paper A.1, Intervention value).
PERCENTILES = (10.0, 90.0)


@dataclasses.dataclass(frozen=True)
class Intervention:
    """What is set in each row: `mask` `[n, d]` bool, and `values` `[n, d]`, read where the mask is true."""

    mask: np.ndarray
    values: np.ndarray


def target_pool(rng: np.random.Generator, d: int) -> list[int]:
    """Columns that may be intervened on, drawn once for an SCM, ascending."""
    low, high = next(bounds for limit, bounds in POOL_SIZES if d <= limit)
    size = min(int(rng.integers(low, high + 1)), d)
    return sorted(rng.choice(d, size=size, replace=False).tolist())


def default_resampling(
    rng: np.random.Generator, pool: list[int], baseline: np.ndarray, kinds: list[Kind], n_obs: int, n_int: int
) -> Intervention:
    """The main protocol: one target an interventional row, balanced over the pool, hard do-resampling.

    Args:
        rng: Source of randomness.
        pool: Columns that may be set.
        baseline: `[m, d]` observational values, from which percentiles are taken. A target is set to a uniform draw
            between its 10th and 90th percentile; a discrete one to one of its values there, each as likely.
        kinds: What each column's values are.
        n_obs: Rows that come first and are left alone.
        n_int: Rows after them, one target each.
    """
    n, d = n_obs + n_int, baseline.shape[1]
    mask, values = np.zeros((n, d), bool), np.zeros((n, d), baseline.dtype)
    targets = rng.permutation(np.resize(rng.permutation(pool), n_int))
    rows = n_obs + np.arange(n_int)
    mask[rows, targets] = True
    for target in pool:
        low, high = np.percentile(baseline[:, target], PERCENTILES)
        mine = rows[targets == target]
        if kinds[target] == "continuous":
            values[mine, target] = rng.uniform(low, high, size=len(mine))
        else:
            levels = np.unique(baseline[:, target])
            values[mine, target] = rng.choice(levels[(levels >= low) & (levels <= high)], size=len(mine))
    return Intervention(mask, values)
