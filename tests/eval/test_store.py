"""The run store: what is kept, what is refused."""

import sqlite3
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from arena.errors import RunError
from eval import provenance
from eval.store import FILENAME, SCHEMA_VERSION, Key, Store


def row(scenario="toy/a", split="obs", replicate=0, method="m", **more):
    base = {"family": "toy", "control": 0, "status": "completed", "reason": "", "detail": "", "d": 3, "seed": 1}
    texts = {
        "data_hash": "h",
        "settings": "{}",
        "factors": "{}",
        "versions": "{}",
        "started": "a",
        "finished": "b",
    }
    return {
        "scenario": scenario,
        "split": split,
        "replicate": replicate,
        "method": method,
        **base,
        **texts,
        **more,
    }


def test_rows_survive_reopening(tmp_path):
    path = tmp_path / FILENAME
    with Store(path, write=True) as store:
        store.add(row(f1=0.1 + 0.2, shd=np.int64(3), auroc=float("nan"), tp=np.int32(2)))
        store.add(row(replicate=1, status="failed", reason="because", seed=7))
    with Store(path, write=True) as store:
        store.add(row(replicate=2))
    with Store(path, write=False) as store:
        table = store.rows()
        assert list(table["replicate"]) == [0, 1, 2]
        assert table["f1"][0] == 0.1 + 0.2 and table["shd"][0] == 3 and table["tp"][0] == 2
        assert np.isnan(table["auroc"][0]) and np.isnan(table["f1"][1])
        finished = store.finished()
        assert set(finished) == {Key("toy/a", "obs", replicate, "m") for replicate in range(3)}
        assert finished[Key("toy/a", "obs", 1, "m")] == {
            "status": "failed",
            "data_hash": "h",
            "settings": "{}",
            "seed": 7,
            "reason": "because",
            "detail": "",
            "reduced": 0,
        }
        assert list(table["reduced"]) == [0, 0, 0] and list(table["batch"]) == [1, 1, 1]


@pytest.mark.parametrize("d", [1, 3, 5, 17])
def test_estimates_come_back_as_they_went(tmp_path, d):
    rng = np.random.default_rng(d)
    truth, adjacency, native = (rng.random((3, d, d)) < 0.5).astype(np.int8)
    scores = rng.normal(size=(d, d))
    with Store(tmp_path / FILENAME, write=True) as store:
        arrays = {"truth": truth, "adjacency": adjacency, "native": native, "scores": scores}
        store.add(row(d=d), arrays, {"note": [1, "two"]})
        store.add(row(d=d, method="hard"), {"truth": truth, "adjacency": adjacency})
        store.add(row(d=d, method="broken", status="failed"))
        back = store.estimate(("toy/a", "obs", 0, "m"))
        for name in ("truth", "adjacency", "native"):
            np.testing.assert_array_equal(back[name], arrays[name])
        np.testing.assert_array_equal(back["scores"], scores.astype(np.float32))
        assert back["info"] == {"note": [1, "two"]}
        hard = store.estimate(("toy/a", "obs", 0, "hard"))
        assert hard["native"] is None and hard["scores"] is None
        with pytest.raises(RunError, match="no estimate for toy/a / obs / 0 / broken"):
            store.estimate(("toy/a", "obs", 0, "broken"))


def test_all_estimates_come_in_one_pass(tmp_path):
    rng = np.random.default_rng(0)
    kept = {}
    with Store(tmp_path / FILENAME, write=True) as store:
        for scenario, method, replicate in [("b", "m", 0), ("a", "n", 1), ("a", "m", 0)]:
            graph = (rng.random((3, 3)) < 0.5).astype(np.int8)
            store.add(row(scenario, replicate=replicate, method=method), {"truth": graph, "adjacency": graph})
            kept[Key(scenario, "obs", replicate, method)] = graph
        store.add(row("c", status="failed"))
        found = dict(store.estimates())
        assert list(found) == sorted(kept)
        for key, graph in kept.items():
            np.testing.assert_array_equal(found[key]["adjacency"], graph)
            assert found[key].keys() == store.estimate(key).keys() and found[key]["scores"] is None
        assert [key for key, _ in store.estimates(method="m")] == [Key("a", "obs", 0, "m"), Key("b", "obs", 0, "m")]
        assert [key.scenario for key, _ in store.estimates(method="m", scenario="b")] == ["b"]
        with pytest.raises(ValueError):
            next(store.estimates(method_="m"))


def test_what_is_known_of_a_scenario_is_kept_once(tmp_path):
    about = {"names": ["a", "b"], "factors": {"dimension": 2}, "truth": [[0, 1], [0, 0]]}
    with Store(tmp_path / FILENAME, write=True) as store:
        assert store.scenarios().empty
        store.add_scenario("y", "toy", {**about, "factors": {}})
        store.add_scenario("x", "toy", about)
        store.add_scenario("y", "toy", about)
        table = store.scenarios()
    assert list(table.columns) == ["scenario", "family", "d", "about"]
    assert list(table["scenario"]) == ["x", "y"] and list(table["d"]) == [2, 2]
    assert list(table["about"]) == [about, about]


