from pathlib import Path

import numpy as np
import pytest

from arena import real, sources
from arena.dataset import Dataset
from arena.errors import DataError, SourceError
from arena.files import StoredScenario, write_scenario
from arena.selection import Selection
from arena.sources import absent, scenarios
from arena.tables import TableScenario


def stored(path, id, family="synthetic", d=3):
    names = tuple(f"x{i}" for i in range(d))
    graph = np.eye(d, k=1)
    values = np.random.default_rng(0).standard_normal((5, d))
    write_scenario(
        path,
        id=id,
        family=family,
        factors={},
        adjacency=graph,
        names=names,
        spec_json=None,
        replicates=[{"obs": Dataset(names, values, adjacency=graph)}],
        provenance={},
    )


def csv_table(path):
    path.mkdir(parents=True)
    (path / "data.csv").write_text("a,b\n1,2\n3,5\n")
    (path / "graph.csv").write_text(",a,b\na,0,1\nb,0,0\n")


@pytest.fixture
def mixed(tmp_path):
    stored(tmp_path / "pool" / "2", "synthetic/b", d=10)
    stored(tmp_path / "pool" / "1", "synthetic/c")
    stored(tmp_path / "other", "formula/a", family="formula")
    csv_table(tmp_path / "mine" / "t")
    (tmp_path / "notes.txt").write_text("not a scenario")
    (tmp_path / ".x.partial").mkdir()
    (tmp_path / ".x.partial" / "manifest.json").write_text("{")
    return tmp_path


def ids(found):
    return [scenario.id for scenario in found]


def test_a_scenario_directory_and_a_table_folder(mixed):
    (one,) = scenarios(mixed / "other")
    (two,) = scenarios(str(mixed / "mine" / "t"))
    assert isinstance(one, StoredScenario) and isinstance(two, TableScenario)
    assert ids([one, two]) == ["formula/a", "table/t"]


def test_a_folder_of_both_is_walked_and_sorted_by_id(mixed):
    assert ids(scenarios(mixed)) == ["formula/a", "synthetic/b", "synthetic/c", "table/mine/t"]


@pytest.mark.parametrize(
    ("filters", "kept"),
    [
        ({"families": ["formula", "table"]}, ["formula/a", "table/mine/t"]),
        ({"max_d": 3}, ["formula/a", "synthetic/c", "table/mine/t"]),
        ({"families": "table"}, ["table/mine/t"]),
        ({"families": ["synthetic"], "max_d": 9, "limit": 1}, ["synthetic/c"]),
    ],
)
def test_filters(mixed, filters, kept):
    assert ids(scenarios(mixed, Selection(**filters))) == kept


def test_a_limit_takes_the_same_ones_however_many_there_are(mixed):
    """Each larger limit keeps what a smaller one took, in an order that follows from the ids alone."""
    taken = [set(ids(scenarios(mixed, Selection(limit=k)))) for k in (1, 2, 3, 4)]
    assert [len(t) for t in taken] == [1, 2, 3, 4]
    assert all(a < b for a, b in zip(taken, taken[1:], strict=False))
    first = next(iter(taken[0]))
    only = scenarios(mixed, Selection(families=[first.partition("/")[0]], limit=1))
    assert ids(only) == [first]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"families": ["synthetc"]}, "did you mean 'synthetic'"),
        ({"limit": 0}, "limit is 0"),
        ({"limit": -1}, "limit is -1"),
        ({"replicates": 0}, "replicates is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": True}, "seed is True"),
    ],
)
def test_wrong_selectors_are_named(wrong, words):
    with pytest.raises(SourceError, match=words):
        Selection(**wrong)


def test_a_scenario_that_lost_its_manifest_is_not_passed_over(mixed):
    (scenarios(mixed, Selection(families="formula"))[0].path / "manifest.json").unlink()
    with pytest.raises(DataError, match="no manifest.json"):
        scenarios(mixed)


def test_links_are_not_followed(mixed):
    """A link to a folder above would show each scenario many times."""
    (mixed / "mine" / "loop").symlink_to(mixed, target_is_directory=True)
    assert len(scenarios(mixed)) == 4


def test_filters_that_leave_nothing_say_what_was_there(mixed):
    with pytest.raises(SourceError, match="none of its 4 scenarios.*formula, synthetic, table.*smallest.*2"):
        scenarios(mixed, Selection(families=["semantic"]))


def test_nothing_to_find(tmp_path):
    with pytest.raises(SourceError, match="holds no scenario; expected directories with manifest.json"):
        scenarios(tmp_path)


def test_half_a_table_is_an_error(mixed):
    (mixed / "mine" / "t" / "graph.csv").unlink()
    with pytest.raises(DataError, match="no such file as graph.csv"):
        scenarios(mixed)


def test_two_scenarios_with_one_id(mixed):
    stored(mixed / "again", "formula/a")
    with pytest.raises(SourceError, match="two scenarios have the id 'formula/a'"):
        scenarios(mixed)


def test_unknown_names_list_what_is_known():
    with pytest.raises(SourceError) as caught:
        scenarios("minni", suites=["mini", "main"])
    for word in ["'minni'", "did you mean 'mini'", "no such folder", "mini, main, real", "real:sachs"]:
        assert word in str(caught.value)


def test_a_file_is_not_a_source(mixed):
    with pytest.raises(SourceError, match="is a file; give the folder"):
        scenarios(mixed / "notes.txt")


def test_unknown_public_set():
    with pytest.raises(SourceError, match="did you mean 'ozone'"):
        scenarios("real:ozon")


def test_public_sets(monkeypatch, mixed):
    table = scenarios(mixed / "mine" / "t")
    monkeypatch.setattr(sources.real, "load", lambda name: {"t": table[0]}[name])
    monkeypatch.setattr(sources.real, "load_all", lambda: (table, {"real/sachs": "offline"}))
    assert scenarios("real:t") == scenarios("real") == table
    assert absent("real") == {"real/sachs": "offline"}
    assert absent(mixed) == {}


def test_no_public_set_at_hand(monkeypatch):
    monkeypatch.setattr(real, "load_all", lambda: ([], {"real/sachs": "offline"}))
    with pytest.raises(SourceError, match="none of 1 public sets.*real/sachs: offline"):
        scenarios("real")


def test_a_path_object_works(mixed):
    assert scenarios(Path(mixed))
