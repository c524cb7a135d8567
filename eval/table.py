"""The tables of a run as they are fitted and scored: read once for all methods, with what follows from them."""

import collections
import dataclasses
import threading

import numpy as np

from arena.dataset import Dataset
from arena.sortability import order_alignment, path_lengths, r2_of_columns, variances
from eval.plan import Task


@dataclasses.dataclass(frozen=True)
class Table:
    """A table, and what is recorded of it whatever a method says.

    Attributes:
        dataset: The table with its graph.
        truth: `[d, d]` the graph.
        targets: `[t, d]` bool, the distinct intervention target sets of its rows.
        var_sortability: How far variances grow along directed paths, of the columns in their own units; None without
            an edge.
        r2_sortability: The same for the R^2 of each column on all others.
    """

    dataset: Dataset
    truth: np.ndarray
    targets: np.ndarray
    var_sortability: float | None
    r2_sortability: float | None

    @classmethod
    def of(cls, dataset: Dataset) -> "Table":
        """A table with a known graph.

        Raises:
            DataError: If the graph is not known.
        """
        truth = dataset.truth
        lengths = path_lengths(truth)
        return cls(
            dataset=dataset,
            truth=truth,
            # Of all false rows `unique` needs a sort of them all.
            targets=np.unique(dataset.mask, axis=0) if dataset.mask.any() else np.zeros((1, dataset.d), bool),
            var_sortability=order_alignment(variances(dataset.values), lengths),
            r2_sortability=order_alignment(r2_of_columns(dataset.values), lengths),
        )


class Tables:
    """The tables that were asked for last, so that not every method reads them anew. For any number of threads.

    Args:
        most: Bytes of values to keep, one table at least.
    """

    def __init__(self, most: int = 1 << 28):
        self._most = most
        self._kept: collections.OrderedDict[tuple[str, str, int], Table] = collections.OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def get(self, task: Task) -> Table:
        """The table of a task, read and checked if it is not at hand.

        Raises:
            ArenaError: If it cannot be had.
        """
        key = (task.key.scenario, task.key.split, task.key.replicate)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        table = Table.of(task.scenario.load(task.split, task.key.replicate))
        with self._lock:
            if key not in self._kept:
                self._kept[key] = table
                self._size += table.dataset.values.nbytes
            while self._size > self._most and len(self._kept) > 1:
                _, old = self._kept.popitem(last=False)
                self._size -= old.dataset.values.nbytes
        return table
