"""Fits tasks in isolated worker processes, one thread to drive each, and yields them as they end."""

import contextlib
import dataclasses
import queue
import threading
from collections.abc import Callable, Generator, Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from arena.dataset import Dataset
from arena.errors import ArenaError
from eval import provenance
from eval.plan import Task
from methods.base import Estimate, Method, Outcome, Status
from methods.preflight import blind


@runtime_checkable
class FitWorker(Protocol):
    """What the pool needs of `methods.isolate.Worker`."""

    def fit(self, method: Method, dataset: Dataset, *, seed: int, timeout: float | None) -> Outcome: ...

    def close(self) -> None: ...


@dataclasses.dataclass(frozen=True)
class Fitted:
    """How one task ended.

    Attributes:
        task: The task.
        status: How it ended.
        reason: One line that says why, empty when completed.
        detail: More of it, for example a traceback.
        estimate: The answer, when completed.
        seconds: `load` and `fit` wall time, where known.
        n: Rows of the table; None if it could not be had.
        truth: `[d, d]` graph behind the table.
        targets: `[t, d]` bool, the distinct intervention target sets of its rows.
        started: When, UTC.
        finished: When, UTC.
    """

    task: Task
    status: Status
    reason: str = ""
    detail: str = ""
    estimate: Estimate | None = None
    seconds: dict[str, float] = dataclasses.field(default_factory=dict)
    n: int | None = None
    truth: np.ndarray | None = None
    targets: np.ndarray | None = None
    started: str = ""
    finished: str = ""


def fit_all(
    tasks: Sequence[Task], worker: Callable[[], FitWorker], *, jobs: int, timeout: float | None
) -> Generator[Fitted, None, None]:
    """Fit every task and yield it when it ends; what goes wrong is a status, never an exception.

    Closing the iterator, as an interrupt does, ends the workers and drops what they were at.

    Args:
        tasks: What to fit, taken in this order.
        worker: Makes an isolated worker; called in the thread that will use it.
        jobs: Workers at a time.
        timeout: Seconds of wall time a fit, None for no limit.
    """
    waiting: queue.SimpleQueue[Task] = queue.SimpleQueue()
    ended: queue.SimpleQueue[Fitted] = queue.SimpleQueue()
    for task in tasks:
        waiting.put(task)
    lanes = [_Lane(waiting, ended, worker, timeout) for _ in range(min(jobs, len(tasks)))]
    for lane in lanes:
        lane.start()
    try:
        for _ in tasks:
            yield ended.get()
    except BaseException:  # also GeneratorExit: the caller wants no more
        while any(lane.is_alive() for lane in lanes):
            # Again and again: a thread that was about to fit has restarted its worker by now.
            for lane in lanes:
                lane.stop()
            for lane in lanes:
                lane.join(timeout=0.2)
        raise
    for lane in lanes:
        lane.join()


class _Lane(threading.Thread):
    """One thread and the worker that it drives; each method gets one of its own, which no other has been in."""

    def __init__(self, waiting, ended, worker: Callable[[], FitWorker], timeout: float | None):
        super().__init__(daemon=True)  # a second interrupt must not wait for this thread
        self._waiting, self._ended, self._make, self._timeout = waiting, ended, worker, timeout
        self._worker: FitWorker | None = None
        self._method = ""
        self._stopped = threading.Event()

    def run(self):
        try:
            while not self._stopped.is_set():
                task = self._waiting.get_nowait()
                started = provenance.now()
                fitted = self._fit(task)
                self._ended.put(dataclasses.replace(fitted, started=started, finished=provenance.now()))
        except queue.Empty:
            pass
        finally:
            self._close_worker()

    def stop(self):
        """Take no more tasks, and close the worker from the calling thread; a fit in progress ends too."""
        self._stopped.set()
        # The fit that is cut short cleans up as well, and the two may trip over each other.
        with contextlib.suppress(OSError, ValueError):
            self._close_worker()

    def _close_worker(self):
        if self._worker is not None:
            self._worker.close()

    def _worker_for(self, method: str) -> FitWorker:
        if self._worker is not None and self._method != method:
            self._close_worker()
            self._worker = None
        if self._worker is None:
            self._worker, self._method = self._make(), method
        return self._worker

    def _fit(self, task: Task) -> Fitted:
        if not task.supported:
            splits = ", ".join(task.method.capabilities.splits)
            reason = f"split {task.key.split} is not one that the method takes ({splits})"
            return Fitted(task, Status.unsupported, reason)
        if task.damage:
            return Fitted(task, Status.failed, task.damage)
        try:
            dataset = task.scenario.load(task.split, task.key.replicate)
            truth = dataset.truth
        except Exception as error:  # a damaged table costs its own rows, not the run
            told = str(error) if isinstance(error, ArenaError) else f"{type(error).__name__}: {error}"
            return Fitted(task, Status.failed, told or type(error).__name__)
        known = {"n": dataset.n, "truth": truth, "targets": np.unique(dataset.mask, axis=0)}
        try:
            worker = self._worker_for(task.key.method)
            hidden = blind(dataset, oracle_edges=task.method.capabilities.oracle_edges)
            outcome = worker.fit(task.method, hidden, seed=task.seed, timeout=self._timeout)
        except Exception as error:  # the worker itself broke; the next task gets a new one
            self._close_worker()
            self._worker = None
            return Fitted(task, Status.failed, f"worker broke: {type(error).__name__}: {error}", **known)
        return Fitted(
            task,
            outcome.status,
            outcome.reason,
            outcome.detail,
            outcome.estimate,
            outcome.seconds,
            **known,
        )
