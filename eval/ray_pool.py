"""The executor on a Ray cluster: the same fits in the same workers, on any of its nodes.

An actor holds each job slot: one `methods.isolate.Worker` on its node, with a CPU, and a GPU for methods that need one.
Tables are read here and sent, so nodes need no common disk; this package must be installed there in the version that is
used here. A fit that is lost with its node or actor is handed to another and is no failed row.
"""

import collections
import dataclasses
import logging
import os
import socket
import sys
import warnings
from collections.abc import Generator, Sequence
from typing import Any

from arena.dataset import Dataset
from arena.errors import RunError
from eval import provenance
from eval.fitted import Fitted, Ready, prepare
from eval.plan import Task
from eval.station import Station
from eval.table import Tables
from methods.base import Method, Outcome, Status

# Times that a fit may be lost with its node before it is taken for the cause.
LOSSES = 5
# Seconds between looks at whether the caller was interrupted.
_LOOK = 1.0
# Seconds in which a cluster answers.
_REACH = 10.0
# What must agree between this process and the nodes for the same answers.
_PACKAGES = ("causal-arena", "jax", "numpy")
# Bytes for tables under way, on a cluster that is started here.
_STORE = 256 << 20


class Slot:
    """What runs on a node: fits one after another, with a worker of its own for every method.

    Args:
        memory: As for `methods.isolate.Worker`.
    """

    def __init__(self, memory: int | None):
        from methods.isolate import Worker

        self._station = Station(lambda: Worker(memory_limit=memory))

    def fit(
        self, label: str, method: Method, datasets: Sequence[Dataset], seeds: Sequence[int], timeout: float | None
    ) -> tuple[list[Outcome | None], str, str, dict[str, str]]:
        """As `eval.station.Station.fit`, with the times at which it began and ended, and the versions here."""
        started = provenance.now()
        outcomes = self._station.fit(label, method, datasets, seeds, timeout)
        return outcomes, started, provenance.now(), versions()


def versions() -> dict[str, str]:
    """The versions that answers depend on."""
    return {"python": sys.version.split()[0], **{name: provenance.version(name) for name in _PACKAGES}}


@dataclasses.dataclass
class _Call:
    """Tables that are fitted in one call, and how often that was lost."""

    ready: list[Ready]
    losses: int = 0

    @property
    def task(self) -> Task:
        return self.ready[0].task


@dataclasses.dataclass
class _Place:
    """A job slot on this side: its actor, if there is one now, and the GPUs that this has."""

    actor: Any = None
    gpus: int = 0


def fit_all(
    stacks: Sequence[Sequence[Task]], *, memory: int | None, jobs: int, address: str | None
) -> Generator[Fitted, None, None]:
    """As `eval.pool.fit_all`, on a Ray cluster.

    Args:
        stacks: Lists of tasks of one method that are fitted in one call, taken in this order.
        memory: Most bytes of one worker, None for no limit.
        jobs: Actors at a time; those for which the cluster has no room wait.
        address: Of the cluster; None for the one that this process is connected to, or else a new one here.

    Raises:
        RunError: If Ray is not installed, there is no cluster, or its nodes cannot run this package.
    """
    ray, started = _connect(address, jobs)
    try:
        yield from _Cluster(ray, memory, jobs).fits(stacks)
    finally:
        if started:
            ray.shutdown()


def _connect(address: str | None, jobs: int) -> tuple[Any, bool]:
    """Ray, connected to a cluster, and whether it was not before."""
    # Without this Ray hides GPUs from actors that ask for none, and warns that it will not do so in future.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError as error:
        raise RunError(f"the executor 'ray' needs Ray ({error}); run: pip install 'causal-arena[ray]'") from None
    if ray.is_initialized():
        if address is not None:
            raise RunError("this process is connected to a Ray cluster already; leave the address out")
        return ray, False
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    _reach(address)
    new: dict[str, Any] = {"num_cpus": jobs, "include_dashboard": False, "object_store_memory": _STORE}
    try:
        with warnings.catch_warnings():
            # JAX warns of any fork; those of a new cluster run nothing but another program.
            warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)
            ray.init(address, log_to_driver=False, logging_level=logging.ERROR, **(new if address == "local" else {}))
    except Exception as error:  # many kinds, for want of a cluster and for one of another version
        raise RunError(f"no Ray cluster at '{address}': {' '.join(str(error).split())}") from None
    return ray, True


