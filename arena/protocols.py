"""Intervention protocols: which rows are intervened on, where, and how (paper A.1, Interventions; A.2)."""

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from arena.errors import SpecError
from arena.pool import Edits
from arena.spec import Kind

#: Rows of the mixed split on the main leaderboard; the observational split has as many (paper 4.5).
N_OBS_OF_MIXED, N_INT = 800, 200
#: Size of the intervention target pool, (least, most), up to each number of variables (paper A.1, Target-pool size).
POOL_SIZES = ((10, (2, 4)), (20, (3, 6)), (30, (4, 8)), (50, (5, 12)), (float("inf"), (8, 20)))
#: Percentiles between which a target is resampled (paper A.1, Intervention value).
PERCENTILES = (10.0, 90.0)
#: Percentiles that a target is set to, and the SD of the normal jitter, in interquartile ranges (paper A.2).
SETPOINTS, JITTER = (20.0, 50.0, 80.0), 0.01
#: Size of a shift in interquartile ranges, and ranges of a factor (paper A.2, Parameter shift).
SHIFTS, FACTORS = (0.3, 0.8), ((0.6, 0.85), (1.15, 1.6))
#: What a parameter shift changes. The first and the last both scale the structural signal, the second shifts its value.
FORMS = ("parent_effects", "bias", "nonlinear_strength")

#: What is done to a target: set to a value resampled from its range, set to a percentile, or its mechanism changed.
Change = Literal["resampling", "setpoint", "parameter_shift"]


@dataclasses.dataclass(frozen=True)
class Plan:
    """The interventions of one replicate, on m rows.

    Attributes:
        mask: `[m, d]` bool, the targets of each row, whatever is done to them.
        edits: The same as tables: which plain units the rows are copies of, and what becomes of their values.
    """

    mask: np.ndarray
    edits: Edits

    @property
    def units(self) -> np.ndarray:
        """`[m]`, which plain units the intervened rows are copies of."""
        return self.edits.units


