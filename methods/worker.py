"""The child process of `methods.isolate`: reads a request, fits, replies, waits for the next.

Requests are `cloudpickle` of (method, datasets, seeds). Replies are two messages: `begin` when loading is over
and the fit starts, then the pickled outcomes, None where a table must be fitted alone. They go over the descriptors
that were standard input and output when the process started; what libraries print goes to standard error.
"""

import contextlib
import ctypes
import os
import pickle
import queue
import signal
import threading
import traceback
from typing import NoReturn

import cloudpickle
import jax

from methods.base import Outcome, Status
from methods.batch import fit_batch
from methods.family import Family
from methods.fit import fit, one_line
from methods.pipe import Pipe

READY = b"ready"
BEGIN = b"begin"

_PR_SET_CHILD_SUBREAPER = 36  # <linux/prctl.h>


def main() -> NoReturn:
    """Serve fits until the parent closes the pipe or dies."""
    pipe = _take_over_standard_streams()
    _adopt_orphans()
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(pipe, requests), daemon=True).start()
    jax.random.key_data(jax.random.key(0))  # compiled once here and not within a timed fit
    pipe.send(READY)
    here = os.getpid()
    while True:
        answer = pickle.dumps(_answer(requests.get(), pipe))
        if os.getpid() != here:
            os._exit(0)  # the method forked, and this is the child of that, which nobody asked
        pipe.send(answer)


def _take_over_standard_streams() -> Pipe:
    """Keep the pipes under other descriptors and let 0 be empty and 1 be standard error."""
    pipe = Pipe(os.dup(0), os.dup(1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return pipe


def _adopt_orphans() -> None:
    """Where it can be had (Linux): what our descendants leave behind becomes our child and not init's.

    So the parent finds every process that a method started, also one that went into a session of its own.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _read(pipe: Pipe, requests: "queue.SimpleQueue[bytes]") -> None:
    """Pass requests on; when the parent is gone end all that was started here, however busy it is."""
    parent = os.getppid()
    try:
        while os.getppid() == parent:
            request = pipe.receive(timeout=1.0)
            if request is not None:
                requests.put(request)
    finally:
        with contextlib.suppress(Exception):
            Family(os.getpid()).kill_descendants()
        os.killpg(os.getpid(), signal.SIGKILL)  # we lead our group: isolate starts us in a new session


def _answer(request: bytes, pipe: Pipe) -> list[Outcome | None]:
    try:
        method, datasets, seeds = cloudpickle.loads(request)
        keys = [jax.random.key(seed) for seed in seeds]
    except Exception as error:
        detail = traceback.format_exc()[-2000:]
        return [Outcome(Status.failed, f"the worker cannot read the method: {one_line(error)}", detail=detail)]
    begin = lambda: pipe.send(BEGIN)  # noqa: E731
    if len(datasets) == 1:
        return [fit(method, datasets[0], keys[0], on_begin=begin)]
    return fit_batch(method, datasets, keys, on_begin=begin)


if __name__ == "__main__":
    main()
