"""What a table goes through before any method sees it: hide, drop, standardise; all of it recorded."""

import dataclasses
from typing import Any

import numpy as np

from arena.dataset import Dataset
from methods.base import Capabilities
from methods.columns import content_order

# Standardised columns whose correlation is this close to 1 or -1 are copies: they differ by rounding only.
_COPY = 1e-12
# Share of the largest singular value below which a direction of the standardised table counts as empty.
_RANK = 1e-10


@dataclasses.dataclass(frozen=True)
class Preflight:
    """A table made ready, and the way back.

    Attributes:
        dataset: The usable columns, standardised over all rows (or as they were, for `raw`), read-only, without the
            graph; None where fewer than two columns are usable.
        columns: `[k]` positions of the columns of `dataset` in the caller's table.
        d: Number of columns of the caller's table.
        report: What was found and done, as JSON values: `standardised` (or not), `reordered` (by what is in the
            columns), `constant` (dropped columns), `copies` (pairs of a column and the copy of it), `dropped_copies`,
            `rank` (of the usable columns).
    """

    dataset: Dataset | None
    columns: np.ndarray
    d: int
    report: dict[str, Any]

    def restore(self, matrix: np.ndarray) -> np.ndarray:
        """A `[k, k]` matrix over the usable columns as `[d, d]` over all, zero where a column was dropped."""
        full = np.zeros((self.d, self.d), matrix.dtype)
        full[np.ix_(self.columns, self.columns)] = matrix
        return full


def blind(dataset: Dataset, *, oracle_edges: bool = False) -> Dataset:
    """The dataset without what a method must not see: the graph, the noise, where the table is from.

    Args:
        dataset: Any table.
        oracle_edges: Leave one thing of the truth in it, for a control that declares it: the number of true edges,
            as `info["n_edges"]`, where it is known.
    """
    known: dict[str, Any] = {}
    if oracle_edges and dataset.adjacency is not None:
        known = {"n_edges": int(dataset.adjacency.sum())}
    elif oracle_edges and "n_edges" in dataset.info:
        known = {"n_edges": int(dataset.info["n_edges"])}
    return dataclasses.replace(dataset, adjacency=None, noise=None, info=known, name="table")


def prepared(dataset: Dataset, can: Capabilities) -> Preflight:
    """`preflight` as a method with these capabilities wants it."""
    return preflight(
        dataset,
        distinct_columns=can.distinct_columns,
        positional=can.positional,
        raw=can.raw,
        oracle_edges=can.oracle_edges,
    )


def preflight(
    dataset: Dataset,
    *,
    distinct_columns: bool = False,
    positional: bool = False,
    raw: bool = False,
    oracle_edges: bool = False,
) -> Preflight:
    """Make a table ready for any method.

    Constant columns are dropped. Nothing is known about a variable that never moves; an intervention that
    sets it to its one value changes nothing either, so its part of the intervention mask goes with it. The
    rest is standardised once, to mean 0 and variance 1 (divisor n) over all rows, observational and
    interventional alike.

    Of columns that are exact copies of each other (up to sign, offset and scale) the one whose name sorts
    first can be kept and the others left out. They are always recorded; so is the rank, which shows columns
    that are sums of others.

    Args:
        dataset: Any table.
        distinct_columns: Leave out exact copies. A row in which a copy was set counts as one in which the
            kept column was set.
        positional: Hand the columns over in an order that follows from what is in them, whatever theirs is.
        raw: Hand the columns over in their own units.
        oracle_edges: As for `blind`.
    """
    blinded = blind(dataset, oracle_edges=oracle_edges)
    standard, varies = _standardise(blinded.values)
    names = np.array(blinded.names, dtype=object)
    mask = blinded.mask.copy()

    copies = _copies(standard, varies, names)
    keep = varies.copy()
    if distinct_columns:
        for first, copy in copies:
            keep[copy] = False
            mask[:, first] |= mask[:, copy]
    columns = np.flatnonzero(keep)
    if positional and len(columns):
        columns = columns[content_order(standard[:, columns])]
    report = {
        "standardised": not raw,
        "reordered": positional,
        "constant": [str(name) for name in names[~varies]],
        "copies": [[str(names[first]), str(names[copy])] for first, copy in copies],
        "dropped_copies": distinct_columns,
        "rank": _rank(standard[:, columns]),
    }
    if len(columns) < 2:
        return Preflight(None, columns, blinded.d, report)

    ready = Dataset(
        names=tuple(names[columns]),
        values=(blinded.values.astype(np.float64) if raw else standard)[:, columns],
        intervention_mask=mask[:, columns],
        name=blinded.name,
        split=blinded.split,
        info=blinded.info,
    )
    ready.values.flags.writeable = False
    ready.mask.flags.writeable = False
    return Preflight(ready, columns, blinded.d, report)


def _standardise(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The `[n, d]` float64 table with mean 0 and variance 1, and `[d]` bool, which columns vary."""
    if len(values) == 0:
        return values.astype(np.float64), np.zeros(values.shape[1], bool)
    # Dividing by the largest magnitude first keeps columns near the float64 limit from overflowing.
    largest = np.abs(values).max(axis=0).astype(np.float64)
    scaled = values.astype(np.float64) / np.where(largest > 0, largest, 1.0)
    centred = scaled - scaled.mean(axis=0)
    varies = np.ptp(scaled, axis=0) > 8 * np.finfo(np.float64).eps
    deviation = np.sqrt((centred**2).mean(axis=0))
    return centred / np.where(varies, deviation, 1.0), varies


def _copies(standard: np.ndarray, varies: np.ndarray, names: np.ndarray) -> list[tuple[int, int]]:
    """Pairs (kept, copy) of columns; kept is the one of its group whose name sorts first."""
    order = sorted(np.flatnonzero(varies), key=lambda j: names[j])
    correlation = standard.T @ standard / max(len(standard), 1)
    pairs, taken = [], set()
    for place, first in enumerate(order):
        if first in taken:
            continue
        for copy in order[place + 1 :]:
            if copy not in taken and abs(correlation[first, copy]) > 1 - _COPY:
                pairs.append((int(first), int(copy)))
                taken.add(copy)
    return pairs


def _rank(standard: np.ndarray) -> int:
    """The numerical rank of a standardised table, from its correlation matrix."""
    if standard.size == 0:
        return 0
    eigenvalues = np.linalg.eigvalsh(standard.T @ standard / len(standard))
    return int((eigenvalues > _RANK * eigenvalues.max()).sum())
