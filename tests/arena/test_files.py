import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from arena import files
from arena.dataset import Dataset
from arena.errors import DataError, SourceError
from arena.files import open_scenario, write_scenario

NAMES = ("a", "b", "c")
COLLIDER = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]])
ALL_FILES = [
    "manifest.json",
    "spec.json",
    "adjacency.csv",
    "replicate_0/obs.parquet",
    "replicate_0/obs_int.parquet",
    "replicate_0/obs_int_mask.parquet",
    "replicate_1/obs_int.parquet",
]


def pair(seed=0, n=20, names=NAMES, adjacency=COLLIDER):
    values = np.random.default_rng(seed).standard_normal((n, len(names))).astype(np.float32)
    mask = np.zeros(values.shape, bool)
    mask[-5:, 1] = True
    obs = Dataset(names, values, adjacency=adjacency)
    return {"obs": obs, "obs_int": Dataset(names, values + 1, mask, adjacency=adjacency)}


def write(path, **changes):
    arguments = {
        "id": "synthetic/collider-000",
        "family": "synthetic",
        "factors": {"dimension": 3, "difficulty": "clean"},
        "adjacency": COLLIDER,
        "names": NAMES,
        "spec_json": '{"nodes": []}',
        "replicates": [pair(0), pair(1)],
        "provenance": {"seeds": [1, 2], "target_pool": ["b"]},
    }
    return write_scenario(path, **{**arguments, **changes})


def rewrite(folder, name, data):
    """Replaces a file and records its new hash, as a damaged writer would have."""
    (folder / name).write_bytes(data)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest.pop("checksum")
    manifest["files"][name] = hashlib.sha256(data).hexdigest()
    (folder / "manifest.json").write_bytes(files._render(manifest))


def parquet(**columns):
    buffer = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue().to_pybytes()


def test_round_trip(tmp_path):
    scenario = open_scenario(write(tmp_path / "s"))
    assert (scenario.id, scenario.family) == ("synthetic/collider-000", "synthetic")
    assert scenario.factors == {"dimension": 3, "difficulty": "clean"}
    assert (scenario.splits, scenario.n_replicates()) == (("obs", "obs_int"), 2)
    assert scenario.spec_json() == '{"nodes": []}'
    assert scenario.manifest["provenance"]["seeds"] == [1, 2]
    assert scenario.manifest["rows"] == [{"obs": 20, "obs_int": 20}] * 2
    for replicate in (0, 1):
        for split, written in pair(replicate).items():
            read = scenario.load(split, replicate)
            assert read.values.dtype == np.float32
            np.testing.assert_array_equal(read.values, written.values)
            np.testing.assert_array_equal(read.mask, written.mask)
            np.testing.assert_array_equal(read.truth, COLLIDER)
            assert (read.names, read.split, read.name) == (NAMES, split, scenario.id)


name_lists = st.lists(st.text(min_size=0, max_size=6), min_size=1, max_size=5, unique=True)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), names=name_lists, dtype=st.sampled_from([np.float32, np.float64]))
def test_any_dataset_round_trips_bit_for_bit(data, names, dtype):
    d = len(names)
    shape = (data.draw(st.integers(1, 6)), d)
    elements = st.floats(allow_nan=False, allow_infinity=False, width=np.dtype(dtype).itemsize * 8)
    values = data.draw(hnp.arrays(dtype, shape, elements=elements))
    mask = data.draw(hnp.arrays(bool, shape))
    graph = np.triu(data.draw(hnp.arrays(bool, (d, d))), 1)
    with tempfile.TemporaryDirectory() as folder:
        path = write_scenario(
            Path(folder) / "s",
            id="table/x",
            family="table",
            factors={},
            adjacency=graph,
            names=names,
            spec_json=None,
            replicates=[{"obs_int": Dataset(tuple(names), values, mask, adjacency=graph)}],
            provenance={},
        )
        read = open_scenario(path).load("obs_int", 0)
    assert read.names == tuple(names)
    assert read.values.dtype == dtype
    assert read.values.tobytes() == values.tobytes()
    np.testing.assert_array_equal(read.mask, mask)
    np.testing.assert_array_equal(read.truth, graph)


def test_same_input_same_bytes(tmp_path):
    one, two = write(tmp_path / "one"), write(tmp_path / "two")
    for name in ALL_FILES:
        assert (one / name).read_bytes() == (two / name).read_bytes()


