import csv
import dataclasses
import os
from pathlib import Path

import numpy as np
import pooch
import pytest

from arena import real
from arena.errors import DataError, SourceError
from arena.real import catalog, download
from arena.tables import read_table, values_checksum

CD_CSG = ("abalone", "auto_mpg", "cardiac_arrhythmia", "concrete", "dwd", "ozone")
INTERVENTIONAL = (
    "sachs",
    "petshop_high_traffic",
    "petshop_low_traffic",
    "petshop_temporal_traffic1",
    "petshop_temporal_traffic2",
    "light_tunnel",
    "wind_tunnel",
)
# The published formats, cut short: blanks and tabs at line ends, a blank last line, CRLF.
CD_CSG_FILES = [
    "75\t190 \t80\t\t\r\n56\t165\t64\t\t\r\n13 169.5 51\r\n\t\t\t\r\n",
    "0 1 1\r\n0 0 0\r\n0 0 0\r\n",
]
SACHS_FILES = [
    "pkc\takt\tmek\n26.4000\t13.2000\t8.8200\n35.9000\t16.5000\t12.3000\n59.4000\t44.1000\t14.6000\n"
    "1.0000\t2.0000\t3.0000\n",
    "pkc\takt\tmek\tcd3_cd28\ticam2\taktinhib\tg0076\tu0126\tpma\n"
    "3.5\t3.1\t2.9\t1\t0\t0\t0\t0\t0\n3.8\t3.2\t3.1\t1\t1\t0\t0\t0\t0\n"
    "4.2\t3.9\t3.2\t1\t0\t1\t0\t0\t0\n1.1\t1.2\t1.3\t0\t0\t0\t0\t0\t1\n",
    "Graph Nodes:\npkc;akt;mek\n\nGraph Edges:\n1. mek --> akt\n2. pkc --> mek\n\n",
]
MINI_TARGETS = {"aktinhib": "akt", "g0076": "pkc", "u0126": "mek", "pma": "pkc"}


def copies():
    """A folder with the public tables, where the machine has one."""
    given = os.environ.get("ARENA_DATA")
    folder = Path(given) if given else Path(__file__).parents[2] / ".." / "shared" / "data" / "real"
    if not folder.is_dir():
        pytest.skip("no copies of the public tables; set ARENA_DATA to their folder")
    return folder


def mini(name, columns, edges):
    return dataclasses.replace(catalog.describe(name), columns=columns, d=len(columns), edges=edges, sha256=None)


@pytest.fixture
def cd_csg(monkeypatch):
    """A set in CD-CSG's format, as the whole catalogue."""
    public = mini("dwd", ("age", "height", "weight"), 2)
    monkeypatch.setattr(catalog, "_catalog", lambda: {"dwd": public})
    monkeypatch.delenv("ARENA_DATA", raising=False)
    return public


def serve(monkeypatch, public, contents):
    """Answers downloads from memory; returns the list of addresses asked for."""
    asked = []

    def retrieve(url, known_hash, fname, path):
        asked.append(url)
        Path(path).mkdir(parents=True, exist_ok=True)
        file = Path(path) / fname
        file.write_bytes(dict(zip(public.urls(), contents, strict=True))[url].encode())
        return str(file)

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    return asked


def unplug(monkeypatch):
    tries = []

    def retrieve(url, **_):
        tries.append(url)
        raise ConnectionError("name resolution failed")

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    return tries


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_the_thirteen_sets_and_their_published_sizes():
    assert [name for name in real.names() if real.describe(name).fill] == list(INTERVENTIONAL[1:5])
    assert real.names() == CD_CSG + INTERVENTIONAL
    # (variables, edges) implied by the paper's Table 17.
    sizes = [(8, 7), (4, 3), (4, 3), (9, 8), (5, 4), (4, 3), (11, 20), (39, 42)]
    sizes += [(41, 43)] * 3 + [(38, 57), (32, 42)]
    assert [(real.describe(name).d, real.describe(name).edges) for name in real.names()] == sizes


@pytest.mark.parametrize("name", CD_CSG + INTERVENTIONAL)
def test_every_set_says_where_it_is_from(name):
    public = real.describe(name)
    assert public.repository.startswith("https://github.com/")
    assert len(public.commit) == 40 and public.licence and public.citation and public.note
    assert len(public.columns) in (0, public.d)
    assert all(url.startswith("https://raw.githubusercontent.com/") and " " not in url for url in public.urls())
    assert download.fetchable(public) == (name in (*CD_CSG, "sachs"))


def test_unknown_name():
    with pytest.raises(SourceError, match="real:sach'.*did you mean 'sachs'.*abalone, auto_mpg"):
        real.load("sach")


