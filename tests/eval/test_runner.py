"""The shared protocol: what is planned, what becomes of failures, and that order does not matter."""

import dataclasses
import functools
import json
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pytest
from toys import InlineWorker, ObsOnly, Toy, ToyScenario

from arena.errors import DataError, MethodError, RunError
from eval import launch
from eval.options import check_limits
from eval.plan import in_blocks, plan, settings_json, stable_hash
from eval.run import Run
from eval.runner import resolve, run
from eval.store import KEY, Key
from methods.base import Capabilities, Estimate, Outcome, Status
from methods.pc import PC
from methods.registry import as_method, get

TIMES = ["seconds_load", "seconds_fit", "seconds_score", "started", "finished"]


def results(rows):
    """The rows without what the clock put there."""
    return rows.drop(columns=TIMES)


def quick(scenarios, methods, out, **options):
    return run(scenarios, methods, out=out, worker=InlineWorker, **options)


def test_the_protocol(tmp_path):
    events = []
    scenarios = [
        ToyScenario("toy/a"),
        ToyScenario("other/b", family="other", d=3, splits=("obs",), replicates=1),
    ]
    done = quick(scenarios, [Toy(), ObsOnly()], tmp_path / "run", progress=events.append, command=["arena", "run"])

    rows = done.rows().set_index(list(KEY))
    # toy/a: 2 splits x 2 replicates x 2 methods; other/b: 1 split x 1 replicate x 2 methods.
    assert len(rows) == 10
    assert set(rows.loc["other/b"].index.get_level_values("split")) == {"obs"}
    unsupported = rows[rows["status"] == "unsupported"]
    assert set(unsupported.index) == {
        ("toy/a", "obs_int", 0, "obs_only"),
        ("toy/a", "obs_int", 1, "obs_only"),
    }
    assert unsupported["reason"].iloc[0] == "split obs_int is not one that the method takes (obs)"
    assert unsupported["f1"].isna().all()
    scored = rows[rows["status"] == "completed"]
    assert len(scored) == 8 and scored[["f1", "shd", "seconds_fit", "d"]].notna().all().all()

    assert [event.done for event in events] == list(range(11))
    assert {event.total for event in events} == {10}
    assert events[0].row is None and events[-1].row["method"] in ("toy", "obs_only") and events[-1].rate > 0

    assert Run.open(tmp_path / "run").leaderboard().equals(done.leaderboard())
    answer = done.estimate("toy/a", "obs", 0, "toy")
    np.testing.assert_array_equal(answer["truth"], scenarios[0].load("obs", 0).truth)
    assert answer["scores"].shape == (4, 4) and "preflight" in answer["info"]

    (start,) = done.provenance()["starts"]
    assert start["command"] == ["arena", "run"] and start["seed"] == 0 and start["rows"] == 10
    assert start["versions"]["jax"] and start["cpu_count"]
    assert start["scenarios"] == {"toy/a": {"obs": 2, "obs_int": 2}, "other/b": {"obs": 1}}


def test_failures_are_rows_without_scores(tmp_path):
    scenario = ToyScenario(damaged={("obs", 1)}, splits=("obs",))
    methods = [
        Toy(mode="raise", name="raises"),
        Toy(mode="shape", name="misshapen"),
        Toy(mode="empty", name="empty"),
    ]
    rows = quick([scenario], methods, tmp_path).rows().set_index(["method", "replicate"])
    assert rows.loc[("raises", 0), "status"] == "failed"
    assert "no luck <b>today</b>" in rows.loc[("raises", 0), "reason"]
    assert rows.loc[("misshapen", 0), "status"] == "invalid"
    assert rows.loc[("empty", 0), "status"] == "completed" and rows.loc[("empty", 0), "f1"] == 0
    for method in ("raises", "misshapen", "empty"):  # a damaged table costs its own rows only
        assert rows.loc[(method, 1), "status"] == "failed"
        assert rows.loc[(method, 1), "reason"] == "toy/a: obs is damaged; restore the file"
    lost = rows[rows["status"] != "completed"]
    assert lost[["f1", "precision", "recall", "shd", "sid", "auroc", "tp"]].isna().all().all()


