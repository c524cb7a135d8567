"""Tables of different sizes in one padded batch, with masks that say what is real."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from arena.dataset import Dataset


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Batch:
    """A batch of `b` tables, zero where padded. JAX arrays, or tensors after `methods.bridge.to_torch`.

    Attributes:
        values: `[b, n, d]` float32.
        interventions: `[b, n, d]` float32, 1 where a variable was set.
        rows: `[b, n]` bool, true for rows of the table.
        columns: `[b, d]` bool, true for its variables.
    """

    values: Any
    interventions: Any
    rows: Any
    columns: Any


def bucket(size: int) -> int:
    """The size that it is padded to, so that few shapes are ever compiled: at most an eighth more; round sizes stay.

    The next multiple of the largest of 1, 2, 5, 10, 20, 50 ... that is at most an eighth of it.
    """
    step = 1
    for larger in (factor * 10**power for power in range(len(str(size))) for factor in (1, 2, 5)):
        step = larger if larger <= size / 8 else step
    return -(-size // step) * step


def pad(datasets: Sequence[Dataset], *, n: int | None = None, d: int | None = None) -> Batch:
    """Tables side by side, padded at their ends to `n` rows and `d` variables (the largest, if not given)."""
    n = max(dataset.n for dataset in datasets) if n is None else n
    d = max(dataset.d for dataset in datasets) if d is None else d
    values = np.zeros((len(datasets), n, d), np.float32)
    interventions = np.zeros_like(values)
    rows, columns = np.zeros(values.shape[:2], bool), np.zeros((len(datasets), d), bool)
    for b, dataset in enumerate(datasets):
        values[b, : dataset.n, : dataset.d] = dataset.values
        interventions[b, : dataset.n, : dataset.d] = dataset.mask
        rows[b, : dataset.n] = True
        columns[b, : dataset.d] = True
    return Batch(*map(jnp.asarray, (values, interventions, rows, columns)))


def groups(datasets: Sequence[Dataset], cells: int, *, exact: bool = False) -> Iterator[list[int]]:
    """Positions of tables that can go in together.

    Args:
        datasets: The tables.
        cells: Most padded cells of a group, unless it is one table.
        exact: Whether a group has one size, for networks that cannot mask, and not one bucket.
    """
    size_of = (lambda size: size) if exact else bucket
    alike: dict[tuple[int, int], list[int]] = {}
    for position, dataset in enumerate(datasets):
        alike.setdefault((size_of(dataset.n), size_of(dataset.d)), []).append(position)
    for (n, d), positions in alike.items():
        size = max(1, cells // (n * d))
        for start in range(0, len(positions), size):
            yield positions[start : start + size]
