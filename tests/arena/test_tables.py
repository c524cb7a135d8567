import gzip
import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from arena.errors import DataError, SourceError
from arena.tables import TableScenario, open_table, read_table, table_files, values_checksum

DATA = "a,b,c\n1,2.5,3\n4,5,-6e-3\n7,8,9\n"
GRAPH = ",a,b,c\na,0,0,1\nb,0,0,1\nc,0,0,0\n"
TARGETS = "a,b,c\n0,0,0\n0,0,0\n0,1,0\n"
COLLIDER = [[0, 0, 1], [0, 0, 1], [0, 0, 0]]


def folder(path, data=DATA, graph=GRAPH, targets=None, meta=None):
    path.mkdir(exist_ok=True)
    files = {"data.csv": data, "graph.csv": graph, "targets.csv": targets, "meta.json": meta}
    for name, text in files.items():
        if text is not None:
            (path / name).write_text(text)
    return path


def test_reads_values_graph_and_targets(tmp_path):
    data = read_table(folder(tmp_path / "t", targets=TARGETS))
    assert (data.name, data.names, data.split) == ("t", ("a", "b", "c"), "obs_int")
    np.testing.assert_array_equal(data.values, [[1, 2.5, 3], [4, 5, -6e-3], [7, 8, 9]])
    np.testing.assert_array_equal(data.mask, [[0, 0, 0], [0, 0, 0], [0, 1, 0]])
    # a -> c <- b: would fail if rows and columns of the graph were swapped.
    np.testing.assert_array_equal(data.truth, COLLIDER)
    assert data.values.dtype == np.float64


def test_files_are_aligned_by_name(tmp_path):
    graph = ",c,a,b\nb,1,0,0\nc,0,0,0\na,1,0,0\n"
    targets = "b,c,a\n0,0,0\n0,0,0\n1,0,0\n"
    shuffled = read_table(folder(tmp_path / "1", graph=graph, targets=targets))
    plain = read_table(folder(tmp_path / "2", targets=TARGETS))
    assert values_checksum(shuffled) == values_checksum(plain)


def test_gzip_crlf_byte_order_mark_and_named_files(tmp_path):
    path = folder(tmp_path / "t", data=None, meta=json.dumps({"files": {"data": "m.csv.gz (as measured)"}}))
    (path / "m.csv.gz").write_bytes(gzip.compress(b"\xef\xbb\xbf" + DATA.replace("\n", "\r\n").encode()))
    plain = read_table(folder(tmp_path / "2"))
    np.testing.assert_array_equal(read_table(path).values, plain.values)
    assert table_files(path).keys() == {"data", "graph"}


def test_splits(tmp_path):
    scenario = open_table(folder(tmp_path / "t", targets=TARGETS))
    assert (scenario.id, scenario.family, scenario.factors) == ("table/t", "table", {"dimension": 3})
    assert (scenario.splits, scenario.n_replicates()) == (("obs", "obs_int"), 1)
    obs, both = scenario.load("obs", 0), scenario.load("obs_int", 0)
    assert (obs.n, obs.split, obs.name) == (2, "obs", "table/t")
    assert (both.n, both.split) == (3, "obs_int")
    np.testing.assert_array_equal(obs.values, both.values[:2])
    assert scenario.content_hash("obs", 0) != scenario.content_hash("obs_int", 0)


@pytest.mark.parametrize(
    ("targets", "splits"),
    [
        (None, ("obs",)),
        ("a,b,c\n0,0,0\n0,0,0\n0,0,0\n", ("obs",)),
        ("a,b,c\n1,0,0\n1,0,0\n0,1,1\n", ("obs_int",)),
    ],
)
def test_splits_that_would_be_empty_do_not_exist(tmp_path, targets, splits):
    assert open_table(folder(tmp_path / "t", targets=targets)).splits == splits


def test_no_such_split_or_replicate(tmp_path):
    scenario = open_table(folder(tmp_path / "t"))
    with pytest.raises(SourceError, match="table/t has no split 'obs_int'; it has obs"):
        scenario.load("obs_int", 0)
    with pytest.raises(SourceError, match="no replicate 1"):
        scenario.load("obs", 1)


