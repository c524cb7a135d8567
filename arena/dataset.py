"""`Dataset`: one table, what was intervened on in it, and the graph behind it."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from arena.dag import find_cycle
from arena.errors import DataError

Split = Literal["obs", "obs_int"]
SPLITS: tuple[Split, ...] = ("obs", "obs_int")


@dataclasses.dataclass(frozen=True, eq=False)
class Dataset:
    """A table of `n` rows over `d` variables.

    Attributes:
        names: The `d` column names, unique.
        values: `[n, d]` float array, finite, in the units of the scenario (never standardised here).
        intervention_mask: `[n, d]` bool, true where variable j was set by intervention in row i.
            All false when omitted.
        adjacency: `[d, d]` int8, `adjacency[i, j] == 1` for i -> j, acyclic; None when the graph is unknown.
        name: The scenario that the table is from.
        split: `obs` (no intervened rows) or `obs_int` (paper 4.5); follows from the mask when omitted.
        noise: `[n, d]` or `[n, d, 2]` exogenous noise of the same units, where the simulator that drew them kept it.
        info: Anything else worth keeping, as JSON values.

    Raises:
        DataError: If shapes disagree, names repeat, a value is not finite, or the graph is not a DAG.
    """

    names: tuple[str, ...]
    values: np.ndarray
    intervention_mask: np.ndarray | None = None
    adjacency: np.ndarray | None = None
    name: str = "table"
    split: Split | None = None
    noise: np.ndarray | None = None
    info: dict[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        put = lambda field, value: object.__setattr__(self, field, value)  # noqa: E731  (frozen)
        put("names", tuple(self.names))
        put("values", _as_floating(self.values, self.name))
        if self.values.ndim != 2:
            raise DataError(f"{self.name}: values must be a table [n, d], found {self.values.ndim} axes")
        n, d = self.values.shape
        if len(self.names) != d:
            raise DataError(f"{self.name}: {d} columns but {len(self.names)} names")
        if len(set(self.names)) != d:
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise DataError(f"{self.name}: column '{twice}' appears more than once; names must be unique")
        if not np.isfinite(self.values).all():
            row, col = np.argwhere(~np.isfinite(self.values))[0]
            raise DataError(
                f"{self.name}: column '{self.names[col]}', row {row} is {self.values[row, col]}; "
                "every value must be finite"
            )
        mask = np.zeros((n, d), bool) if self.intervention_mask is None else np.asarray(self.intervention_mask)
        if mask.shape != (n, d):
            raise DataError(
                f"{self.name}: the intervention mask has shape {mask.shape}, the table {(n, d)}; they must agree"
            )
        if mask.dtype != bool and not np.isin(mask, (0, 1)).all():
            row, col = np.argwhere(~np.isin(mask, (0, 1)))[0]
            raise DataError(
                f"{self.name}: intervention mask, column '{self.names[col]}', row {row} is {mask[row, col]}; "
                "entries must be 0 or 1"
            )
        put("intervention_mask", mask.astype(bool))
        split = self.split or ("obs_int" if mask.any() else "obs")
        if split == "obs" and mask.any():
            raise DataError(f"{self.name}: split 'obs' with {int(mask.any(1).sum())} intervened rows")
        put("split", split)
        if self.adjacency is not None:
            put("adjacency", check_dag(self.adjacency, self.names, self.name))
        if self.noise is not None and np.shape(self.noise)[:2] != (n, d):
            raise DataError(f"{self.name}: noise has shape {np.shape(self.noise)}, the table {(n, d)}")

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.values.shape[0]

    @property
    def d(self) -> int:
        """Number of variables."""
        return self.values.shape[1]

    @property
    def mask(self) -> np.ndarray:
        """The intervention mask `[n, d]`, never None."""
        assert self.intervention_mask is not None
        return self.intervention_mask

    @property
    def truth(self) -> np.ndarray:
        """The adjacency `[d, d]`.

        Raises:
            DataError: If the graph is unknown.
        """
        if self.adjacency is None:
            raise DataError(f"{self.name}: the graph of this dataset is not known")
        return self.adjacency

    def observational(self) -> "Dataset":
        """The rows without any intervention, as split `obs` (paper 5.2)."""
        keep = ~self.mask.any(axis=1)
        noise = None if self.noise is None else self.noise[keep]
        return dataclasses.replace(
            self, values=self.values[keep], intervention_mask=self.mask[keep], noise=noise, split="obs"
        )

    def select(self, names: Sequence[str]) -> "Dataset":
        """The same rows with the columns `names`, in that order; the graph is the induced one."""
        unknown = [name for name in names if name not in self.names]
        if unknown:
            raise DataError(f"{self.name}: no column '{unknown[0]}'; columns are {', '.join(self.names)}")
        index = [self.names.index(name) for name in names]
        return dataclasses.replace(
            self,
            names=tuple(names),
            values=self.values[:, index],
            intervention_mask=self.mask[:, index],
            adjacency=None if self.adjacency is None else self.adjacency[np.ix_(index, index)],
            noise=None if self.noise is None else self.noise[:, index],
        )


def _as_floating(values: Any, where: str) -> np.ndarray:
    """Floating arrays as they are, other numbers as float64; read-only, and not the caller's own."""
    array = np.asarray(values)
    if not np.issubdtype(array.dtype, np.floating):
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"{where}: values must be numbers; {error}") from error
    if array.flags.writeable:
        array = array.copy()
        array.flags.writeable = False
    return array


def check_dag(adjacency: Any, names: Sequence[str], where: str) -> np.ndarray:
    """The adjacency as int8 `[d, d]`, `A[i, j] == 1` for i -> j.

    Raises:
        DataError: If it is not square, not 0/1, of another size than `names`, or has a directed cycle; the
            cycle is spelt out.
    """
    array = np.asarray(adjacency)
    d = len(names)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise DataError(f"{where}: the graph must be a square matrix, found shape {array.shape}")
    if array.shape[0] != d:
        raise DataError(f"{where}: the graph has {array.shape[0]} variables, the table {d}")
    if not np.isin(array, (0, 1)).all():
        i, j = np.argwhere(~np.isin(array, (0, 1)))[0]
        raise DataError(f"{where}: graph entry {names[i]} -> {names[j]} is {array[i, j]}; entries must be 0 or 1")
    array = array.astype(np.int8)
    cycle = find_cycle(array)
    if cycle is not None:
        raise DataError(
            f"{where}: the graph has a directed cycle, {' -> '.join(names[i] for i in [*cycle, cycle[0]])}; "
            "it must be a DAG"
        )
    return array
