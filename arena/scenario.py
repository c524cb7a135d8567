"""`Scenario`: one thing that methods are scored on, wherever its tables come from."""

import abc
from typing import Any

from arena.dataset import Dataset, Split


class Scenario(abc.ABC):
    """A graph with its tables. Concrete: a dataset directory, a CSV table with a graph.

    Attributes:
        id: Unique within a run, for example `synthetic/erdos_renyi-d10-000` or `real/sachs`.
        family: `synthetic`, `semantic`, `formula`, `real` or `table`; scores are aggregated within it.
        factors: phi(S) (paper 3.2), what slices are cut by; JSON values.
        splits: The splits that it has.
    """

    id: str
    family: str
    factors: dict[str, Any]
    splits: tuple[Split, ...]

    @abc.abstractmethod
    def n_replicates(self) -> int:
        """How many independent tables a split has."""

    @abc.abstractmethod
    def load(self, split: Split, replicate: int) -> Dataset:
        """The table of one replicate, checked against its recorded hash.

        Raises:
            DataError: If the files are damaged.
            SourceError: If the split or the replicate does not exist.
        """

    @abc.abstractmethod
    def content_hash(self, split: Split, replicate: int) -> str:
        """A hash that changes when the table or the graph does; cheap, from the manifest where there is one."""

    def shape(self, split: Split, replicate: int) -> tuple[int, int]:
        """Rows and variables of a table; without reading it where that is known."""
        return self.load(split, replicate).values.shape

    def spec_json(self) -> str | None:
        """JSON text of the SCM that the tables are from; None where there is none, as for public tables."""
        return None