def test_an_unreadable_manifest_is_a_failed_row(tmp_path):
    class Unreadable(ToyScenario):
        def content_hash(self, split, replicate):
            raise DataError("manifest.json is damaged")

    rows = quick([Unreadable()], [Toy()], tmp_path).rows()
    assert set(rows["status"]) == {"failed"} and set(rows["reason"]) == {"manifest.json is damaged"}
    # Once it is mended the rows, whose seed was not known either, are kept or can be done again.
    assert set(quick([ToyScenario()], [Toy()], tmp_path).rows()["status"]) == {"failed"}
    assert set(quick([ToyScenario()], [Toy()], tmp_path, retry=True).rows()["status"]) == {"completed"}


def test_a_worker_that_breaks_costs_one_row(tmp_path):
    class Breaks(InlineWorker):
        def fit(self, method, dataset, *, seed, timeout):
            if method.name == "poison":
                raise OSError("pipe")
            return super().fit(method, dataset, seed=seed, timeout=timeout)

    scenario = ToyScenario(splits=("obs",), replicates=1)
    rows = run([scenario], [Toy(name="poison"), Toy()], out=tmp_path, worker=Breaks).rows().set_index("method")
    assert rows.loc["poison", "reason"] == "worker broke: OSError: pipe"
    assert rows.loc["toy", "status"] == "completed"


def test_every_status_and_time_of_a_worker_is_kept(tmp_path):
    class Scripted(InlineWorker):
        def fit(self, method, dataset, *, seed, timeout):
            assert timeout == 7.5
            status = Status(method.name)
            if status is Status.completed:
                graph = np.zeros((dataset.d, dataset.d), np.int8)
                return Outcome(status, estimate=Estimate(graph), seconds={"load": 1.0, "fit": 2.0})
            return Outcome(status, f"why {status}", seconds={"load": 3.0}, detail="trace")

    methods = [Toy(name=str(status)) for status in Status]
    scenario = ToyScenario(splits=("obs",), replicates=1)
    rows = run([scenario], methods, out=tmp_path, worker=Scripted, timeout=7.5).rows().set_index("method")
    for status in Status:
        assert rows.loc[status, "status"] == status
        if status is not Status.completed:
            assert rows.loc[status, "reason"] == f"why {status}" and rows.loc[status, "detail"] == "trace"
            assert rows.loc[status, "seconds_load"] == 3 and np.isnan(rows.loc[status, "seconds_fit"])
    assert rows.loc["completed", "seconds_fit"] == 2


def test_order_and_number_of_workers_do_not_matter(tmp_path):
    scenarios = [ToyScenario(f"toy/{name}", d=4) for name in "abc"]
    methods = [Toy(), Toy(name="second"), ObsOnly()]
    first = quick(scenarios, methods, tmp_path / "1")
    second = quick(scenarios[::-1], methods[::-1], tmp_path / "2", jobs=3)
    pd.testing.assert_frame_equal(results(first.rows()), results(second.rows()))
    # The same fit in a smaller run, too.
    alone = quick(scenarios[:1], methods[:1], tmp_path / "3", replicates=1).rows()
    whole = first.rows().merge(alone[list(KEY)], on=list(KEY))
    pd.testing.assert_frame_equal(results(alone), results(whole))
    assert not results(quick(scenarios[:1], methods[:1], tmp_path / "4", seed=1, replicates=1).rows()).equals(
        results(alone)
    )


def test_the_plan_is_a_fair_sample_early_on():
    scenarios = [ToyScenario(f"toy/{i}", replicates=1 + i % 3) for i in range(6)]
    tasks = plan(scenarios, {"toy": Toy()}, ("obs", "obs_int"), None, 0)
    assert [task.key.replicate for task in tasks] == sorted(task.key.replicate for task in tasks)
    assert len({task.key.scenario for task in tasks[:12]}) == 6
    assert len({task.key for task in tasks}) == len(tasks) == 2 * (1 + 2 + 3) * 2
    assert all(0 <= task.seed < 2**31 for task in tasks) and len({task.seed for task in tasks}) == len(tasks)


