"""The executor on Ray: a cluster of two nodes on this host, one of which goes away."""

import dataclasses
import socket
import subprocess
import sys
import types

import numpy as np
import pandas as pd
import pytest
from toys import InlineWorker, ObsOnly, Toy, ToyScenario

from arena.errors import RunError
from eval import runner
from eval.plan import plan, stacks
from eval.ray_pool import LOSSES, Slot, _Cluster
from eval.station import Station
from eval.store import KEY

TIMES = ["seconds_load", "seconds_fit", "seconds_score", "started", "finished", "detail"]
SCENARIOS = [ToyScenario("toy/a", damaged={("obs", 1)}), ToyScenario("toy/b", replicates=7)]
METHODS = [ObsOnly(name="toy", sleep=0.3)]


def results(rows):
    return rows.drop(columns=TIMES)


# A process of its own: starting nodes means forking, which this one, with JAX in it, should not do.
NODES = """
from ray.cluster_utils import Cluster
cluster, store = Cluster(), 80 << 20
cluster.add_node(num_cpus=1, object_store_memory=store, include_dashboard=False)
second = cluster.add_node(num_cpus=1, object_store_memory=store)
print("address", cluster.address, flush=True)
input()
cluster.remove_node(second, allow_graceful=False)
print("removed", flush=True)
input()
cluster.shutdown()
"""


class Nodes:
    """A cluster of two nodes with one CPU each."""

    def __init__(self):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen([sys.executable, "-c", NODES], text=True, bufsize=1, **pipes)
        self.address = self._line("address").split()[1]

    def _line(self, start):
        for line in self.process.stdout:
            if line.startswith(start):
                return line
        raise AssertionError("the cluster did not start")

    def remove_one(self):
        self.process.stdin.write("\n")
        self._line("removed")

    def close(self):
        self.process.communicate("\n\n", timeout=30)


@pytest.fixture
def cluster():
    pytest.importorskip("ray")
    nodes = Nodes()
    yield nodes
    nodes.close()


def test_a_cluster_that_loses_a_node_gives_the_rows_of_a_local_run(cluster, tmp_path):
    local = runner.run(SCENARIOS, METHODS, out=tmp_path / "local", worker=InlineWorker)
    seen = []

    def lose_a_node(event):
        seen.append(event)
        fits = [e.done for e in seen if e.row is not None and e.row["status"] == "completed"]
        if len(fits) == 2 and event.done == fits[-1]:
            cluster.remove_one()

    # Half of it here, and the rest on the cluster.
    runner.run(SCENARIOS[:1], METHODS[:1], out=tmp_path / "both", worker=InlineWorker)
    on_ray = runner.run(
        SCENARIOS, METHODS, out=tmp_path / "both", jobs=2, executor="ray", address=cluster.address, progress=lose_a_node
    )
    assert [event.done for event in seen] == list(range(4, 19))
    pd.testing.assert_frame_equal(results(on_ray.rows()), results(local.rows()))
    assert on_ray.rows()["status"].value_counts().to_dict() == {"unsupported": 9, "completed": 8, "failed": 1}
    answers = dict(local.estimates())
    for key, answer in on_ray.estimates():
        np.testing.assert_array_equal(answer["scores"], answers[key]["scores"])
    start = on_ray.provenance()["starts"][1]
    assert (start["executor"], start["address"]) == ("ray", cluster.address)
    # And on again here, with nothing left to do.
    again = runner.run(SCENARIOS, METHODS, out=tmp_path / "both", worker=InlineWorker)
    pd.testing.assert_frame_equal(again.rows(), on_ray.rows())
    assert not again.rows().duplicated(list(KEY)).any()


class Died(Exception):
    """In place of Ray's error for an actor that is gone."""


class TaskError(Died):
    """In place of Ray's error for what went wrong in a task."""


class SetupError(Died):
    """In place of Ray's error for a node that cannot be set up."""


class FakeRay:
    """As much of Ray as the executor uses, in this process; `ends` says how each call in turn ends."""

    exceptions = types.SimpleNamespace(RayError=Died, RayTaskError=TaskError, RuntimeEnvSetupError=SetupError)

    def __init__(self, ends=(), gpus=0):
        self.ends, self.gpus, self.alive, self.made, self.calls = list(ends), gpus, set(), [], []
        self.running = []

    def remote(self, **options):
        assert options["num_cpus"] == 1 and options["runtime_env"]["env_vars"]["OMP_NUM_THREADS"] == "1"
        return lambda cls: types.SimpleNamespace(options=self.options)

    def options(self, num_gpus):
        def make(memory):
            slot = Slot(memory)
            slot._station = Station(InlineWorker)
            actor = types.SimpleNamespace(fit=types.SimpleNamespace(remote=lambda *call: self.call(slot, call)))
            self.made.append(num_gpus)
            self.alive.add(id(actor))
            return actor

        return types.SimpleNamespace(remote=make)

    def call(self, slot, call):
        self.calls.append(len(call[2]))
        end = self.ends.pop(0) if self.ends else None
        self.running.append((lambda: slot.fit(*call), end))
        return len(self.running) - 1

    def wait(self, references, timeout):
        return references[:1], references[1:]

    def get(self, reference):
        run, end = self.running[reference]
        if isinstance(end, Exception):
            raise end
        found = run()
        return found if end is None else (*found[:3], end)

    def kill(self, actor):
        self.alive.remove(id(actor))

    def cluster_resources(self):
        return {"CPU": 2.0, **({"GPU": float(self.gpus)} if self.gpus else {})}


