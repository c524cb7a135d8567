"""Fits in a child process that may hang, eat memory or crash without taking the caller along."""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from typing import IO

import cloudpickle

from arena.dataset import Dataset
from methods.base import Method, Outcome, Status
from methods.family import Family, gib
from methods.fit import one_line, refusal
from methods.pipe import Pipe
from methods.preflight import blind
from methods.worker import BEGIN, READY

# Seconds for the process to start, and again for a method to load its libraries and checkpoints.
STARTUP_LIMIT = 300.0
# Seconds between looks at the clock and at the memory.
_POLL = 0.02
_DETAIL = 2000

_ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "NPROC": "1",  # XLA's thread pools on CPU
    "JAX_PLATFORMS": "cpu",
    "PYTHONHASHSEED": "0",  # the order of sets of strings must not vary from one worker to the next
}


class _Stopped(Exception):
    """The fit was ended from this side; carries how."""

    def __init__(self, status: Status, reason: str):
        super().__init__(reason)
        self.status = status


class Worker:
    """One child process, started at the first fit and kept for the next; a fit that kills it costs a restart.

    So does a fit that leaves processes or much memory behind; they are ended with the child. The child has one BLAS
    thread, one XLA thread and no accelerator. It dies with its parent, also when the parent is killed. Use it as a
    context manager, from one thread at a time.

    Args:
        memory_limit: Most resident memory in bytes for the child and its own children, None for no limit. A
            child that has done nothing yet takes about 0.2 GiB.
    """

    def __init__(self, *, memory_limit: int | None = None):
        self._memory_limit = memory_limit
        self._process: subprocess.Popen[bytes] | None = None
        self._family: Family | None = None
        self._pipe: Pipe | None = None
        self._printed: IO[bytes] | None = None

    def fit(self, method: Method, dataset: Dataset, *, seed: int, timeout: float | None) -> Outcome:
        """As `methods.fit.fit` with `jax.random.key(seed)`, within limits.

        Args:
            method: Sent with cloudpickle, so that a function of the caller's script will do.
            dataset: Sent without its graph.
            seed: The key of the fit.
            timeout: Most seconds for the fit itself, counted from when its libraries are loaded; None for no
                limit.

        Returns:
            The outcome. Beside what `methods.fit.fit` returns: `timed_out`; `failed` with a reason that
            begins with "out of memory"; `failed` when the child dies, with the end of its standard error as
            detail.
        """
        reason = refusal(method, dataset)
        if reason:
            return Outcome(Status.unsupported, reason)
        answer = self._ask(method, [dataset], [seed], timeout)
        if isinstance(answer, Outcome):
            return answer
        (outcome,) = answer
        assert outcome is not None
        return outcome

    def fit_batch(
        self, method: Method, datasets: Sequence[Dataset], *, seeds: Sequence[int], timeout: float | None
    ) -> list[Outcome | None]:
        """As `methods.batch.fit_batch` with the keys of `seeds`, within limits.

        Args:
            method: As for `fit`.
            datasets: The tables.
            seeds: One a table.
            timeout: Most seconds a table; the call may take as much for all tables together.

        Returns:
            An outcome a table; None for one that must be fitted alone to know how that ends, which is all of them
            where the call as a whole went wrong.
        """
        limit = None if timeout is None else timeout * len(datasets)
        answer = self._ask(method, datasets, seeds, limit)
        alone: list[Outcome | None] = [None] * len(datasets)
        return alone if isinstance(answer, Outcome) or len(answer) != len(datasets) else answer

    def _ask(
        self, method: Method, datasets: Sequence[Dataset], seeds: Sequence[int], timeout: float | None
    ) -> list[Outcome | None] | Outcome:
        """What the child answers, or the outcome of a call that did not get so far."""
        start = time.perf_counter()
        try:
            hidden = [blind(dataset, oracle_edges=method.capabilities.oracle_edges) for dataset in datasets]
            request = cloudpickle.dumps((method, hidden, list(seeds)))
        except Exception as error:
            what = f"{method.name} cannot be sent to a worker: {one_line(error)}"
            return Outcome(Status.failed, what, detail=traceback.format_exc()[-_DETAIL:])

        begun: float | None = None
        try:
            pipe = self._started()
            pipe.send(request)
            message = self._receive(pipe, STARTUP_LIMIT, Status.failed, "loading took more than")
            if message == BEGIN:
                begun = time.perf_counter()
                message = self._receive(pipe, timeout, Status.timed_out, "the fit took more than")
            outcomes: list[Outcome | None] = pickle.loads(message)
        except _Stopped as stop:
            return self._stopped(stop.status, str(stop), start, begun)
        except (EOFError, BrokenPipeError):
            return self._stopped(Status.failed, f"the worker died: {self._exit()}", start, begun)
        except BaseException:
            self._kill()  # interrupted: what the child sends now would be taken for the next answer
            raise
        if begun is not None:
            for outcome in filter(None, outcomes):
                outcome.seconds["load"] = (begun - start) / len(datasets)
        assert self._family is not None
        # The next fit must not pay for what this one left behind. Ending only the processes would break a library
        # that means to use them again.
        if self._family.left_behind() or (self._memory_limit and self._family.memory() > self._memory_limit / 2):
            self._kill()
        return outcomes

    @property
    def running(self) -> bool:
        """Whether there is a child now."""
        return self._process is not None and self._process.poll() is None

    def close(self) -> None:
        """End the child. The worker can be used again, with a new one."""
        self._kill()

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _started(self) -> Pipe:
        """The pipe to a child that is ready, with nothing printed yet."""
        if self._process is not None and self._process.poll() is not None:
            self._kill()  # it died between two fits
        if self._process is None:
            # Unbuffered and appending: emptied by us while the child has it open.
            self._printed = tempfile.TemporaryFile("a+b", buffering=0)
            self._process = subprocess.Popen(
                # -P: a folder named `methods` where the caller happens to stand must not be taken for ours.
                [sys.executable, "-P", "-X", "faulthandler", "-m", "methods.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._printed,
                env=_environment(),
                start_new_session=True,
                bufsize=0,
            )
            self._family = Family(self._process.pid)
            assert self._process.stdin is not None and self._process.stdout is not None
            self._pipe = Pipe(self._process.stdout.fileno(), self._process.stdin.fileno())
            message = self._receive(self._pipe, STARTUP_LIMIT, Status.failed, "the worker took to start more than")
            assert message == READY, message
        assert self._printed is not None and self._pipe is not None
        self._printed.truncate(0)
        return self._pipe

    def _receive(self, pipe: Pipe, limit: float | None, status: Status, what: str) -> bytes:
        """The next message of the child.

        Raises:
            EOFError: If the child died.
            _Stopped: If it takes longer than `limit`, or too much memory.
        """
        process, family = self._process, self._family
        assert process is not None and family is not None
        deadline = None if limit is None else time.perf_counter() + limit
        while True:
            # What it forked holds the pipe open when it is gone. Asked first, since what it sent before that counts.
            gone = process.poll() is not None
            message = pipe.receive(0 if gone else _POLL)
            if message is not None:
                return message
            if gone:
                raise EOFError("the child is gone")
            if deadline is not None and time.perf_counter() > deadline:
                raise _Stopped(status, f"{what} {limit:g} s")
            used = family.memory()
            if self._memory_limit is not None and used > self._memory_limit:
                limits = f"{gib(used)} used, limit {gib(self._memory_limit)}"
                raise _Stopped(Status.failed, f"out of memory: {limits}")

    def _stopped(self, status: Status, reason: str, start: float, begun: float | None) -> Outcome:
        """End the child and say how and after what time."""
        now = time.perf_counter()
        seconds = {"load": (begun or now) - start}
        if begun is not None:
            seconds["fit"] = now - begun
        return Outcome(status, reason, seconds=seconds, detail=self._kill())

    def _exit(self) -> str:
        assert self._process is not None
        try:
            code = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return "closed its pipe"
        return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"

    def _kill(self) -> str:
        """Kill the child with all that it started, and return the end of what it printed."""
        process, family = self._process, self._family
        if process is None:
            return ""
        if family is not None:
            family.kill_descendants()
        with contextlib.suppress(ProcessLookupError, PermissionError):  # gone already
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        process.stdout.close()
        printed = _end_of(self._printed)
        self._process = self._family = self._pipe = self._printed = None
        return printed


def _environment() -> dict[str, str]:
    """The caller's environment, with our own import path and one thread for everything."""
    path = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen=false".strip()
    return {**os.environ, **_ONE_THREAD, "XLA_FLAGS": flags, "PYTHONPATH": path}


def _end_of(printed: IO[bytes] | None) -> str:
    if printed is None:
        return ""
    with printed:
        size = printed.seek(0, os.SEEK_END)
        printed.seek(max(0, size - _DETAIL))
        return printed.read().decode(errors="replace")
