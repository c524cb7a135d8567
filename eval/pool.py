"""The local executor: fits in isolated worker processes, one thread to drive each, and yields them as they end."""

import collections
import contextlib
import dataclasses
import queue
import threading
from collections.abc import Callable, Generator, Sequence

from eval import provenance
from eval.fitted import Fitted, Ready, prepare
from eval.plan import Task
from eval.station import FitWorker, Station
from eval.table import Tables


def fit_all(
    stacks: Sequence[Sequence[Task]], worker: Callable[[], FitWorker], *, jobs: int
) -> Generator[Fitted, None, None]:
    """Fit every task and yield it when it ends; what goes wrong is a status, never an exception.

    Closing the iterator, as an interrupt does, ends the workers and drops what they were at.

    Args:
        stacks: Lists of tasks of one method that are fitted in one call, taken in this order.
        worker: Makes an isolated worker; called in the thread that will use it.
        jobs: Workers at a time.
    """
    waiting: queue.SimpleQueue[Sequence[Task]] = queue.SimpleQueue()
    ended: queue.SimpleQueue[Fitted] = queue.SimpleQueue()
    for stack in stacks:
        waiting.put(stack)
    tables = Tables()
    lanes = [_Lane(waiting, ended, worker, tables) for _ in range(min(jobs, len(stacks)))]
    for lane in lanes:
        lane.start()
    try:
        for _ in range(sum(map(len, stacks))):
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
    """One thread and the station that it drives."""

    def __init__(self, waiting, ended, worker: Callable[[], FitWorker], tables: Tables):
        super().__init__(daemon=True)  # a second interrupt must not wait for this thread
        self._waiting, self._ended, self._tables = waiting, ended, tables
        self._station = Station(worker)
        self._stopped = threading.Event()

    def run(self):
        try:
            while not self._stopped.is_set():
                self._fit(self._waiting.get_nowait())
        except queue.Empty:
            pass
        finally:
            self._station.close()

    def stop(self):
        """Take no more tasks, and close the worker from the calling thread; a fit in progress ends too."""
        self._stopped.set()
        # The fit that is cut short cleans up as well, and the two may trip over each other.
        with contextlib.suppress(OSError, ValueError):
            self._station.close()

    def _fit(self, stack: Sequence[Task]):
        started = provenance.now()
        ready: list[Ready] = []
        for task in stack:
            found = prepare(task, self._tables)
            if isinstance(found, Ready):
                ready.append(found)
            else:
                self._ended.put(dataclasses.replace(found, started=started, finished=provenance.now()))
        calls = collections.deque([ready] if ready else [])
        while calls and not self._stopped.is_set():
            call, started = calls.popleft(), provenance.now()
            task = call[0].task
            outcomes = self._station.fit(
                task.key.method,
                task.method,
                [one.hidden() for one in call],
                [one.task.seed for one in call],
                task.timeout,
            )
            for one, outcome in zip(call, outcomes, strict=True):
                if outcome is None:
                    calls.append([one])
                else:
                    self._ended.put(one.ended(outcome, started, provenance.now()))