@dataclasses.dataclass(frozen=True)
class Protocol:
    """How the observation-plus-intervention split is made.

    Its rows are the first `n_obs` plain units, then the next `n_int` units as they are when intervened on; row i of it
    and row i of the observational split are one unit.

    Attributes:
        name, n_obs, n_int: As they say.
        changes: What is done to the targets of a row; each as often where there are several.
        n_targets: Targets of a row, (least, most); each number as often.
        structural: Whether only variables with parents are targets.
    """

    name: str
    n_obs: int = N_OBS_OF_MIXED
    n_int: int = N_INT
    changes: tuple[Change, ...] = ("resampling",)
    n_targets: tuple[int, int] = (1, 1)
    structural: bool = False

    @property
    def n(self) -> int:
        """Rows of each of the two splits."""
        return self.n_obs + self.n_int

    def with_rows(self, n: int) -> "Protocol":
        """The same with n rows, as many of them intervened on as before, in proportion."""
        n_int = round(n * self.n_int / self.n)
        return dataclasses.replace(self, n_obs=n - n_int, n_int=n_int)

    def candidates(self, kinds: Sequence[Kind], is_root: Bool[np.ndarray, " d"]) -> list[int]:
        """Columns that may be targets: all, or the structural ones.

        A discrete variable is none where parameters shift: its values would leave their levels.
        """
        discrete_too = "parameter_shift" not in self.changes
        return [
            j
            for j, kind in enumerate(kinds)
            if not (self.structural and is_root[j]) and (discrete_too or kind == "continuous")
        ]

    def plan(
        self,
        rng: np.random.Generator,
        pool: Sequence[int],
        baseline: Float[np.ndarray, "rows d"],
        kinds: Sequence[Kind],
        is_root: Bool[np.ndarray, " d"],
        *,
        softness: float = 1.0,
        resampled: Mapping[int, np.ndarray] | None = None,
    ) -> Plan:
        """The interventions of one replicate.

        Targets are dealt out evenly: how often any two are taken differs by at most one.

        Args:
            rng: Source of randomness.
            pool: Columns that are intervened on, from `target_pool`.
            baseline: Observational values, from which percentiles are taken.
            kinds: What each column's values are.
            is_root: Which columns have no parents.
            softness: Weight of the value that a target is set to, against its structural value (paper A.1, soft
                interventions); 1 is a hard intervention. Parameter shifts have none.
            resampled: By column, the values that a resampled target takes, each as likely; of other columns values
                between percentiles.

        Raises:
            SpecError: If the pool is empty, or a column in it is not a candidate.
        """
        refused = sorted(set(pool) - set(self.candidates(kinds, is_root)))
        if refused or not pool:
            found = f"column {refused[0]}" if refused else "an empty target pool"
            rule = "continuous variables with parents" if "parameter_shift" in self.changes else "variables"
            raise SpecError(f"protocol '{self.name}': found {found}, expected targets that are {rule}")
        rows = _Rows.neutral(self.n_int, baseline.shape[1])
        size, change = self._balanced(rng, len(pool))
        # By change, so that each change too has its targets dealt evenly.
        by_change = np.argsort(change, kind="stable")
        for row, hand in zip(by_change, _deal(rng, pool, size[by_change].tolist()), strict=True):
            rows.mask[row, hand] = True
        forms = np.resize(rng.permutation(FORMS), len(pool))
        for (target, form), (k, what) in itertools.product(zip(pool, forms, strict=True), enumerate(self.changes)):
            mine = np.flatnonzero(rows.mask[:, target] & (change == k))
            column, discrete = baseline[:, target].astype(np.float64), kinds[target] != "continuous"
            if what == "parameter_shift":
                rows.strength[mine, target], rows.offset[mine, target] = _parameter_shift(rng, column, form)
            elif what == "resampling" and resampled and target in resampled:
                values = rng.choice(resampled[target], size=len(mine))
                rows.gain[mine, target], rows.offset[mine, target] = _towards(rng, values, discrete, softness)
            else:
                values = (_resampled if what == "resampling" else _setpoints)(rng, column, discrete, len(mine))
                rows.gain[mine, target], rows.offset[mine, target] = _towards(rng, values, discrete, softness)
        units = np.arange(self.n_obs, self.n_obs + self.n_int, dtype=np.int32)
        return Plan(rows.mask, Edits(units, rows.gain, rows.offset, rows.strength))

    def _balanced(self, rng: np.random.Generator, n_pool: int) -> tuple[np.ndarray, np.ndarray]:
        """For each row its number of targets, and the number of its change; every combination as often."""
        least, most = (min(bound, n_pool) for bound in self.n_targets)
        cells = np.array(list(itertools.product(range(least, most + 1), range(len(self.changes)))))
        size, change = cells[_evenly(rng, len(cells), self.n_int)].T
        return size, change


#: The main protocol and what the sensitivity suite compares with it (paper A.2).
PROTOCOLS: dict[str, Protocol] = {
    protocol.name: protocol
    for protocol in (
        Protocol("default_resampling"),
        Protocol("fixed_setpoint", changes=("setpoint",)),
        Protocol("parameter_shift", changes=("parameter_shift",), structural=True),
        Protocol("high_fraction", n_obs=200, n_int=800),
        Protocol("multi_target", n_targets=(2, 4)),
        Protocol(
            "dense_mixed", n_obs=200, n_int=800, n_targets=(2, 4), structural=True,
            changes=("resampling", "setpoint", "parameter_shift"),
        ),
    )
}  # fmt: skip


