"""The worker process; the methods here are nested functions, so that they travel by value."""

import os
import signal
import subprocess
import sys
import time

import jax
import numpy as np
import psutil
import pytest
from processes import alive, within

from methods.base import Status
from methods.fit import fit
from methods.isolate import Worker
from methods.needs import missing
from methods.registry import as_method, get, names

LIMIT = 700 * 2**20


@pytest.fixture(scope="module")
def worker():
    with Worker(memory_limit=LIMIT) as worker:
        yield worker


def run(worker: Worker, method, dataset, seed: int = 0, timeout: float | None = 30.0):
    return worker.fit(as_method(method), dataset, seed=seed, timeout=timeout)


def empty():
    def empty(table):
        return np.zeros((table.shape[1], table.shape[1]))

    return empty


def hanging():
    def hanging(table):
        while True:
            pass

    return hanging


def process_id():
    def process_id(table):
        raise RuntimeError(os.getpid())

    return process_id


@pytest.mark.parametrize("name", names())
def test_same_answer_as_in_this_process(name, worker, network):
    can = get(name).capabilities
    if missing(can) or can.environment:
        pytest.skip(missing(can) or f"runs in environment '{can.environment}' anyway")
    here = fit(get(name), network, jax.random.key(5)).estimate
    there = run(worker, name, network, seed=5).estimate
    assert here is not None and there is not None
    np.testing.assert_array_equal(here.adjacency, there.adjacency)
    if here.scores is not None:
        # With another number of threads sums are rounded otherwise, and an optimiser stops a little elsewhere.
        optimised = can.assumes == "equal_noise"
        np.testing.assert_allclose(here.scores, there.scores, atol=0.02 if optimised else 1e-9)
    assert here.info.keys() == there.info.keys()


def test_load_and_fit_are_timed_apart(network):
    with Worker() as fresh:
        first, second = (run(fresh, "gies", network).seconds for _ in range(2))
    assert second["load"] < first["load"] / 2
    assert first["fit"] < 10 * second["fit"] + 0.3, "starting or importing was counted as fitting"


def test_overhead_is_small(worker, network):
    run(worker, empty(), network)
    start = time.perf_counter()
    for _ in range(20):
        assert run(worker, empty(), network).status is Status.completed
    assert (time.perf_counter() - start) / 20 < 0.05


def test_a_hanging_fit_times_out_and_the_next_one_works(worker, network):
    start = time.perf_counter()
    outcome = run(worker, hanging(), network, timeout=0.3)
    assert outcome.status is Status.timed_out and outcome.reason == "the fit took more than 0.3 s"
    assert 0.3 <= outcome.seconds["fit"] < 5 and time.perf_counter() - start < 20
    assert run(worker, empty(), network).status is Status.completed


def test_memory_is_limited_and_the_next_fit_works(worker, network):
    def hog(table):
        held = []
        while True:
            held.append(np.ones(2**20))

    outcome = run(worker, hog, network)
    assert outcome.status is Status.failed
    assert outcome.reason.startswith("out of memory: 0.") and "limit 0.68 GiB" in outcome.reason
    assert run(worker, empty(), network).status is Status.completed


def test_memory_of_grandchildren_counts(worker, network):
    def delegate(table):
        import subprocess
        import sys

        subprocess.run([sys.executable, "-c", "import time; x = b'1' * 900_000_000; time.sleep(60)"])

    outcome = run(worker, delegate, network)
    assert outcome.status is Status.failed and outcome.reason.startswith("out of memory")


def test_an_exception_keeps_the_worker(worker, network):
    pids = {run(worker, process_id(), network).reason for _ in range(3)}
    assert len(pids) == 1


def test_a_wrong_shape_is_invalid(worker, network):
    outcome = run(worker, lambda table: np.zeros((2, 2)), network)
    assert outcome.status is Status.invalid and "shape (2, 2)" in outcome.reason


@pytest.mark.parametrize("death, reason", [("exit", "exit code 3"), ("segfault", "killed by SIGSEGV")])
def test_a_dying_worker_is_a_failure_with_its_last_words(death, reason, worker, network):
    def dying(table):
        import ctypes
        import os
        import sys

        print("last words")
        sys.stdout.flush()
        os._exit(3) if death == "exit" else ctypes.string_at(0)

    outcome = run(worker, dying, network)
    assert outcome.status is Status.failed and outcome.reason == f"the worker died: {reason}"
    assert "last words" in outcome.detail
    assert run(worker, empty(), network).status is Status.completed


def leaving(how, path, then):
    """A method that starts a process in some way, writes down its id, and then goes on as `then` says."""

    def leaving(table):
        import os
        import signal
        import subprocess
        import sys
        import time

        sleep = ["sleep", "600"]
        if how == "child":
            pid = subprocess.Popen(sleep).pid
        elif how == "session":
            pid = subprocess.Popen(sleep, start_new_session=True).pid
        elif how == "daemon":
            code = f"import subprocess; print(subprocess.Popen({sleep}, start_new_session=True, stdout=2).pid)"
            pid = int(subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True).stdout)
        elif how == "fork":
            pid = os.fork()
            if pid == 0:
                time.sleep(600)
        with open(path, "w") as file:
            file.write(str(pid))
        if then == "die":
            time.sleep(0.5)
            os.kill(os.getpid(), signal.SIGKILL)
        if then == "hang":
            time.sleep(600)
        return np.zeros((table.shape[1], table.shape[1]))

    return leaving