def test_constant_columns_are_refused_unless_permitted(tmp_path):
    constant = "a,b,c\n1,2,3\n4,2,3\n7,2,9\n"
    path = folder(tmp_path / "t", data=constant)
    with pytest.raises(DataError, match="data.csv: constant over all rows: column 'b'"):
        read_table(path)
    assert read_table(path, allow_constant=True).n == 3
    assert read_table(folder(path, data=constant, meta='{"allow_constant": true}')).n == 3


def test_a_column_may_be_constant_among_observational_rows(tmp_path):
    path = folder(tmp_path / "t", data="a,b,c\n1,2,3\n4,2,5\n7,8,9\n", targets=TARGETS)
    assert np.ptp(open_table(path).load("obs", 0).values[:, 1]) == 0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"data": None}, ["no such file as data.csv or data.csv.gz"]),
        ({"graph": None}, ["no such file as graph.csv or graph.csv.gz"]),
        ({"data": None, "meta": '{"missing": "all rows"}'}, ["meta.json says what is missing: all rows"]),
        ({"data": ""}, ["data.csv", "is empty", "header"]),
        ({"data": "a,b,c\n"}, ["data.csv", "no rows"]),
        ({"data": "a,b,a\n1,2,3\n"}, ["data.csv", "column 'a'", "more than once"]),
        ({"data": ",a,b,c\n0,1,2,3\n"}, ["data.csv", "column 1", "row index"]),
        ({"data": "a,b,c\n1,,3\n4,5,\n"}, ["data.csv", "2 of 6 cells are missing", "column 'b', line 2"]),
        ({"data": "a,b,c\n1,2,3\n4,NaN,6\n"}, ["1 of 6 cells are missing", "column 'b', line 3"]),
        ({"data": "a,b,c\n1,2,3\n4,five,6\n"}, ["column 'b', line 3 is 'five'", "numbers"]),
        ({"data": "a,b,c\n1,2,3\n4,True,6\n"}, ["column 'b', line 3 is 'True'"]),
        ({"data": "a,b,c\n1,2,3\n4,5\n"}, ["line 3 has 2 cells, the header 3"]),
        ({"data": "a,b,c\n1,2,3,4\n"}, ["line 2 has 4 cells, the header 3"]),
        ({"data": "a,b,c\n1,2,3\n4,inf,6\n"}, ["'b'", "row 1", "inf", "finite"]),
        ({"graph": ""}, ["graph.csv", "is empty"]),
        ({"graph": ",a,b,c\na,0,0,1\nb,0,0,1\n"}, ["graph.csv", "2 rows and 3 columns", "square"]),
        ({"graph": ",a,b,c\na,0,0,1\nb,0,0\nc,0,0,0\n"}, ["row 'b' has 2 entries", "3 names"]),
        ({"graph": ",a,b,c\na,0,0,1\nb,0,0,2\nc,0,0,0\n"}, ["row 'b', column 'c' is '2'", "0 or 1"]),
        ({"graph": ",a,b,c\na,0,0,1\nb,0,0,\nc,0,0,0\n"}, ["row 'b', column 'c' is ''", "0 or 1"]),
        ({"graph": ",a,b,c\na,0,0,1\nb,0,0,1\nc,1,0,0\n"}, ["graph.csv", "cycle", "c -> a -> c"]),
        ({"graph": "a,b,c\n0,0,1\n0,0,1\n0,0,0\n"}, ["row '0'", "more than once"]),
        ({"graph": ",a,b,c\nA,0,0,1\nb,0,0,1\nc,0,0,0\n"}, ["row 'A' is not among the columns"]),
        ({"graph": ",a,a,c\na,0,0,1\nb,0,0,1\nc,0,0,0\n"}, ["column 'a'", "more than once"]),
        ({"graph": ",a,b\na,0,1\nb,0,0\n"}, ["graph.csv", "lacks variable 'c' of data.csv"]),
        (
            {"data": "alpha,b\n1,2\n3,4\n", "graph": ",alpah,b\nalpah,0,1\nb,0,0\n"},
            ["variable 'alpah' is not in data.csv", "did you mean 'alpha'?"],
        ),
        ({"targets": "a,b,c\n0,0,1\n"}, ["targets.csv", "1 rows, data.csv 3", "shape"]),
        ({"targets": "a,b\n0,0\n0,0\n0,0\n"}, ["targets.csv", "lacks variable 'c'"]),
        ({"targets": "a,b,d\n0,0,0\n0,0,0\n0,0,0\n"}, ["targets.csv", "'d' is not in data.csv"]),
        ({"targets": "a,b,c\n0,0,0\n0,2,0\n0,0,0\n"}, ["targets.csv", "column 'b', line 3 is 2", "0 or 1"]),
        ({"meta": "{"}, ["meta.json", "not JSON"]),
        ({"meta": "[]"}, ["meta.json", "JSON object"]),
        ({"meta": '{"files": {"data": "x.csv"}}'}, ["meta.json", "names 'x.csv'", "no such file"]),
    ],
)
def test_what_cannot_be_read(tmp_path, changes, words):
    with pytest.raises(DataError) as caught:
        read_table(folder(tmp_path / "t", **changes))
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_no_such_folder(tmp_path):
    with pytest.raises(DataError, match="no such folder; expected one with data.csv and graph.csv"):
        read_table(tmp_path / "t")


