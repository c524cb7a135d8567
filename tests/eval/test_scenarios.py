"""What a run keeps of each scenario and table beside the scores."""

import json

import numpy as np
from toys import InlineWorker, Toy, ToyScenario

import arena
from arena.dataset import Dataset
from arena.files import open_scenario, write_scenario
from arena.sortability import r2_sortability, var_sortability
from eval.plan import plan
from eval.run import Run
from eval.runner import run
from eval.scenarios import about
from eval.table import Table, Tables

SPEC = {
    "schema_version": 1,
    "name": "conveyor",
    "nodes": [
        {
            "name": "heat",
            "parents": ["load", "speed"],
            "mechanism": {"family": "formula", "expression": "load * speed**2"},
        },
        {"name": "load", "root": {"family": "lognormal", "log_mean": 0.0, "log_scale": 0.4}},
        {
            "name": "speed",
            "parents": ["load"],
            "mechanism": {"family": "linear_additive", "weight": [-0.5], "bias": 2.0},
            "noise": {"family": "gaussian", "scale": 0.2},
        },
    ],
    "edges": [
        {"source": "load", "target": "heat", "sign": "+"},
        {"source": "speed", "target": "heat", "sign": "mixed"},
        {"source": "load", "target": "speed"},
    ],
}


def stored(path, spec):
    """A scenario directory of a spec, its columns in another order than the nodes of the spec."""
    names = ("speed", "heat", "load")
    truth = np.array([[0, 1, 0], [0, 0, 0], [1, 1, 0]])
    values = np.random.default_rng(0).normal(size=(50, 3))
    table = Dataset(names, values, adjacency=truth)
    spec_json = arena.SCMSpec.from_dict(spec).to_json()
    return open_scenario(write_scenario(
        path, id="toy/conveyor", family="toy", factors={"dimension": 3}, adjacency=truth, names=names,
        spec_json=spec_json, replicates=[{"obs": table}], provenance={},
    ))  # fmt: skip


def test_what_is_known_of_an_scm(tmp_path):
    scenario = stored(tmp_path / "conveyor", SPEC)
    done = run([scenario], [Toy()], out=tmp_path / "run", worker=InlineWorker)
    table = done.scenarios()
    (known,) = table["about"]
    assert (table["scenario"][0], table["family"][0], table["d"][0]) == ("toy/conveyor", "toy", 3)
    assert known["names"] == ["speed", "heat", "load"] and known["factors"] == {"dimension": 3}
    assert known["truth"] == [[0, 1, 0], [0, 0, 0], [1, 1, 0]]
    assert known["nodes"] == [
        {"mechanism": "linear_additive", "noise": "gaussian", "root": None, "depth": 1},
        {"mechanism": "formula", "noise": "none", "root": None, "depth": 2},
        {"mechanism": None, "noise": None, "root": "lognormal", "depth": 0},
    ]
    assert known["sign"] == [[None, 0, None], [None, None, None], [-1, 1, None]]
    assert list(Run.open(tmp_path / "run").scenarios()["scenario"]) == ["toy/conveyor"]
    # The graph that is kept beside an answer is in the same order.
    np.testing.assert_array_equal(done.estimate("toy/conveyor", "obs", 0, "toy")["truth"], known["truth"])
    [(key, answer)] = done.estimates()
    assert key.method == "toy" and not list(done.estimates(method="pc"))
    np.testing.assert_array_equal(answer["truth"], known["truth"])


def test_dependent_roots_have_the_family_of_their_block():
    node = {"name": "y", "parents": ["x"], "mechanism": {"family": "linear_additive", "weight": [2.0]}, "strength": -1}
    text = {
        "nodes": [{"name": "x"}, node, {"name": "z"}],
        "root_block": {"family": "correlated_normal", "roots": ["x", "z"]},
    }

    class Described(ToyScenario):
        def spec_json(self):
            return json.dumps(text)

    known = about(Described(), ("x", "y", "z"), np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]]))
    assert [node["root"] for node in known["nodes"]] == ["correlated_normal", None, "correlated_normal"]
    assert known["nodes"][1] == {"mechanism": "linear_additive", "noise": "none", "root": None, "depth": 1}
    assert known["sign"][0] == [None, -1, None]


def test_of_a_table_without_a_spec_names_depth_and_graph_are_known():
    scenario = ToyScenario(d=3)
    known = about(scenario, ("a", "b", "c"), np.eye(3, k=1))
    assert [node["depth"] for node in known["nodes"]] == [0, 1, 2]
    assert {node[part] for node in known["nodes"] for part in ("mechanism", "noise", "root")} == {None}
    assert {entry for line in known["sign"] for entry in line} == {None}


def test_sortability_is_of_the_table_in_its_own_units(tmp_path):
    class Empty(ToyScenario):
        def load(self, split, replicate):
            table = super().load(split, replicate)
            return Dataset(table.names, 100 * table.values, adjacency=np.zeros((4, 4)), split="obs")

    scenarios = [ToyScenario(), Empty("toy/empty", splits=("obs",), replicates=1)]
    rows = run(scenarios, [Toy(), Toy(name="bad", mode="raise")], out=tmp_path, worker=InlineWorker).rows()
    for _, row in rows[rows["scenario"] == "toy/a"].iterrows():  # whatever became of the fit
        table = scenarios[0].load(row["split"], row["replicate"])
        assert row["var_sortability"] == var_sortability(table.values, table.truth)
        assert row["r2_sortability"] == r2_sortability(table.values, table.truth)
    assert rows["r2_sortability"].nunique() > 1
    empty = rows[rows["scenario"] == "toy/empty"]
    assert len(empty) == 2 and empty[["var_sortability", "r2_sortability"]].isna().all().all()


def test_tables_are_read_once_as_long_as_they_fit():
    class Counted(ToyScenario):
        loads = 0

        def load(self, split, replicate):
            type(self).loads += 1
            return super().load(split, replicate)

    scenario = Counted(replicates=3, splits=("obs",))
    zero, one, two = plan([scenario], {"toy": Toy()}, ("obs",), None, 0)
    size = scenario.load("obs", 0).values.nbytes
    tables = Tables(most=2 * size)
    assert tables.get(zero) is tables.get(zero) and Counted.loads == 2
    tables.get(one), tables.get(zero), tables.get(two)  # `one` was asked for longest ago
    assert Counted.loads == 4
    tables.get(zero), tables.get(two)
    assert Counted.loads == 4
    tables.get(one)
    assert Counted.loads == 5


def test_the_target_sets_of_a_table():
    table = Table.of(ToyScenario().load("obs_int", 0))
    assert table.targets.tolist() == [[False] * 4, [True, False, False, False]]
    assert Table.of(ToyScenario().load("obs", 0)).targets.tolist() == [[False] * 4]