def test_blocks_keep_the_order_of_tables_and_put_methods_together():
    methods = {"a": Toy(), "b": Toy(name="b"), "c": Toy(name="c")}
    tasks = plan([ToyScenario(f"toy/{i}") for i in range(5)], methods, ("obs", "obs_int"), None, 0)
    tables = list(dict.fromkeys(task.key[:3] for task in tasks))
    blocks = in_blocks(tasks, 8)
    assert sorted(task.key for task in blocks) == sorted(task.key for task in tasks)
    expected = [(*table, label) for start in (0, 8, 16) for label in methods for table in tables[start : start + 8]]
    assert [tuple(task.key) for task in blocks] == expected
    # What is left of a run that was stopped, too.
    left = [task for task in tasks if task.key.method != "b" or task.key.split == "obs"]
    assert [task.key.method for task in in_blocks(left, 20)] == ["a"] * 20 + ["b"] * 10 + ["c"] * 20


def test_seeds_are_the_same_everywhere():
    assert stable_hash([0, "toy/a", "obs", 0, "pc"]) == 1726106459660512549


class Elsewhere(ToyScenario):
    """The tables of `toy/a` under another name."""

    def content_hash(self, split, replicate):
        return ToyScenario().content_hash(split, replicate)

    def load(self, split, replicate):
        return ToyScenario().load(split, replicate)


def test_an_answer_depends_on_the_table_and_not_on_what_anything_is_called(tmp_path):
    scenarios = [ToyScenario(), Elsewhere("other/name", family="other")]
    done = quick(scenarios, {"one": Toy(), "two": Toy(name="again")}, tmp_path)
    answers = {}
    for _, row in done.rows().iterrows():
        scores = done.estimate(*(row[name] for name in KEY))["scores"]
        answers.setdefault((row["split"], row["replicate"]), set()).add((row["seed"], scores.tobytes()))
    assert len(answers) == 4 and all(len(found) == 1 for found in answers.values())
    assert len({answer for found in answers.values() for answer in found}) == 4


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_method_gets_a_worker_that_no_other_was_in(tmp_path, jobs):
    class Keeps(InlineWorker):
        def __init__(self):
            super().__init__()
            self.fitted = []

        def fit(self, method, dataset, *, seed, timeout):
            self.fitted.append(method.name)
            return super().fit(method, dataset, seed=seed, timeout=timeout)

    made = len(InlineWorker.made)
    methods = [Toy(name="a", sleep=0.001), ObsOnly(name="b", sleep=0.001), Toy(name="c", sleep=0.001)]
    run([ToyScenario(replicates=20)], methods, out=tmp_path, worker=Keeps, jobs=jobs)
    workers = InlineWorker.made[made:]
    assert all(len(set(worker.fitted)) == 1 and worker.closed for worker in workers)
    assert sum(len(worker.fitted) for worker in workers) == 40 + 20 + 40
    # One for each method, block and lane, not one for each fit.
    assert len(workers) <= 3 * (2 if jobs == 1 else 1) * jobs


def test_a_finished_run_is_not_done_again(tmp_path):
    quick([ToyScenario()], [Toy()], tmp_path)
    before, made = Run.open(tmp_path).rows(), len(InlineWorker.made)
    events = []
    again = quick([ToyScenario()], [Toy()], tmp_path, progress=events.append)
    pd.testing.assert_frame_equal(again.rows(), before)
    assert len(InlineWorker.made) == made and [event.done for event in events] == [4]
    # More methods and scenarios join the same run.
    more = quick([ToyScenario(), ToyScenario("toy/b")], [Toy(), ObsOnly()], tmp_path).rows()
    assert len(more) == 16
    kept = more.merge(before[list(KEY)], on=list(KEY))
    pd.testing.assert_frame_equal(kept, before)
    assert len(again.provenance()["starts"]) == 3