def target_pool(rng: np.random.Generator, d: int, candidates: Sequence[int] | None = None) -> list[int]:
    """Columns that are intervened on, drawn once for an SCM, ascending.

    Args:
        rng: Source of randomness.
        d: Number of variables, which the size of the pool follows from.
        candidates: Columns to draw from, all when omitted; the pool is all of them where they are too few.

    Raises:
        SpecError: If there is no candidate.
    """
    among = np.arange(d) if candidates is None else np.asarray(candidates, int)
    if not len(among):
        raise SpecError(f"none of the {d} variables may be intervened on, expected at least one candidate")
    low, high = next(bounds for limit, bounds in POOL_SIZES if d <= limit)
    size = min(int(rng.integers(low, high + 1)), len(among))
    return sorted(rng.choice(among, size=size, replace=False).tolist())


@dataclasses.dataclass(frozen=True)
class _Rows:
    """`[m, d]` tables that a plan is written into."""

    mask: np.ndarray
    gain: np.ndarray
    offset: np.ndarray
    strength: np.ndarray

    @classmethod
    def neutral(cls, m: int, d: int) -> "_Rows":
        one, zero = np.ones((m, d), np.float32), np.zeros((m, d), np.float32)
        return cls(np.zeros((m, d), bool), one, zero, one.copy())


def _deal(rng: np.random.Generator, pool: Sequence[int], sizes: Iterable[int]) -> list[list[int]]:
    """Different targets for each row, from a shuffled pool that is shuffled anew whenever it is used up."""
    hands, deck = [], []
    for size in sizes:
        hand, deck = deck[:size], deck[size:]
        if len(hand) < size:
            fresh = rng.permutation(pool).tolist()
            more = [target for target in fresh if target not in hand][: size - len(hand)]
            hand, deck = hand + more, [target for target in fresh if target not in more]
        hands.append(hand)
    return hands


def _evenly(rng: np.random.Generator, n_choices: int, n: int) -> np.ndarray:
    """`[n]` of the numbers below `n_choices` in random order, each as often, up to one."""
    return rng.permutation(np.resize(rng.permutation(n_choices), n))


def _resampled(rng: np.random.Generator, column: np.ndarray, discrete: bool, n: int) -> np.ndarray:
    """Uniform between the percentiles; of a discrete variable one of its values there, each as likely."""
    low, high = _percentiles(column, PERCENTILES, discrete)
    if not discrete:
        return rng.uniform(low, high, size=n)
    levels = np.unique(column)
    return rng.choice(levels[(levels >= low) & (levels <= high)], size=n)


def _setpoints(rng: np.random.Generator, column: np.ndarray, discrete: bool, n: int) -> np.ndarray:
    """One of the percentiles, each as often, with normal jitter; a discrete variable has none."""
    points = _percentiles(column, SETPOINTS, discrete)[_evenly(rng, len(SETPOINTS), n)]
    return points if discrete else points + rng.normal(scale=JITTER * _spread(column), size=n)


def _parameter_shift(rng: np.random.Generator, column: np.ndarray, form: str) -> tuple[float, float]:
    """(strength, offset) of the target's changed mechanism, the same in all of its rows."""
    if form == "bias":
        return 1.0, rng.choice((-1.0, 1.0)) * rng.uniform(*SHIFTS) * _spread(column)
    return rng.uniform(*FACTORS[rng.integers(len(FACTORS))]), 0.0


def _towards(
    rng: np.random.Generator, values: np.ndarray, discrete: bool, softness: float
) -> tuple[np.ndarray, np.ndarray]:
    """(gain, offset) that set a target to the values, or blend them with its structural value.

    There is no value between two levels: a discrete target is set with probability `softness` and else left alone.
    """
    weight = (rng.random(len(values)) < softness).astype(float) if discrete else np.full(len(values), softness)
    return 1.0 - weight, weight * values


def _percentiles(column: np.ndarray, percentiles: Sequence[float], discrete: bool) -> np.ndarray:
    """Percentiles; of a discrete variable, values that occur."""
    return np.percentile(column, percentiles, method="inverted_cdf" if discrete else "linear")


def _spread(column: np.ndarray) -> float:
    """The interquartile range; the SD where half of the values are alike."""
    low, high = np.percentile(column, (25.0, 75.0))
    return float(high - low) or float(column.std())