def test_a_row_is_replaced_with_its_estimate(tmp_path):
    graph = np.zeros((3, 3), np.int8)
    with Store(tmp_path / FILENAME, write=True) as store:
        store.add(row(), {"truth": graph, "adjacency": graph})
        store.add(row(status="failed", reason="again"))
        assert list(store.rows()["reason"]) == ["again"]
        with pytest.raises(RunError, match="no estimate"):
            store.estimate(("toy/a", "obs", 0, "m"))


def test_nothing_is_kept_of_a_row_that_cannot_be_written(tmp_path):
    with Store(tmp_path / FILENAME, write=True) as store:
        with pytest.raises(sqlite3.IntegrityError):
            store.add(row(status=None))
        with pytest.raises(KeyError, match="surprise"):
            store.add(row(surprise=1))
        assert store.rows().empty and not store.finished()


def test_export_holds_the_same_numbers(tmp_path):
    with Store(tmp_path / FILENAME, write=True) as store:
        store.add(row(f1=1 / 3, n=40))
        store.add(row(method="n", status="failed", reason='commas, "quotes"\nand lines'))
        parquet, csv = store.export(tmp_path / "out")
        want = store.rows()
    pd.testing.assert_frame_equal(pd.read_parquet(parquet), want, check_dtype=False)
    read = pd.read_csv(csv, keep_default_na=True)
    assert list(read["f1"])[0] == 1 / 3 and read["reason"][1] == want["reason"][1]


def test_other_files_are_refused_and_left_alone(tmp_path):
    path = tmp_path / FILENAME
    path.write_text("these are my notes, not a database at all\n" * 30)
    for write in (True, False):
        with pytest.raises(RunError, match="is not a run that can be read"):
            Store(path, write=write)
    assert path.read_text().startswith("these are my notes")
    path.unlink()

    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE songs (title TEXT)")
    other.close()
    for write in (True, False):
        with pytest.raises(RunError, match="is a database, but not a run"):
            Store(path, write=write)
    path.unlink()

    Store(path, write=True).close()
    with sqlite3.connect(path) as changed:
        changed.execute("PRAGMA user_version = 99")
    changed.close()
    with pytest.raises(RunError, match=f"schema version 99, this release reads {SCHEMA_VERSION}"):
        Store(path, write=True)


def test_reading_where_there_is_no_run(tmp_path):
    with pytest.raises(RunError, match="no run here"):
        Store(tmp_path / FILENAME, write=False)
    assert not list(tmp_path.iterdir())


def test_where_nobody_can_write_nothing_is_written_beside_the_run(tmp_path, monkeypatch):
    path = tmp_path / FILENAME
    with Store(path, write=True) as store:
        store.add(row())
    path.with_suffix(".lock").unlink()
    for unwritable in (path, path.parent):
        with monkeypatch.context() as patch:
            patch.setattr("eval.store._writable", lambda asked, unwritable=unwritable: asked != unwritable)
            with Store(path, write=False) as reader:
                assert len(reader.rows()) == 1 and list(tmp_path.iterdir()) == [path]
    # Rows that are still in the log of a writer are not missed.
    with Store(path, write=True) as store, monkeypatch.context() as patch:
        patch.setattr("eval.store._writable", lambda asked: False)
        store.add(row(replicate=1))
        with Store(path, write=False) as reader:
            assert len(reader.rows()) == 2


@pytest.mark.parametrize("name", ["run?mode=memory", "a b#c%20d", "\N{SNOWMAN}"])
def test_any_name_will_do_for_a_run_that_cannot_be_written(tmp_path, monkeypatch, name):
    (tmp_path / name).mkdir()
    path = tmp_path / name / FILENAME
    with Store(path, write=True) as store:
        store.add(row())
    monkeypatch.setattr("eval.store._writable", lambda asked: False)
    with Store(path, write=False) as reader:
        assert len(reader.rows()) == 1


def test_one_writer_and_readers_beside_it(tmp_path):
    path = tmp_path / FILENAME
    with Store(path, write=True) as store:
        store.add(row())
        with pytest.raises(RunError, match="another process is running here"):
            Store(path, write=True)
        code = f"from eval.store import Store; Store({str(path)!r}, write=True)"
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert "another process is running here" in other.stderr
        with Store(path, write=False) as reader:
            assert len(reader.rows()) == 1
            store.add(row(replicate=1))
            assert len(reader.rows()) == 2
    Store(path, write=True).close()


@pytest.mark.parametrize("content", ["{", "[]", '{"starts": 3}'])
def test_a_damaged_record_is_one_error(content, tmp_path):
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(RunError, match="run.json is damaged"):
        provenance.read(tmp_path)


def test_damaged_pages_are_one_error(tmp_path):
    path = tmp_path / FILENAME
    with Store(path, write=True) as store:
        for replicate in range(50):
            store.add(row(replicate=replicate))
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * len(content[4096:])
    path.write_bytes(content)
    with (
        pytest.raises(RunError, match="cannot be read|is not a run that can be read"),
        Store(path, write=False) as store,
    ):
        store.rows()
