"""`Station`: where fits are done one after another, with a worker of its own for every method."""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from arena.dataset import Dataset
from methods.base import Method, Outcome, Status


@runtime_checkable
class FitWorker(Protocol):
    """What a station needs of `methods.isolate.Worker`."""

    def fit(self, method: Method, dataset: Dataset, *, seed: int, timeout: float | None) -> Outcome: ...

    def fit_batch(
        self, method: Method, datasets: Sequence[Dataset], *, seeds: Sequence[int], timeout: float | None
    ) -> list[Outcome | None]: ...

    def close(self) -> None: ...


class Station:
    """Fits in a worker that no other method has been in; one that breaks is replaced.

    Args:
        make: Makes an isolated worker; called in the thread that fits.
    """

    def __init__(self, make: Callable[[], FitWorker]):
        self._make = make
        self._worker: FitWorker | None = None
        self._label = ""

    def fit(
        self,
        label: str,
        method: Method,
        datasets: Sequence[Dataset],
        seeds: Sequence[int],
        timeout: float | None,
    ) -> list[Outcome | None]:
        """The outcomes of one call, whatever happens.

        Args:
            label: Another label gets another worker.
            method: What is fitted.
            datasets: One table, or a stack of them.
            seeds: One a table.
            timeout: Seconds a table, None for no limit.

        Returns:
            An outcome a table; of a stack, None for those that must be fitted alone.
        """
        try:
            worker = self._worker_for(label)
            if len(datasets) == 1:
                return [worker.fit(method, datasets[0], seed=seeds[0], timeout=timeout)]
            return worker.fit_batch(method, datasets, seeds=seeds, timeout=timeout)
        except Exception as error:
            self.close()
            self._worker = None
            broke = Outcome(Status.failed, f"worker broke: {type(error).__name__}: {error}")
            return [broke] if len(datasets) == 1 else [None] * len(datasets)

    def close(self) -> None:
        """End the worker; the next fit gets a new one."""
        if self._worker is not None:
            self._worker.close()

    def _worker_for(self, label: str) -> FitWorker:
        if self._worker is not None and self._label != label:
            self.close()
            self._worker = None
        if self._worker is None:
            self._worker, self._label = self._make(), label
        return self._worker
