"""Stressors of what is measured and of interventions, as data of a spec (paper A.1, Difficulty variants).

They act on tables after sampling, so that nothing of them reaches other variables; soft interventions alone act inside
the SCM, through `arena.protocols`. A measured value is a measured value: entries that were set by an intervention are
warped, lost or corrupted like any other. What a stressor must know of a column is stored in it, from a calibration
sample, so a row's values do not depend on the other rows of its table; swapped entries alone do.
"""

import abc
from collections.abc import Callable, Sequence
from typing import Annotated, Literal, get_args

import numpy as np
from jaxtyping import Bool, Float
from pydantic import BaseModel, ConfigDict, Field

from mechanisms.base import Number

Share = Annotated[Number, Field(ge=0.0, le=1.0)]
NonNegative = Annotated[Number, Field(ge=0.0)]
Positive = Annotated[Number, Field(gt=0.0)]
Transform = Literal["signed_log", "tanh", "signed_sqrt"]
Values = Float[np.ndarray, "n d"]

WARPS: dict[Transform, Callable[[np.ndarray], np.ndarray]] = {
    "signed_log": lambda z: np.sign(z) * np.log1p(np.abs(z)),
    "tanh": np.tanh,
    "signed_sqrt": lambda z: np.sign(z) * np.sqrt(np.abs(z)),
}

#: Those that change entries of intervened rows which no intervention reaches.
UNRELATED = ("distribution_shift", "outliers", "feature_corruption", "missingness")

# Paper A.1, Observation stressors.
WARPED_SHARE = 0.55
OUTLIER_RATE = 0.025
MISSING_RATE = 0.05
CORRUPTED_RATE = 0.03
# Paper A.1, Intervention stressors.
SOFTNESS = 0.45

# Not in the paper. A jump's size is Pareto: at least 3 SDs, 4.5 on average, with finite variance.
JUMP, TAIL = 3.0, 3.0
# Largest jitter of a filled entry, in SDs.
JITTER = 0.05
# Share of columns that shift under interventions; the sizes are those of the paper's parameter shifts (A.2), in SDs.
SHIFTED_SHARE = 0.3
SHIFTS, FACTORS = (0.3, 0.8), ((0.6, 0.85), (1.15, 1.6))


class _Model(BaseModel, frozen=True):
    model_config = ConfigDict(strict=True, extra="forbid")