def test_content_hash_follows_values_and_graph(tmp_path):
    first = open_scenario(write(tmp_path / "1"))
    other_values = open_scenario(write(tmp_path / "2", replicates=[pair(5), pair(1)]))
    empty = np.zeros((3, 3), int)
    replicates = [pair(0, adjacency=empty), pair(1, adjacency=empty)]
    other_graph = open_scenario(write(tmp_path / "3", adjacency=empty, replicates=replicates))
    assert first.content_hash("obs", 0) != other_values.content_hash("obs", 0)
    assert first.content_hash("obs", 1) == other_values.content_hash("obs", 1)
    assert first.content_hash("obs", 1) != other_graph.content_hash("obs", 1)
    assert first.content_hash("obs", 1) != first.content_hash("obs_int", 1)


def read_everything(folder):
    scenario = open_scenario(folder)
    scenario.spec_json()
    for replicate in range(scenario.n_replicates()):
        for split in scenario.splits:
            scenario.load(split, replicate)


@pytest.mark.parametrize("name", ALL_FILES)
def test_a_flipped_bit_is_found_anywhere(tmp_path, name):
    file = write(tmp_path / "s") / name
    whole = file.read_bytes()
    for at in np.linspace(0, len(whole) - 1, 12).astype(int):
        damaged = bytearray(whole)
        damaged[at] ^= 1
        file.write_bytes(damaged)
        with pytest.raises(DataError, match=file.name):
            read_everything(tmp_path / "s")
    file.write_bytes(whole)
    read_everything(tmp_path / "s")


@pytest.mark.parametrize("name", ALL_FILES)
def test_a_missing_file_is_named(tmp_path, name):
    (write(tmp_path / "s") / name).unlink()
    with pytest.raises(DataError, match=f"{Path(name).name}.*No such file"):
        read_everything(tmp_path / "s")


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("obs.parquet", b"PAR1 but no more", ["not a readable Parquet file"]),
        ("obs.parquet", parquet(a=[1.0], b=[2.0]), ["has columns a, b", "the graph has a, b, c"]),
        ("obs.parquet", parquet(a=["x"], b=["y"], c=["z"]), ["columns are", "floating"]),
        ("obs.parquet", parquet(a=[np.inf], b=[1.0], c=[1.0]), ["'a'", "inf", "finite"]),
        (
            "obs_int_mask.parquet",
            parquet(a=[True], b=[True], c=[False]),
            ["(1, 3)", "(20, 3)", "must agree"],
        ),
        ("obs_int_mask.parquet", parquet(a=[True], x=[True], c=[False]), ["has columns a, x, c"]),
        ("obs_int_mask.parquet", parquet(a=[1.0], b=[0.0], c=[0.0]), ["float64", "bool"]),
    ],
)
def test_a_wrong_file_with_the_right_hash(tmp_path, name, data, words):
    folder = write(tmp_path / "s")
    rewrite(folder, f"replicate_0/{name}", data)
    with pytest.raises(DataError) as caught:
        read_everything(folder)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_a_truncated_parquet_with_the_right_hash(tmp_path):
    folder = write(tmp_path / "s")
    whole = (folder / "replicate_0/obs.parquet").read_bytes()
    rewrite(folder, "replicate_0/obs.parquet", whole[: len(whole) // 2])
    with pytest.raises(DataError, match="obs.parquet: is not a readable Parquet file"):
        read_everything(folder)


def test_columns_are_aligned_by_name(tmp_path):
    folder = write(tmp_path / "s")
    values = pair(0)["obs"].values
    shuffled = parquet(**{name: values[:, NAMES.index(name)] for name in ("c", "a", "b")})
    rewrite(folder, "replicate_0/obs.parquet", shuffled)
    np.testing.assert_array_equal(open_scenario(folder).load("obs", 0).values, values)


def test_unknown_schema_version(tmp_path):
    file = write(tmp_path / "s") / "manifest.json"
    file.write_text(file.read_text().replace('"schema_version": 1', '"schema_version": 7'))
    with pytest.raises(DataError, match="schema_version is 7; this version of arena reads 1"):
        open_scenario(tmp_path / "s")


def test_an_edited_manifest_is_refused(tmp_path):
    file = write(tmp_path / "s") / "manifest.json"
    file.write_text(file.read_text().replace("clean", "dirty"))
    with pytest.raises(DataError, match="damaged or was edited"):
        open_scenario(tmp_path / "s")


def test_not_a_scenario(tmp_path):
    with pytest.raises(DataError, match="not a scenario directory"):
        open_scenario(tmp_path)


def test_no_such_split_or_replicate(tmp_path):
    scenario = open_scenario(write(tmp_path / "s", replicates=[{"obs": pair()["obs"]}]))
    with pytest.raises(SourceError, match="no split 'obs_int'; it has obs"):
        scenario.load("obs_int", 0)
    with pytest.raises(SourceError, match="no replicate 1; replicates are 0 to 0"):
        scenario.load("obs", 1)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"replicates": []}, "no tables to write"),
        ({"replicates": [pair(0), {"obs": pair(0)["obs"]}]}, r"replicate 1 has splits \['obs'\]"),
        ({"names": ("a", "b", "x")}, "columns are .* expected"),
        ({"adjacency": np.zeros((3, 3))}, "graph differs"),
        ({"adjacency": np.ones((3, 3))}, "directed cycle"),
        ({"replicates": [{"obs": pair()["obs_int"]}]}, "'obs' has intervened rows"),
        ({"replicates": [pair(n=0)]}, "no rows"),
        ({"factors": {"x": object()}}, "JSON values"),
        ({"factors": {"x": float("nan")}}, "JSON values"),
    ],
)
def test_what_is_not_written(tmp_path, changes, words):
    with pytest.raises(DataError, match=words):
        write(tmp_path / "s", **changes)
    assert not list(tmp_path.iterdir())


