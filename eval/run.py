"""`Run`: a run directory, to be read."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval import provenance
from eval.store import FILENAME, KEY, Key, Store

if TYPE_CHECKING:
    import pandas as pd


class Run:
    """The results of a run, finished or not; reading is possible while it is being written.

    Args:
        path: The run directory.
        planned: Show the rows of these keys only; None for everything that the directory holds.

    Attributes:
        path: The run directory.
    """

    def __init__(self, path: str | Path, planned: Iterable[Key] | None = None):
        self.path = Path(path)
        self._planned = None if planned is None else frozenset(planned)
        Store(self.path / FILENAME, write=False).close()

    @classmethod
    def open(cls, path: str | Path) -> "Run":
        """Everything that the run in a directory holds, of however many starts.

        Raises:
            RunError: If there is none, or it cannot be read.
        """
        return cls(path)

    def rows(self) -> "pd.DataFrame":
        """One row per finished (scenario, split, replicate, method); columns as in `eval.store.COLUMNS`."""
        with Store(self.path / FILENAME, write=False) as store:
            rows = store.rows()
        if self._planned is None:
            return rows
        keys = zip(*(rows[name] for name in KEY), strict=True)
        return rows.loc[[Key(*key) in self._planned for key in keys]].reset_index(drop=True)

    def planned(self) -> set[Key]:
        """The keys of the rows that there should be in the end: those of this selection, or of any start."""
        if self._planned is not None:
            return set(self._planned)
        return provenance.planned(self.provenance()["starts"])

    def leaderboard(self, by: Sequence[str] = ("family",)) -> "pd.DataFrame":
        """Mean scores per group, split and method; see `eval.aggregate.leaderboard`."""
        from eval.aggregate import leaderboard

        return leaderboard(self.rows(), by=by)

    def failures(self) -> "pd.DataFrame":
        """The cells without a score, counted by reason; see `eval.aggregate.failures`."""
        from eval.aggregate import failures

        return failures(self.rows())

    def estimate(self, scenario: str, split: str, replicate: int, method: str) -> dict[str, Any]:
        """What a method answered: `truth`, `adjacency`, `native`, `scores` (`[d, d]` or None) and `info`.

        Raises:
            RunError: If there is no such answer.
        """
        with Store(self.path / FILENAME, write=False) as store:
            return store.estimate(Key(scenario, split, replicate, method))

    def estimates(self, **where: str) -> Iterator[tuple[Key, dict[str, Any]]]:
        """All answers with their keys, as from `estimate`, in one pass over the file.

        Args:
            where: Only those with this `scenario`, `split` or `method`.
        """
        with Store(self.path / FILENAME, write=False) as store:
            for key, answer in store.estimates(**where):
                if self._planned is None or key in self._planned:
                    yield key, answer

    def scenarios(self) -> "pd.DataFrame":
        """What is known of each scenario: `scenario`, `family`, `d`, `about` (a dict, see `eval.scenarios.about`)."""
        with Store(self.path / FILENAME, write=False) as store:
            table = store.scenarios()
        if self._planned is None:
            return table
        shown = {key.scenario for key in self._planned}
        return table.loc[[scenario in shown for scenario in table["scenario"]]].reset_index(drop=True)

    def provenance(self) -> dict[str, Any]:
        """The content of `run.json`: `starts`, one entry each time the run was started."""
        return provenance.read(self.path)

    def export(self, directory: str | Path | None = None) -> tuple[Path, Path]:
        """Write all rows of the directory as Parquet and CSV, by default into it, and return the two paths."""
        with Store(self.path / FILENAME, write=False) as store:
            return store.export(self.path if directory is None else directory)

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"