class AbstractStressor(_Model, abc.ABC, frozen=True):
    """One stressor of one SCM."""

    @classmethod
    @abc.abstractmethod
    def draw(
        cls, rng: np.random.Generator, names: Sequence[str], center: np.ndarray, scale: np.ndarray
    ) -> "AbstractStressor":
        """A random one for columns of these names, means and standard deviations."""

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that it names."""
        return ()

    def apply(
        self,
        values: Values,
        names: Sequence[str],
        intervened_rows: Bool[np.ndarray, " n"],
        rng: np.random.Generator,
    ) -> Values:
        """The stressed table, a new array or the same one; arguments as in the function `apply`."""
        return values


class Warp(_Model, frozen=True):
    """value -> center + scale * transform((value - center) / scale)."""

    transform: Transform
    center: Number
    scale: Positive


class FeatureWarping(AbstractStressor, frozen=True):
    """Columns seen through a strictly increasing transform of their standardised values."""

    family: Literal["feature_warping"]
    columns: dict[str, Warp]

    @classmethod
    def draw(cls, rng, names, center, scale):
        chosen = {j: str(rng.choice(get_args(Transform))) for j in _some(rng, len(names), WARPED_SHARE)}
        columns = {
            names[j]: {"transform": transform, "center": float(center[j]), "scale": float(scale[j]) or 1.0}
            for j, transform in chosen.items()
        }
        return cls.model_validate({"family": "feature_warping", "columns": columns})

    @property
    def variables(self):
        return tuple(self.columns)

    def apply(self, values, names, intervened_rows, rng):
        out = values.copy()
        for name, warp in self.columns.items():
            column = out[:, names.index(name)]
            column[:] = warp.center + warp.scale * WARPS[warp.transform]((column - warp.center) / warp.scale)
        return out


class Outliers(AbstractStressor, frozen=True):
    """Entries that jump up or down by `jump * P` standard deviations, P from a Pareto distribution on [1, inf).

    Attributes:
        rate: Share of entries.
        scale: The standard deviation of every column concerned.
        jump: The least size of a jump, in standard deviations.
        tail: Index of the Pareto distribution: P exceeds x with probability `x ** -tail`.
    """

    family: Literal["outliers"]
    rate: Share
    scale: dict[str, NonNegative]
    jump: NonNegative
    tail: Positive

    @classmethod
    def draw(cls, rng, names, center, scale):
        scales = {name: float(sd) for name, sd in zip(names, scale, strict=True)}
        return cls(family="outliers", rate=OUTLIER_RATE, scale=scales, jump=JUMP, tail=TAIL)

    @property
    def variables(self):
        return tuple(self.scale)

    def apply(self, values, names, intervened_rows, rng):
        hit, size, sign = _uniforms(rng, values, 3)
        scale = np.array([self.scale.get(name, 0.0) for name in names])
        jump = np.where(sign < 0.5, -scale, scale) * self.jump * (1.0 - size) ** (-1.0 / self.tail)
        return np.where(hit < self.rate, values + jump, values).astype(values.dtype)


class Fill(_Model, frozen=True):
    """mean + jitter * a uniform draw from [-1, 1)."""

    mean: Number
    jitter: NonNegative


class Missingness(AbstractStressor, frozen=True):
    """Entries that are missing, whatever their values, and filled with the column's mean and a small jitter.

    The mean is that of observational data, in interventional rows too.

    Attributes:
        rate: Share of entries.
        columns: What every column concerned is filled with.
    """

    family: Literal["missingness"]
    rate: Share
    columns: dict[str, Fill]

    @classmethod
    def draw(cls, rng, names, center, scale):
        columns = {
            name: Fill(mean=float(mean), jitter=JITTER * float(sd))
            for name, mean, sd in zip(names, center, scale, strict=True)
        }
        return cls(family="missingness", rate=MISSING_RATE, columns=columns)

    @property
    def variables(self):
        return tuple(self.columns)

    def apply(self, values, names, intervened_rows, rng):
        hit, jitter = _uniforms(rng, values, 2)
        out = values.copy()
        for name, fill in self.columns.items():
            j = names.index(name)
            lost = hit[:, j] < self.rate
            out[lost, j] = fill.mean + fill.jitter * (2.0 * jitter[lost, j] - 1.0)
        return out


class FeatureCorruption(AbstractStressor, frozen=True):
    """Entries that change places within their column, in one random cycle.

    Plain rows exchange entries among themselves and interventional rows likewise, so that observational data hold
    nothing of an intervention.

    Attributes:
        rate: Share of entries.
    """

    family: Literal["feature_corruption"]
    rate: Share

    @classmethod
    def draw(cls, rng, names, center, scale):
        return cls(family="feature_corruption", rate=CORRUPTED_RATE)

    def apply(self, values, names, intervened_rows, rng):
        # Plain rows first, and from a generator that the number of rows has not moved: which of them change places must
        # not depend on what else is in the table.
        hits, rng = rng.spawn(2)
        (hit,) = _uniforms(hits, values, 1)
        out = values.copy()
        for group in (~intervened_rows, intervened_rows):
            for j in range(values.shape[1]):
                rows = rng.permutation(np.flatnonzero((hit[:, j] < self.rate) & group))
                out[rows, j] = values[np.roll(rows, 1), j]
        return out


class Drift(_Model, frozen=True):
    """value -> center + gain * (value - center) + offset."""

    center: Number
    gain: Positive
    offset: Number


class DistributionShift(AbstractStressor, frozen=True):
    """Columns whose values are shifted and scaled in every interventional row, whatever its targets are."""

    family: Literal["distribution_shift"]
    columns: dict[str, Drift]

    @classmethod
    def draw(cls, rng, names, center, scale):
        columns = {}
        for j in _some(rng, len(names), SHIFTED_SHARE):
            gain = rng.uniform(*FACTORS[rng.integers(len(FACTORS))])
            offset = rng.choice((-1.0, 1.0)) * rng.uniform(*SHIFTS) * float(scale[j])
            columns[names[j]] = Drift(center=float(center[j]), gain=gain, offset=float(offset))
        return cls(family="distribution_shift", columns=columns)

    @property
    def variables(self):
        return tuple(self.columns)

    def apply(self, values, names, intervened_rows, rng):
        out = values.copy()
        for name, drift in self.columns.items():
            j = names.index(name)
            moved = drift.center + drift.gain * (values[:, j] - drift.center) + drift.offset
            out[:, j] = np.where(intervened_rows, moved, values[:, j])
        return out


class SoftInterventions(AbstractStressor, frozen=True):
    """Targets become a blend of structural and set value; `arena.protocols` plans with this softness."""

    family: Literal["soft_interventions"]
    softness: Share

    @classmethod
    def draw(cls, rng, names, center, scale):
        return cls(family="soft_interventions", softness=SOFTNESS)


Stressor = Annotated[
    FeatureWarping | Outliers | Missingness | FeatureCorruption | DistributionShift | SoftInterventions,
    Field(discriminator="family"),
]
FAMILIES: dict[str, type[AbstractStressor]] = {
    "feature_warping": FeatureWarping,
    "outliers": Outliers,
    "missingness": Missingness,
    "feature_corruption": FeatureCorruption,
    "distribution_shift": DistributionShift,
    "soft_interventions": SoftInterventions,
}


def draw(
    family: str, rng: np.random.Generator, names: Sequence[str], center: np.ndarray, scale: np.ndarray
) -> AbstractStressor:
    """A random stressor of one family.

    Args:
        family: One of `FAMILIES`.
        rng: Source of randomness.
        names: The columns.
        center, scale: `[d]`, their means and standard deviations in a calibration sample.
    """
    return FAMILIES[family].draw(rng, names, center, scale)


def apply(
    stressors: Sequence[AbstractStressor],
    values: Values,
    names: Sequence[str],
    intervened_rows: Bool[np.ndarray, " n"],
    rng: np.random.Generator,
) -> Values:
    """The table that is measured under the stressors, which act one after another.

    Entries are hit row by row: with the same generator, the first rows of a longer table are hit in the same places.
    Splits that share units therefore agree on them if the plain and the intervened rows are stressed as one table,
    and the splits are taken from it.

    Args:
        stressors: Those of the spec.
        values: The table; it is not changed.
        names: Its columns.
        intervened_rows: Which rows are intervened on anywhere.
        rng: Source of randomness; each stressor takes a seed of its own from it.

    Returns:
        A new array of the same type.
    """
    out, names = values.copy(), list(names)
    for stressor, seed in zip(stressors, rng.integers(2**63, size=len(stressors)), strict=True):
        out = stressor.apply(out, names, intervened_rows, np.random.default_rng(seed))
    return out


def softness(stressors: Sequence[AbstractStressor]) -> float:
    """How soft interventions are under the stressors: 1, a hard one, unless one of them says otherwise."""
    return next((stressor.softness for stressor in stressors if isinstance(stressor, SoftInterventions)), 1.0)


def _some(rng: np.random.Generator, d: int, share: float) -> list[int]:
    """Columns, the nearest number to that share and at least one, ascending."""
    return sorted(rng.choice(d, size=max(1, round(share * d)), replace=False).tolist())


def _uniforms(rng: np.random.Generator, values: np.ndarray, count: int) -> np.ndarray:
    """`[count, n, d]` uniform draws, those of a row one after another."""
    return np.moveaxis(rng.random((*values.shape, count)), -1, 0)