def test_cd_csg_is_fetched_and_parsed(monkeypatch, cd_csg):
    asked = serve(monkeypatch, cd_csg, CD_CSG_FILES)
    scenario = real.load("dwd")
    data = scenario.load("obs")
    assert (scenario.id, scenario.family, scenario.splits) == ("real/dwd", "real", ("obs",))
    np.testing.assert_array_equal(data.values, [[75, 190, 80], [56, 165, 64], [13, 169.5, 51]])
    np.testing.assert_array_equal(data.truth, [[0, 1, 1], [0, 0, 0], [0, 0, 0]])
    assert asked == list(cd_csg.urls())
    assert "real-world%20data/dwd.txt" in asked[0]


def test_sachs_is_fetched_and_parsed(monkeypatch):
    public = mini("sachs", ("pkc", "akt", "mek"), 2)
    monkeypatch.setattr(catalog, "_catalog", lambda: {"sachs": public})
    monkeypatch.setattr(download, "SACHS_TARGETS", MINI_TARGETS)
    monkeypatch.delenv("ARENA_DATA", raising=False)
    serve(monkeypatch, public, SACHS_FILES)
    scenario = real.load("sachs")
    both = scenario.load("obs_int")
    np.testing.assert_array_equal(both.values[0], [26.4, 13.2, 8.82])
    np.testing.assert_array_equal(both.mask, [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 0, 0]])
    np.testing.assert_array_equal(both.truth, [[0, 0, 1], [0, 0, 0], [0, 1, 0]])
    assert scenario.load("obs").n == 2


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        (["404: Not Found", CD_CSG_FILES[1]], ["not a table of numbers", "remove"]),
        (["", CD_CSG_FILES[1]], ["is empty"]),
        (["1 2\n3 4\n", CD_CSG_FILES[1]], ["2 columns, expected 3"]),
        (["1 2 3\n4 5\n", CD_CSG_FILES[1]], ["rows of one length"]),
        ([CD_CSG_FILES[0], "0 1 0\n1 0 0\n0 0 0\n"], ["cycle"]),
        ([CD_CSG_FILES[0], "0 1 0\n0 0 0\n0 0 0\n"], ["1 edges", "published set 3 and 2"]),
    ],
)
def test_a_download_in_another_format(monkeypatch, cd_csg, contents, words):
    serve(monkeypatch, cd_csg, contents)
    with pytest.raises(DataError) as caught:
        real.load("dwd")
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.parametrize(
    ("index", "old", "new", "words"),
    [
        (1, "aktinhib", "other", "'aktinhib' is not among"),
        (1, "1.1\t1.2\t1.3\t0\t0\t0\t0\t0\t1\n", "", "has 3 rows, sachs.2005.continuous.txt 4"),
        (2, "mek --> akt", "mek --- akt", "not directed"),
        (2, "mek --> akt", "mek --> erk", "'erk' is not among"),
        (2, "-->", "->", "not directed"),
    ],
)
def test_sachs_in_another_format(monkeypatch, tmp_path, index, old, new, words):
    monkeypatch.setattr(download, "SACHS_TARGETS", MINI_TARGETS)
    contents = list(SACHS_FILES)
    contents[index] = contents[index].replace(old, new)
    files = [tmp_path / Path(path).name for path in catalog.describe("sachs").paths]
    for file, text in zip(files, contents, strict=True):
        file.write_text(text)
    with pytest.raises(DataError, match=words):
        download.parse_sachs(catalog.describe("sachs"), files)


def test_offline_and_absent_says_what_would_help(monkeypatch, tmp_path):
    unplug(monkeypatch)
    monkeypatch.setenv("ARENA_DATA", str(tmp_path))
    with pytest.raises(SourceError) as caught:
        real.load("sachs")
    for word in [
        "ARENA_DATA",
        str(tmp_path / "sachs"),
        "https://github.com/cmu-phil/example-causal-datasets",
        "a23adc349a23fc34d258193b45c60522ca6355b4",
        "https://raw.githubusercontent.com/cmu-phil/example-causal-datasets/",
        "cannot be reached",
        "data.csv",
    ]:
        assert word in str(caught.value)


@pytest.mark.parametrize("name", ["light_tunnel", "wind_tunnel", "petshop_low_traffic"])
def test_sets_that_cannot_be_fetched(monkeypatch, name):
    tries = unplug(monkeypatch)
    monkeypatch.delenv("ARENA_DATA", raising=False)
    with pytest.raises(SourceError) as caught:
        real.load(name)
    for word in ["ARENA_DATA is not set", "cannot read by itself", real.describe(name).commit]:
        assert word in str(caught.value)
    assert not tries


def test_without_network_all_is_absent_after_one_try(monkeypatch):
    tries = unplug(monkeypatch)
    monkeypatch.delenv("ARENA_DATA", raising=False)
    found, absent = real.load_all()
    assert not found
    assert list(absent) == [f"real/{name}" for name in real.names()]
    assert len(tries) == 1