def test_other_data_settings_or_seed_are_refused(tmp_path):
    scenario = ToyScenario()
    quick([scenario], [Toy()], tmp_path)
    before = Run.open(tmp_path).rows()
    with pytest.raises(RunError, match="holds results of other settings for toy/a .*choose another --out"):
        quick([scenario], [Toy(sleep=0.001)], tmp_path)
    with pytest.raises(RunError, match="holds results of other seeds"):
        quick([scenario], [Toy()], tmp_path, seed=5)
    scenario.version = 2
    with pytest.raises(RunError, match="run directory holds results of other data"):
        quick([scenario], [Toy()], tmp_path)
    pd.testing.assert_frame_equal(Run.open(tmp_path).rows(), before)


def constant(value):
    return lambda table: np.full((table.shape[1],) * 2, value) * (1 - np.eye(table.shape[1]))


class Callable:
    def __init__(self, value):
        self.value = value

    def __call__(self, table):
        return constant(self.value)(table)


@dataclasses.dataclass(frozen=True)
class Configured(Toy):
    """A method one of whose settings is an object."""

    config: object = None


def edited(value):
    """A class of methods as after an edit of its `fit`."""

    class Edited(Toy):
        def fit(self, dataset, key):
            return Estimate(constant(value)(dataset.values))

    return Edited()


KINDS = {
    "closure": constant,
    "partial": lambda value: functools.partial(lambda k, table: constant(k)(table), value),
    "instance": Callable,
    "bound method": lambda value: Callable(value).__call__,
    "class of the method": edited,
    "object in a setting": lambda value: Configured(config=Callable(value)),
    "array in a setting": lambda value: Configured(config=np.full(3, value)),
}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_results_of_a_function_are_not_kept_when_it_does_something_else(tmp_path, make):
    scenario = ToyScenario(splits=("obs",), replicates=1)
    quick([scenario], {"mine": make(0.5)}, tmp_path)
    before = Run.open(tmp_path).rows()
    pd.testing.assert_frame_equal(quick([scenario], {"mine": make(0.5)}, tmp_path).rows(), before)
    with pytest.raises(RunError, match="results of other settings for toy/a .*the code of .* changed.*another --out"):
        quick([scenario], {"mine": make(0.75)}, tmp_path)
    pd.testing.assert_frame_equal(Run.open(tmp_path).rows(), before)


def test_a_changed_setting_is_not_called_a_change_of_code(tmp_path):
    scenario = ToyScenario(splits=("obs",), replicates=1)
    for number, other in enumerate([Configured(mode="empty", config=Callable(2)), Configured(config=edited)]):
        quick([scenario], [Configured(config=Callable(1), name="toy")], tmp_path / str(number))
        with pytest.raises(RunError, match=r"other settings .*\(found .*, now .*\)"):
            quick([scenario], {"toy": other}, tmp_path / str(number))


def test_a_run_is_what_was_asked_for_and_the_directory_is_everything(tmp_path):
    first = quick([ToyScenario()], [Toy(), Toy(name="bad", mode="raise")], tmp_path)
    second = quick([ToyScenario("toy/b", splits=("obs",))], [Toy()], tmp_path)
    whole = Run.open(tmp_path)
    assert (len(first.rows()), len(second.rows()), len(whole.rows())) == (8, 2, 10)
    assert set(second.rows()["scenario"]) == {"toy/b"} and list(second.rows().index) == [0, 1]
    assert set(second.leaderboard()["method"]) == {"toy"} and second.failures().empty
    assert len(first.failures()) == len(whole.failures()) == 2
    assert (len(first.planned()), len(second.planned()), len(whole.planned())) == (8, 2, 10)
    assert second.planned() == {Key(*key) for key in second.rows()[list(KEY)].itertuples(index=False)}
    # A part of what is there already.
    part = quick([ToyScenario(replicates=1)], [Toy()], tmp_path)
    assert len(part.rows()) == 2 and len(Run.open(tmp_path).rows()) == 10