def _reach(address: str) -> None:
    """RunError if nobody listens at `host:port`, which Ray itself would try again for very long."""
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), timeout=_REACH).close()
    except (OSError, OverflowError) as error:
        raise RunError(f"no Ray cluster at '{address}': {error}") from None


class _Cluster:
    """The job slots, on a cluster that this process is connected to."""

    def __init__(self, ray: Any, memory: int | None, jobs: int):
        self._ray, self._memory = ray, memory
        self._tables = Tables()
        self._idle = [_Place() for _ in range(jobs)]
        self._busy: dict[Any, tuple[_Place, _Call]] = {}
        self._lost: collections.deque[_Call] = collections.deque()
        # An actor would have the node's import path; and its own BLAS must leave the cores to the workers.
        path = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
        environment = {"env_vars": {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}}
        self._actor = ray.remote(num_cpus=1, max_restarts=0, runtime_env=environment)(Slot)

    def fits(self, stacks: Sequence[Sequence[Task]]) -> Generator[Fitted, None, None]:
        """All tasks, as they end."""
        waiting = collections.deque(stacks)
        try:
            while waiting or self._lost or self._busy:
                while self._idle and (self._lost or waiting):
                    if self._lost:
                        yield from self._send(self._lost.popleft())
                        continue
                    found = [prepare(task, self._tables) for task in waiting.popleft()]
                    now = provenance.now()
                    yield from (
                        dataclasses.replace(f, started=now, finished=now) for f in found if isinstance(f, Fitted)
                    )
                    ready = [one for one in found if isinstance(one, Ready)]
                    yield from self._send(_Call(ready)) if ready else ()
                for place in self._idle:  # its CPU may be what another slot is waiting for
                    self._end(place)
                ended, _ = self._ray.wait(list(self._busy), timeout=_LOOK) if self._busy else ([], [])
                for reference in ended:
                    yield from self._receive(reference)
        finally:
            for place in (*self._idle, *(place for place, _ in self._busy.values())):
                self._end(place)

    def _send(self, call: _Call) -> Generator[Fitted, None, None]:
        place, task = self._idle.pop(), call.task
        # Where there is no GPU at all the worker says so; the cluster would wait for one.
        gpus = int(task.method.capabilities.needs_gpu and self._ray.cluster_resources().get("GPU", 0) >= 1)
        if place.gpus != gpus:
            self._end(place)
        if place.actor is None:
            place.actor, place.gpus = self._actor.options(num_gpus=gpus).remote(self._memory), gpus
        datasets, seeds = [one.hidden() for one in call.ready], [one.task.seed for one in call.ready]
        try:
            reference = place.actor.fit.remote(task.key.method, task.method, datasets, seeds, task.timeout)
        except (TypeError, ValueError, AttributeError, RecursionError) as error:  # a method that cannot be pickled
            self._idle.append(place)
            yield from _failed(call, f"{task.method.name} cannot be sent to a worker: {error}")
            return
        self._busy[reference] = place, call

    def _receive(self, reference: Any) -> Generator[Fitted, None, None]:
        place, call = self._busy.pop(reference)
        self._idle.append(place)
        errors = self._ray.exceptions
        try:
            outcomes, started, finished, found = self._ray.get(reference)
        except errors.RuntimeEnvSetupError as error:
            raise RunError(f"a node of the Ray cluster cannot be set up: {_last_line(error)}") from None
        except errors.RayTaskError as error:
            yield from _failed(call, f"worker broke: {_last_line(error)}")
            return
        except errors.RayError as error:
            self._end(place)
            if "creation task" in str(error):
                raise RunError(f"a node of the Ray cluster cannot run this package: {_last_line(error)}") from None
            call.losses += 1
            if call.losses < LOSSES:
                self._lost.append(call)
            else:
                yield from _failed(call, f"lost with its node or actor {LOSSES} times: {_last_line(error)}")
            return
        if found != versions():
            raise RunError(f"a node of the Ray cluster has {found}, this process {versions()}; install the same there")
        for one, outcome in zip(call.ready, outcomes, strict=True):
            if outcome is None:
                self._lost.append(_Call([one]))
            else:
                yield one.ended(outcome, started, finished)

    def _end(self, place: _Place) -> None:
        if place.actor is not None:
            self._ray.kill(place.actor)
            place.actor = None


def _failed(call: _Call, reason: str) -> Generator[Fitted, None, None]:
    now = provenance.now()
    for one in call.ready:
        yield one.ended(Outcome(Status.failed, reason), now, now)


def _last_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
