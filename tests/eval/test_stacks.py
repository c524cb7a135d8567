"""Stacks in a run: which tables go together, and what becomes of one that goes wrong."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from toys import InlineWorker, Toy, ToyScenario

from arena.dataset import Dataset
from arena.errors import RunError
from eval.plan import plan, stacks
from eval.runner import run
from eval.store import KEY
from methods.base import Capabilities

TIMES = ["seconds_load", "seconds_fit", "seconds_score", "started", "finished", "batch"]


@dataclasses.dataclass(frozen=True)
class Amortised(Toy):
    """Takes stacks; fails on tables whose first value is over `largest`, and on any stack with one."""

    name: str = "amortised"
    largest: float = np.inf
    capabilities = Capabilities(scores=True, output="digraph", batched=True, splits=("obs",))

    def fit(self, dataset, key):
        if dataset.values[0, 0] > self.largest:
            raise RuntimeError("too large")
        return super().fit(dataset, key)

    def predict_batch(self, datasets, keys):
        return [
            dataclasses.replace(estimate, info={"stack": len(datasets)})
            for estimate in super().predict_batch(datasets, keys)
        ]


SCENARIOS = [
    ToyScenario("toy/a", d=4, replicates=3),
    ToyScenario("toy/b", d=5, replicates=4),
    ToyScenario("toy/c", d=4),
]


def go(out, methods, **options):
    return run(SCENARIOS, methods, out=out, worker=InlineWorker, **options)


def test_tables_of_one_size_are_neighbours():
    methods = {"one": Amortised(), "two": Amortised(), "toy": Toy()}
    tasks = plan(SCENARIOS, methods, ("obs",), None, 0)
    by_method = sorted(tasks, key=lambda task: list(methods).index(task.key.method))
    found = stacks(by_method, 3)
    assert sorted(task.key for stack in found for task in stack) == sorted(task.key for task in tasks)
    shapes = [({(task.key.method, task.scenario.d) for task in stack}, len(stack)) for stack in found]
    assert all(len(kinds) == 1 and size <= 3 for kinds, size in shapes)
    for method in ("one", "two"):  # five tables of d = 4, four of d = 5
        assert sorted(size for kinds, size in shapes if next(iter(kinds))[0] == method) == [1, 2, 3, 3]
    assert [size for kinds, size in shapes if next(iter(kinds))[0] == "toy"] == [1] * 9
    assert stacks(by_method, 1) == [[task] for task in by_method]
    # What the method refuses, or cannot be read, is alone.
    both = plan([ToyScenario(damaged={("obs", 0)})], {"one": Amortised()}, ("obs", "obs_int"), None, 0)
    assert all(len(stack) == 1 for stack in stacks(both, 3))


def test_a_run_in_stacks_is_the_run_one_by_one(tmp_path):
    alone = go(tmp_path / "1", [Amortised(), Toy()], batch=1, jobs=2)
    stacked = go(tmp_path / "16", [Amortised(), Toy()], batch=16, jobs=2)
    pd.testing.assert_frame_equal(alone.rows().drop(columns=TIMES), stacked.rows().drop(columns=TIMES))
    rows = stacked.rows().query("status == 'completed'")
    assert rows.query("method == 'amortised'").groupby("d")["batch"].unique().map(set).to_dict() == {4: {5}, 5: {4}}
    assert set(rows.query("method == 'toy'")["batch"]) == set(alone.rows()["batch"]) == {1}
    answers = dict(alone.estimates())
    for key, answer in stacked.estimates():
        np.testing.assert_array_equal(answer["scores"], answers[key]["scores"])
        assert answer["info"].get("stack", 1) == rows.set_index(list(KEY)).loc[tuple(key), "batch"]
    assert stacked.provenance()["starts"][0]["batch"] == 16


def test_one_bad_table_does_not_cost_its_neighbours(tmp_path):
    values = sorted(table.values[0, 0] for table in standardised())
    method = Amortised(largest=(values[-1] + values[-2]) / 2)
    rows = go(tmp_path, [method], batch=16, splits="obs").rows()
    bad = rows[rows["status"] != "completed"]
    assert len(bad) == 1 and bad["reason"].iloc[0] == "RuntimeError: too large" and bad["batch"].iloc[0] == 1
    d = bad["d"].iloc[0]
    assert set(rows.loc[(rows["d"] == d), "batch"]) == {1} and (rows.loc[rows["d"] != d, "batch"] > 1).all()


def standardised():
    for scenario in SCENARIOS:
        for replicate in range(scenario.replicates):
            table = scenario.load("obs", replicate)
            values = (table.values - table.values.mean(0)) / table.values.std(0)
            yield Dataset(table.names, values)


def test_a_worker_that_breaks_on_a_stack_does_the_tables_alone(tmp_path):
    class Breaks(InlineWorker):
        def fit_batch(self, method, datasets, *, seeds, timeout):
            raise OSError("pipe")

    rows = run(SCENARIOS, [Amortised()], out=tmp_path, worker=Breaks, splits="obs").rows()
    assert set(rows["status"]) == {"completed"} and set(rows["batch"]) == {1}


def test_batch_must_be_a_number_of_tables(tmp_path):
    with pytest.raises(RunError, match="batch must be a whole number of at least 1, found 0"):
        go(tmp_path, [Amortised()], batch=0)