def test_retry_does_the_lost_rows_again(tmp_path):
    scenario = ToyScenario(damaged={("obs", 0)})
    before = quick([scenario], [Toy()], tmp_path).rows()
    scenario.damaged = ()
    assert list(quick([scenario], [Toy()], tmp_path).rows()["status"]) == list(before["status"])
    after = quick([scenario], [Toy()], tmp_path, retry=True).rows()
    assert set(after["status"]) == {"completed"} and len(after) == 4
    kept = before["status"] == "completed"
    pd.testing.assert_frame_equal(after[kept], before[kept])


def test_one_method_with_several_settings(tmp_path):
    labels = {"toy": Toy(), "toy, empty": Toy(mode="empty")}
    rows = quick([ToyScenario()], labels, tmp_path).rows()
    assert set(rows["method"]) == set(labels)
    settings = rows.drop_duplicates("method").set_index("method")["settings"].map(json.loads)
    assert settings["toy, empty"] == settings["toy"] | {"mode": "empty"}
    with pytest.raises(RunError, match="method 'toy' is given twice"):
        quick([ToyScenario()], [Toy(), Toy(mode="empty")], tmp_path / "twice")


def noop(values):
    return np.zeros((values.shape[1],) * 2)


def test_settings_of_functions_are_the_same_in_every_process():
    settings = json.loads(settings_json(as_method(noop)))
    assert settings["function"]["name"].endswith("test_runner.noop") and settings["threshold"] == 0.3
    assert len(settings["function"]["sha256"]) == 64
    assert json.loads(settings_json(get("pc", alpha=0.01))) == {"alpha": 0.01, "max_rows": None}


def test_what_cannot_be_run_is_said_before_anything_is_written(tmp_path):
    out = tmp_path / "run"
    with pytest.raises(RunError, match="'toy/a' is given more than once"):
        quick([ToyScenario(), ToyScenario()], [Toy()], out)
    with pytest.raises(RunError, match="unknown split 'mixed'"):
        quick([ToyScenario()], [Toy()], out, splits=("mixed",))
    with pytest.raises(RunError, match="nothing to run: no scenario has a replicate of obs_int"):
        quick([ToyScenario(splits=("obs",))], [Toy()], out, splits=("obs_int",))
    assert not out.exists()


@pytest.mark.parametrize(
    "option, words",
    [
        ({"timeout": 0}, "timeout must be a positive number of seconds, or None for no limit, found 0"),
        ({"timeout": -1.5}, "timeout must"),
        ({"timeout": float("nan")}, "timeout must"),
        ({"memory": 0}, "memory must be a positive number of bytes, or None for no limit, found 0"),
        ({"memory": -1}, "memory must"),
        ({"memory": float("inf")}, "memory must"),
        ({"jobs": 0}, "jobs must be a whole number of at least 1, found 0"),
        ({"seed": -1}, "seed must be a whole number of at least 0, found -1"),
        ({"replicates": 0}, "replicates must be a whole number of at least 1, found 0"),
    ],
)
def test_options_out_of_range_are_said_before_anything_is_written(option, words, tmp_path):
    with pytest.raises(RunError, match=words):
        quick([ToyScenario()], [Toy()], tmp_path / "run", **option)
    if not option.keys() & {"seed", "replicates"}:  # those a `Selection` checks
        with pytest.raises(RunError, match=words):
            launch.run("mini", [Toy()], out=tmp_path / "run", **option)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "option", [{"timeout": "60"}, {"memory": True}, {"jobs": 1.5}, {"jobs": True}, {"seed": 0.5}, {"seed": None}]
)
def test_options_of_another_type(option):
    with pytest.raises(RunError, match=f"{next(iter(option))} must be a .*, found"):
        check_limits(**option)


def test_options_in_range():
    check_limits(seed=np.int64(3), jobs=2, timeout=np.float32(0.5), memory=1.5 * 2**30, replicates=1)
    check_limits(timeout=None, memory=None, replicates=None)