def fitted(ray, methods, jobs=2, batch=1):
    tasks = plan([ToyScenario(splits=("obs",), replicates=4)], methods, ("obs",), None, 0)
    found = list(_Cluster(ray, None, jobs).fits(stacks(tasks, batch)))
    assert not ray.alive and sorted(one.task.key for one in found) == sorted(task.key for task in tasks)
    return {one.task.key.replicate: one for one in found}


def test_a_fit_that_is_lost_is_done_again_and_not_forever():
    ray = FakeRay([Died("node"), None, Died("node")])
    assert {str(one.status) for one in fitted(ray, {"toy": Toy()}).values()} == {"completed"}
    assert len(ray.calls) == 6 and len(ray.made) == 4  # two actors, and one for each that died
    ray = FakeRay([Died("the node ran out of memory\n\n")] * LOSSES)
    lost = fitted(ray, {"toy": Toy()}, jobs=1)
    reasons = sorted((str(one.status), one.reason) for one in lost.values())
    assert reasons[:3] == [("completed", "")] * 3
    assert reasons[3] == ("failed", "lost with its node or actor 5 times: the node ran out of memory")


def test_what_goes_wrong_on_a_node_is_a_row_and_what_all_would_suffer_from_an_error():
    found = fitted(FakeRay([TaskError("Traceback\nImportError: no module")]), {"toy": Toy()})
    assert sorted(one.reason for one in found.values()) == ["", "", "", "worker broke: ImportError: no module"]
    for end, words in [
        (Died("died because of an error raised in its creation task\nno arena"), "cannot run this package: no arena"),
        (SetupError("no space"), "cannot be set up: no space"),
        ({"python": "2.7"}, "a node of the Ray cluster has {'python': '2.7'}.*install the same there"),
    ]:
        ray = FakeRay([end])
        with pytest.raises(RunError, match=words):
            fitted(ray, {"toy": Toy()})
        assert not ray.alive


class NeedsGpu(Toy):
    capabilities = dataclasses.replace(Toy.capabilities, needs_gpu=True)


@pytest.mark.parametrize(("gpus", "made"), [(1, [1]), (0, [0])])
def test_a_gpu_is_asked_for_where_there_is_one(gpus, made, monkeypatch):
    monkeypatch.setattr("methods.fit.missing", lambda capabilities: "")
    ray = FakeRay(gpus=gpus)
    fitted(ray, {"gpu": NeedsGpu()}, jobs=1)
    assert ray.made == made


class Stacked(Toy):
    capabilities = dataclasses.replace(Toy.capabilities, batched=True)


class Fussy(Stacked):
    """Takes no stack."""

    def predict_batch(self, datasets, keys):
        raise RuntimeError("one at a time")


def test_stacks_go_to_a_node_whole_and_come_back_as_single_fits_where_they_fail():
    ray = FakeRay()
    assert {one.batch for one in fitted(ray, {"toy": Stacked()}, batch=3).values()} == {3, 1} and ray.calls == [3, 1]
    ray = FakeRay()
    assert {one.batch for one in fitted(ray, {"toy": Fussy()}, batch=4).values()} == {1} and ray.calls == [
        4,
        1,
        1,
        1,
        1,
    ]


def test_a_method_that_cannot_be_sent_is_a_failed_row(monkeypatch):
    ray = FakeRay()
    monkeypatch.setattr(ray, "call", lambda slot, call: (_ for _ in ()).throw(TypeError("cannot pickle 'lock'")))
    assert {one.reason for one in fitted(ray, {"toy": Toy()}).values()} == {
        "toy cannot be sent to a worker: cannot pickle 'lock'"
    }


def test_where_no_cluster_is(tmp_path):
    pytest.importorskip("ray")
    with socket.socket() as taken:  # bound, and nobody listens
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(RunError, match=f"no Ray cluster at '{address}': .*refused"):
            runner.run(SCENARIOS, METHODS, out=tmp_path, executor="ray", address=address)


def test_what_is_no_executor(tmp_path):
    for options, words in [
        ({"executor": "slurm"}, "unknown executor 'slurm'; executors are local, ray"),
        ({"address": "auto"}, "an address is of a Ray cluster; the executor is 'local'"),
    ]:
        with pytest.raises(RunError, match=words):
            runner.run(SCENARIOS, METHODS, out=tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()