@pytest.mark.parametrize("how", ["child", "session", "daemon", "fork"])
def test_processes_that_a_fit_leaves_are_ended_before_the_next(how, worker, network, tmp_path):
    path = tmp_path / "pid"
    assert run(worker, leaving(how, str(path), "return"), network).status is Status.completed
    assert within(5, lambda: not alive(int(path.read_text())))
    assert run(worker, empty(), network).status is Status.completed
    assert run(worker, leaving(how, str(path), "hang"), network, timeout=3.0).status is Status.timed_out
    assert within(5, lambda: not alive(int(path.read_text())))


@pytest.mark.parametrize("how", ["child", "session", "fork"])
def test_a_killed_worker_is_noticed_though_its_children_hold_the_pipe(how, worker, network, tmp_path):
    path, start = tmp_path / "pid", time.perf_counter()
    outcome = run(worker, leaving(how, str(path), "die"), network, timeout=60.0)
    assert outcome.status is Status.failed and outcome.reason == "the worker died: killed by SIGKILL"
    assert time.perf_counter() - start < 15
    assert within(5, lambda: not alive(int(path.read_text())))
    assert run(worker, empty(), network).status is Status.completed


def test_of_two_processes_the_one_that_was_asked_answers(worker, network):
    def forked(table):
        import os
        import time

        if os.fork() == 0:
            raise RuntimeError("the child")
        time.sleep(0.5)
        raise RuntimeError("the parent")

    assert run(worker, forked, network).reason == "RuntimeError: the parent"


def test_printing_is_harmless(worker, network):
    def loud(table):
        import os

        print("x" * 100_000)
        os.write(1, b"straight to the descriptor")
        return np.zeros((table.shape[1], table.shape[1]))

    assert run(worker, loud, network).status is Status.completed
    assert run(worker, empty(), network).status is Status.completed


def test_the_graph_is_not_sent(worker, network):
    def cheat(table):
        import gc

        from arena.dataset import Dataset

        seen = [thing for thing in gc.get_objects() if isinstance(thing, Dataset)]
        raise RuntimeError(f"{len(seen) > 0} {any(thing.adjacency is not None for thing in seen)}")

    assert run(worker, cheat, network).reason == "RuntimeError: True False"


def test_earlier_fits_leave_no_trace(worker, network):
    def draw(table):
        raise RuntimeError(f"{np.random.rand()}")

    first = run(worker, draw, network, seed=1).reason
    run(worker, "random_regress", network, seed=2)
    assert run(worker, draw, network, seed=1).reason == first
    assert run(worker, draw, network, seed=2).reason != first


def test_one_thread_and_no_accelerator(worker, network):
    def variables(table):
        raise RuntimeError([os.environ[name] for name in ("OMP_NUM_THREADS", "NPROC", "JAX_PLATFORMS")])

    assert run(worker, variables, network).reason == "RuntimeError: ['1', '1', 'cpu']"


def test_a_worker_that_died_between_fits_is_replaced(worker, network):
    first = int(run(worker, process_id(), network).reason.split()[-1])
    os.kill(first, signal.SIGKILL)
    assert within(10, lambda: not worker.running)
    second = int(run(worker, process_id(), network).reason.split()[-1])
    assert first != second


def test_an_interrupted_fit_leaves_no_child(network, monkeypatch):
    def interrupt(self, timeout):
        raise KeyboardInterrupt

    with Worker() as interrupted:
        run(interrupted, empty(), network)
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr("methods.pipe.Pipe.receive", interrupt)
            run(interrupted, hanging(), network)
        assert not interrupted.running
        assert run(interrupted, empty(), network).status is Status.completed


def test_a_method_that_cannot_travel(worker, network):
    import threading

    lock = threading.Lock()
    outcome = run(worker, lambda table: lock, network)
    assert outcome.status is Status.failed and "cannot be sent to a worker" in outcome.reason


def test_unsupported_needs_no_process(intervened_pair):
    with Worker() as idle:
        assert run(idle, "pc", intervened_pair).status is Status.unsupported
        assert not idle.running


def test_closing_leaves_no_process(network):
    before = set(psutil.Process().children(recursive=True))
    with Worker() as short:
        run(short, empty(), network)
        assert short.running
    assert set(psutil.Process().children(recursive=True)) <= before
    assert run(short, empty(), network).status is Status.completed
    short.close()
    short.close()


ORPHAN = """
import numpy as np
from arena.dataset import Dataset
from methods.isolate import Worker
from methods.registry import as_method

def busy(table):
    import os, subprocess
    with open({path!r} + ".part", "w") as file:
        child = subprocess.Popen(["sleep", "600"])
        apart = subprocess.Popen(["sleep", "600"], start_new_session=True)
        file.write(f"{{os.getpid()}} {{child.pid}} {{apart.pid}}")
    os.rename({path!r} + ".part", {path!r})
    while True:
        pass

Worker().fit(as_method(busy), Dataset(("a", "b"), np.eye(5)[:, :2]), seed=0, timeout=None)
"""


def test_killing_the_parent_ends_the_busy_child(tmp_path):
    """Also that a script needs no `__main__` guard, and that its own functions travel."""
    script, path = tmp_path / "script.py", tmp_path / "pids"
    script.write_text(ORPHAN.format(path=str(path)))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, str(script)], env=environment) as parent:
        assert within(60, path.exists), "the fit did not start"
        parent.send_signal(signal.SIGKILL)
    pids = [int(pid) for pid in path.read_text().split()]
    assert within(10, lambda: not any(map(alive, pids)))