def test_one_split_needs_no_list(tmp_path):
    assert set(quick([ToyScenario()], [Toy()], tmp_path, splits="obs").rows()["split"]) == {"obs"}
    with pytest.raises(RunError, match="unknown split 'obs,obs_int'"):
        quick([ToyScenario()], [Toy()], tmp_path, splits="obs,obs_int")
    with pytest.raises(RunError, match="no split is given"):
        quick([ToyScenario()], [Toy()], tmp_path, splits=[])


def test_one_method_needs_no_list():
    partial = functools.partial(noop)
    for method, label in {"pc": "pc", noop: "noop", Toy(): "toy", PC: "pc", partial: "partial"}.items():
        assert list(resolve(method)) == list(resolve([method])) == [label]
    assert list(resolve(iter(["pc", noop]))) == ["pc", "noop"]
    with pytest.raises(MethodError, match="a method is a name, a Method or a function of a table, found int"):
        resolve([3])
    with pytest.raises(MethodError, match="unknown method 'pc,gies'"):
        resolve("pc,gies")
    with pytest.raises(MethodError, match="no method is given"):
        resolve([])
    with pytest.raises(MethodError, match="the label of a method is a text, found 1"):
        resolve({1: "pc"})


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupt_closes_workers_and_keeps_rows(tmp_path, jobs):
    def interrupt(event):
        if event.done == 3:
            raise KeyboardInterrupt

    threads, made = threading.active_count(), len(InlineWorker.made)
    with pytest.raises(KeyboardInterrupt):
        quick([ToyScenario(replicates=5)], [Toy(sleep=0.05)], tmp_path, progress=interrupt, jobs=jobs)
    assert threading.active_count() == threads
    assert [worker.closed for worker in InlineWorker.made[made:]] == [True] * jobs
    kept = Run.open(tmp_path).rows()
    assert len(kept) == 3
    whole = quick([ToyScenario(replicates=5)], [Toy(sleep=0.05)], tmp_path).rows()
    assert len(whole) == 10
    pd.testing.assert_frame_equal(whole.merge(kept[list(KEY)], on=list(KEY)), kept)


def test_a_second_process_on_the_same_directory_is_refused(tmp_path):
    def intrude(event):
        with pytest.raises(RunError, match="another process is running here"):
            quick([ToyScenario()], [Toy()], tmp_path)

    assert len(quick([ToyScenario()], [Toy()], tmp_path, progress=intrude).rows()) == 4


def test_equivalence_classes_are_compared_under_the_interventions_of_the_split(tmp_path):
    class Oracle(Toy):
        """Knows each table's graph; answers the undirected skeleton as its class."""

        capabilities = Capabilities(output="cpdag")

    class Knows(InlineWorker):
        def fit(self, method, dataset, *, seed, timeout):
            chain = np.eye(4, k=1, dtype=np.int8)
            return Outcome(Status.completed, estimate=Estimate(chain, native=chain | chain.T))

    class Chain(ToyScenario):
        def load(self, split, replicate):
            table = super().load(split, replicate)
            return dataclasses.replace(table, adjacency=np.eye(4, k=1, dtype=np.int8))

    rows = run([Chain(replicates=1)], [Oracle()], out=tmp_path, worker=Knows).rows().set_index("split")
    # Setting the first variable of a chain orients all three edges; without that none is.
    assert rows["cpdag_shd"].to_dict() == {"obs": 0, "obs_int": 3}
    assert np.isnan(quick([ToyScenario()], [Toy()], tmp_path / "hard").rows()["cpdag_shd"]).all()


def test_importing_the_runner_stays_light():
    code = "import sys, eval.launch, eval.ray_pool, eval.report; print([m for m in sys.modules if m in sys.argv[1:]])"
    heavy = ["pandas", "matplotlib", "torch", "ray", "rich", "jinja2", "gadjid", "sklearn", "networkx"]
    found = subprocess.run([sys.executable, "-c", code, *heavy], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