def test_bytes_that_are_not_text_and_a_cut_archive(tmp_path):
    path = folder(tmp_path / "t", data=None)
    (path / "data.csv").write_bytes(b"a,b,c\n1,2,\xff\n")
    with pytest.raises(DataError, match="data.csv: is not UTF-8"):
        read_table(path)
    (path / "data.csv").unlink()
    (path / "data.csv.gz").write_bytes(gzip.compress(DATA.encode())[:-9])
    with pytest.raises(DataError, match="data.csv.gz: cannot be read"):
        read_table(path)


@settings(max_examples=40, deadline=None)
@given(hnp.arrays(np.float64, (3, 3), elements=st.floats(allow_nan=False, allow_infinity=False)))
def test_numbers_are_read_exactly(values):
    text = "a,b,c\n" + "".join(",".join(repr(float(x)) for x in row) + "\n" for row in values)
    with tempfile.TemporaryDirectory() as path:
        read = read_table(folder(Path(path) / "t", data=text), allow_constant=True)
    assert read.values.tobytes() == values.tobytes()


def test_checksum_is_of_the_meaning(tmp_path):
    base = read_table(folder(tmp_path / "1"))
    respelt = DATA.replace("2.5", "25e-1").replace("4", "4.000")
    assert values_checksum(read_table(folder(tmp_path / "2", data=respelt))) == values_checksum(base)
    changed = [
        {"data": DATA.replace("2.5", "2.5000000000000004")},
        {"data": DATA.replace("a,", "A,"), "graph": GRAPH.replace("a,", "A,")},
        {"graph": GRAPH.replace("b,0,0,1", "b,0,0,0")},
        {"targets": TARGETS},
    ]
    sums = {values_checksum(read_table(folder(tmp_path / f"c{i}", **c))) for i, c in enumerate(changed)}
    assert len(sums - {values_checksum(base)}) == len(changed)


def test_scenario_of_a_dataset(tmp_path):
    scenario = TableScenario(read_table(folder(tmp_path / "t")), id="real/t", family="real")
    assert (scenario.load("obs").name, scenario.family) == ("real/t", "real")


def test_missing_cells_are_filled_on_request(tmp_path):
    (tmp_path / "data.csv").write_text("a,b\n1,2\n,4\n4,9\n6,\n")
    (tmp_path / "graph.csv").write_text(",a,b\na,0,1\nb,0,0\n")
    (tmp_path / "targets.csv").write_text("a,b\n0,0\n0,0\n0,0\n1,0\n")
    with pytest.raises(DataError, match="2 of 8 cells are missing"):
        read_table(tmp_path)
    # Means of the first three rows, which nothing was done to.
    np.testing.assert_array_equal(read_table(tmp_path, fill=True).values, [[1, 2], [2.5, 4], [4, 9], [6, 5]])
    (tmp_path / "data.csv").write_text("a,b\n1,\n2,\n4,\n6,3\n")
    with pytest.raises(DataError, match="column 'b' has no value in any row without intervention"):
        read_table(tmp_path, fill=True)