def test_a_local_copy_is_preferred_and_checked(monkeypatch, tmp_path, cd_csg):
    tries = unplug(monkeypatch)
    monkeypatch.setenv("ARENA_DATA", str(tmp_path))
    folder = tmp_path / "dwd"
    folder.mkdir()
    # Columns in another order than recorded: put right by name.
    (folder / "data.csv").write_text("weight,age,height\n80,75,190\n64,56,165\n51,13,169.5\n")
    (folder / "graph.csv").write_text(",age,height,weight\nage,0,1,1\nheight,0,0,0\nweight,0,0,0\n")
    recorded = values_checksum(read_table(folder).select(cd_csg.columns))
    public = dataclasses.replace(cd_csg, sha256=recorded)
    monkeypatch.setattr(catalog, "_catalog", lambda: {"dwd": public})
    assert real.load("dwd").load("obs").names == ("age", "height", "weight")

    (folder / "data.csv").write_text("weight,age,height\n80,75,190\n64,56,165\n51,13,169.6\n")
    found = values_checksum(read_table(folder).select(cd_csg.columns))
    with pytest.raises(DataError, match=f"not the published table.*{found}.*{recorded}"):
        real.load("dwd")
    assert not tries


@pytest.mark.parametrize("name", [*CD_CSG, "sachs", "light_tunnel"])
def test_real_copy_has_the_recorded_checksum(monkeypatch, name):
    monkeypatch.setenv("ARENA_DATA", str(copies()))
    scenario = real.load(name, online=False)
    rows = {"sachs": (1755, 7466), "light_tunnel": (10000, 30000)}
    assert scenario.splits == (("obs", "obs_int") if name in rows else ("obs",))
    if name in rows:
        assert tuple(scenario.load(split).n for split in scenario.splits) == rows[name]


@pytest.mark.parametrize(("name", "gaps"), [("petshop_high_traffic", 3007), ("petshop_low_traffic", 5568)])
def test_missing_cells_are_filled_by_the_rule_of_the_source(monkeypatch, name, gaps):
    if not (copies() / name / "data.csv").exists():
        pytest.skip("no copy of the PetShop tables")
    with pytest.raises(DataError, match=f"{gaps} of .* cells are missing"):
        read_table(copies() / name)
    monkeypatch.setenv("ARENA_DATA", str(copies()))
    scenario = real.load(name, online=False)
    assert scenario.splits == ("obs", "obs_int")
    table = scenario.load("obs_int")
    assert (scenario.load("obs").n, table.n) == (589, 719)
    with (copies() / name / "data_imputed.csv").open() as file:  # the same by another hand
        wanted = [[float(row[column]) for column in table.names] for row in csv.DictReader(file)]
    np.testing.assert_allclose(table.values, wanted, rtol=1e-15)


@pytest.mark.parametrize("name", CD_CSG)
def test_original_cd_csg_format_gives_the_recorded_checksum(monkeypatch, name):
    local = read_table(copies() / name)
    rows = ["\t".join(f"{x!r} " for x in row) for row in local.values.tolist()]
    graph = [" ".join(map(str, row)) for row in local.truth.tolist()]
    serve(monkeypatch, real.describe(name), ["\r\n".join(rows), "\r\n".join(graph)])
    monkeypatch.delenv("ARENA_DATA", raising=False)
    assert real.load(name).load("obs").n == local.n


def test_original_sachs_format_gives_the_recorded_checksum(monkeypatch):
    folder = copies() / "sachs"
    local = read_table(folder)
    with (folder / "environments.csv").open() as file:
        conditions = [row["condition"].split("+") for row in csv.DictReader(file)]
    columns = ["cd3_cd28", "icam2", *download.SACHS_TARGETS]
    data = ["\t".join(local.names), *("\t".join(f"{x:.4f}" for x in row) for row in local.values.tolist())]
    mixed = ["\t".join([*local.names, *columns])]
    for row, condition in zip(np.log(local.values + 10).tolist(), conditions, strict=True):
        flags = [str(int(column in condition)) for column in columns]
        mixed.append("\t".join([*(f"{x:.4f}" for x in row), *flags]))
    edges = [
        f"{k}. {local.names[i]} --> {local.names[j]}" for k, (i, j) in enumerate(np.argwhere(local.truth), start=1)
    ]
    graph = ["Graph Nodes:", ";".join(local.names), "", "Graph Edges:", *edges, "", ""]
    serve(monkeypatch, real.describe("sachs"), ["\n".join(lines) for lines in (data, mixed, graph)])
    monkeypatch.delenv("ARENA_DATA", raising=False)
    assert real.load("sachs").load("obs_int").n == 7466