def test_overwriting(tmp_path):
    write(tmp_path / "s")
    with pytest.raises(DataError, match="already there; pass overwrite=True"):
        write(tmp_path / "s")
    write(tmp_path / "s", replicates=[pair(9)], overwrite=True)
    assert open_scenario(tmp_path / "s").n_replicates() == 1
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


def test_never_removes_what_it_did_not_write(tmp_path):
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "thesis.tex").write_text("years of work")
    with pytest.raises(DataError, match="not a scenario directory"):
        write(tmp_path / "s", overwrite=True)
    assert (tmp_path / "s" / "thesis.tex").exists()


class Interrupted(Exception):
    pass


@pytest.mark.parametrize("existing", [False, True])
@pytest.mark.parametrize(("owner", "step"), [(Path, "write_bytes"), (os, "fsync"), (os, "rename")])
def test_an_exception_at_any_step_leaves_the_old_state(tmp_path, monkeypatch, existing, owner, step):
    original, left = getattr(owner, step), []

    def counted(*args):
        left[0] -= 1
        if left[0] == 0:
            raise Interrupted
        return original(*args)

    monkeypatch.setattr(owner, step, counted)
    left[:] = [-1]
    if existing:
        write(tmp_path / "s", replicates=[pair(9)])
    for fail_at in range(1, 20):
        left[:] = [fail_at]
        try:
            write(tmp_path / "s", overwrite=True)
        except Interrupted:
            assert [path.name for path in tmp_path.iterdir()] == (["s"] if existing else [])
            if existing:
                assert open_scenario(tmp_path / "s").n_replicates() == 1
        else:
            break
    assert fail_at > 1
    assert open_scenario(tmp_path / "s").n_replicates() == 2
    read_everything(tmp_path / "s")


KILLED_WRITE = """
import os, signal, sys
from pathlib import Path
sys.path[:0] = sys.argv[3:]
from test_files import write
import arena.files

module, name = {"write": (Path, "write_bytes"), "fsync": (os, "fsync"), "rename": (os, "rename")}[sys.argv[2]]
setattr(module, name, lambda *args: os.kill(os.getpid(), signal.SIGKILL))
write(Path(sys.argv[1]) / "s")
"""


@pytest.mark.parametrize("step", ["write", "fsync", "rename"])
def test_a_killed_write_leaves_nothing_that_reads_and_can_be_repeated(tmp_path, step):
    here = Path(__file__).parent
    process = subprocess.run([sys.executable, "-c", KILLED_WRITE, str(tmp_path), step, str(here), str(here.parents[1])])
    assert process.returncode == -signal.SIGKILL
    assert not (tmp_path / "s").exists()
    for left in tmp_path.iterdir():
        with pytest.raises(DataError, match="unfinished write"):
            open_scenario(left)
    write(tmp_path / "s")
    read_everything(tmp_path / "s")
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


def test_opens_without_arena(tmp_path):
    folder = write(tmp_path / "s")
    table = pq.read_table(folder / "replicate_0" / "obs.parquet")
    assert table.column_names == list(NAMES)
    assert table.schema.types == [pa.float32()] * 3
    assert (folder / "adjacency.csv").read_text() == ",a,b,c\na,0,0,1\nb,0,0,1\nc,0,0,0\n"
