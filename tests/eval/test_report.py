"""Reports: the same numbers in every format, nothing from elsewhere, nothing unescaped."""

import html
import io
import json
import re
import tempfile
import urllib.parse
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from toys import InlineWorker, ObsOnly, Toy, ToyScenario

from arena.errors import RunError
from eval.aggregate import TALLIES, VALUES
from eval.report import (
    MISSING,
    beside,
    best_cells,
    places,
    render_table,
    show,
    to_csv,
    to_json,
    to_latex,
    to_md,
    write_html,
)
from eval.report.graphs import pack, scenario_graphs, unpack
from eval.report.published import real_tables
from eval.report.slices import cut_boards, levels
from eval.run import Run
from eval.runner import run
from methods.base import Estimate
from methods.preflight import preflight

NASTY = "toy/<script>alert('x')</script> & \"[bold]\" </title> {{ 7*7 }} \N{LINE SEPARATOR}"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    scenarios = [
        ToyScenario(NASTY),
        ToyScenario("toy/b"),
        ToyScenario("other/c", family="other", replicates=1),
    ]
    methods = [Toy(), ObsOnly(), Toy(name="empty", mode="empty"), Toy(name="<i>bad|one</i>", mode="raise")]
    return run(scenarios, methods, out=tmp_path_factory.mktemp("runs") / "a & b", worker=InlineWorker)


def test_all_formats_hold_the_same_numbers(finished):
    board = finished.leaderboard()
    csv = pd.read_csv(io.StringIO(to_csv(board)))
    pd.testing.assert_frame_equal(csv[board.columns], board, check_dtype=False, check_exact=True)
    assert list(csv)[:7] == ["family", "split", "method", "f1", "f1_sd", "shd", "shd_sd"]

    content = json.loads(to_json(board, finished.failures()))
    assert content["schema_version"] == 1 and list(content["leaderboard"][0]) == list(csv)
    assert len(content["leaderboard"]) == len(board) and len(content["failures"]) == len(finished.failures())
    for record, (_, row) in zip(content["leaderboard"], board.iterrows(), strict=True):
        for name in board.columns:
            assert record[name] == row[name] or (record[name] is None and np.isnan(row[name]))

    header, _, *lines = [re.split(r"(?<!\\)\|", line)[1:-1] for line in to_md(board).splitlines()]
    columns = [name for name in csv.columns if name != "control"]
    assert len(header) == len(columns) and len(lines) == len(board)
    for cells, (_, row) in zip(lines, board.iterrows(), strict=True):
        for name, cell in zip(columns, cells, strict=True):
            assert html.unescape(cell.strip().strip("*").replace("\\|", "|")) == show(name, row[name])
    assert "<i>" not in to_md(board)


def test_floors_are_printed_last_and_never_best():
    floor = {"method": "empty", "control": True, "f1": 0.9, "shd": 1.0}
    lines = board({"method": "a", "f1": 0.5, "shd": 3.0}, {"method": "b", "f1": 0.4, "shd": 4.0}, floor)
    assert best_cells(lines)[2] == set() and {"f1", "shd"} <= best_cells(lines)[0]
    assert "| *empty* (floor) |" in to_md(lines)
    shown = printed(lines, lines.iloc[:0], 100)
    assert shown.index(" b ") < shown.index("-- floors") < shown.index(" empty ")
    assert "Floors: what artefacts alone score." in shown and "Floors:" not in printed(
        lines.iloc[:2], lines.iloc[:0], 100
    )
    for width in (40, 60, 80):
        assert "\N{HORIZONTAL ELLIPSIS}" not in printed(beside(lines), lines.iloc[:0], width)


def test_numbers_as_shown():
    assert show("f1", 0.48449) == "0.484" and show("shd", 123.649) == "123.6" and show("seconds", 0.01234) == "0.0123"
    assert show("f1", float("nan")) == show("sid", None) == MISSING
    assert show("n", 12) == "12" and show("method", "pc") == "pc"
    # As Python formats binary floats, like the published tables: 5/8 is 0.62.
    assert f"{5 / 8:.2f}" == "0.62"


def board(*lines):
    """A leaderboard of lines that differ from complete ones without values in what is given."""
    usual = {"family": "f", "split": "obs", "method": "m", "control": False, "complete": True}
    usual |= {"n": 2} | dict.fromkeys(TALLIES[1:], 0) | dict.fromkeys(VALUES, np.nan)
    return pd.DataFrame([usual | line for line in lines])


def test_best_cells_follow_the_direction_of_each_metric_and_share_ties():
    lines = [
        {"method": "a", "f1": 0.50004, "shd": 9.0, "f1_sd": 0.1},
        {"method": "b", "f1": 0.50001, "shd": 3.0, "f1_sd": 0.1},
        {"method": "c"},
        {"method": "a", "split": "obs_int", "f1": 0.2},
    ]
    assert best_cells(board(*lines)) == [{"f1"}, {"f1", "shd"}, set(), set()]


def test_only_means_over_the_same_tables_are_compared():
    lost = {"complete": False, "n": 1, "missing": 1}
    lines = [{"f1": 0.3}, {"f1": 0.2}, {"f1": 0.9, **lost}]
    assert best_cells(board(*lines)) == [{"f1"}, set(), set()]
    assert best_cells(board(lines[0], lines[2])) == [set(), set()], "nothing is left to be better than"
    for column, tally in (("sid", "sid_missing"), ("auroc", "auroc_missing"), ("ap", "auroc_missing")):
        values = [{column: 0.5}, {column: 0.5}, {column: 0.9, tally: 1}, {column: 0.1, tally: 1}]
        assert best_cells(board(*values)) == [{column}, {column}, set(), set()]


def test_terminal_table(finished):
    board, lost = finished.leaderboard(), finished.failures()
    console = Console(width=250, file=io.StringIO(), force_terminal=True, color_system="standard")
    console.print(render_table(board, lost, width=250))
    text = console.file.getvalue()
    assert "<i>bad|one</i>" in text and "no luck" in text and "split obs_int is not one" in text
    first = next(index for index, best in enumerate(best_cells(board)) if "f1" in best)
    assert f"\x1b[1m{show('f1', board['f1'][first])}" in text
    text = printed(board, lost.iloc[:0], 80)
    assert "without a score" not in text and "\N{HORIZONTAL ELLIPSIS}" not in text
    assert "F1" in text and "SHD" in text and "nSHD" not in text
    assert "rows 'all': means of the groups above, spreads included" in " ".join(text.split())


def printed(board, lost, width):
    console = Console(width=width, file=io.StringIO())
    console.print(render_table(board, lost, width=width))
    return console.file.getvalue()


@pytest.mark.parametrize("name", ["quick", "quick, but its name alone is sixty characters long at the least"])
@pytest.mark.parametrize("width", [26, 30, 40, 60, 120])
def test_how_much_a_line_stands_for_is_never_left_out_before_a_score(width, name):
    lines = [{"f1": 0.5, "f1_sd": 0.1, "shd": 5.0, "shd_sd": 1.0, "missing": i, "n": 123} for i in (0, 45)]
    text = printed(board(*({**line, "method": name} for line in lines)), pd.DataFrame(), width)
    heads, *shown = (line.split() for line in text.splitlines() if "Method" in line or "quick" in line)
    assert heads[:3] == ["Method", "n", "Lost"] and ("F1" in heads) == (width > 30 + len(name))
    assert [line[line.index("123") + 1] for line in shown] == ["0", "45"]


def test_means_over_fewer_tables_are_marked():
    lines = [{"method": "a", "sid": 4.0, "auroc": 0.5, "ap": 0.25, "f1": 0.75}, {"method": "b", "sid": 3.0, "f1": 0.5}]
    assert "*" not in printed(board(*lines), pd.DataFrame(), 100)
    lines[0] |= {"sid_missing": 1, "auroc_missing": 2}
    lines[1] |= {"sid_missing": 1}
    text = printed(board(*lines), pd.DataFrame(), 100)
    assert all(f" {value}* " in text for value in ("4.0", "0.500", "0.250", "3.0")) and "0.750*" not in text
    assert "* over fewer tables than were scored" in text and "\N{EN DASH}*" not in text


class Page(HTMLParser):
    """Collects what the tests ask about, and fails on tags that do not match."""

    VOID = frozenset({"meta", "link", "img", "br", "input", "hr"})

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.texts = [], [], {}
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)


@pytest.fixture(scope="module")
def page(finished, tmp_path_factory):
    path = write_html(finished, tmp_path_factory.mktemp("html") / "report.html", figures=False)
    text = path.read_text(encoding="utf-8")
    return text, Page(text)


def test_html_is_one_offline_file(page):
    text, parsed = page
    assert not re.search(r"https?://|url\(|@import|<link|<img|<iframe", text)
    assert not any("src" in attrs for _, attrs in parsed.tags)
    assert all(attrs["href"].startswith("#") for _, attrs in parsed.tags if "href" in attrs)


def test_html_escapes_everything(page):
    text, parsed = page
    assert [tag for tag, _ in parsed.tags].count("script") == 2  # the data and the code, both ours
    assert not {"i", "b"} & {tag for tag, _ in parsed.tags}
    assert "alert('x')</script>" not in text
    assert NASTY in parsed.texts["a"]  # shown as it is
    assert any("<i>bad|one</i>" in found for found in parsed.texts["th"])
    assert any("no luck <b>today</b>" in found for found in parsed.texts["td"])
    assert "CausalArena report: a & b" in parsed.texts["h1"]


def test_html_has_the_leaderboard_numbers_and_accessible_tables(finished, page):
    text, parsed = page
    board = finished.leaderboard()
    shown = parsed.texts["td"]
    for name in ("f1", "shd", "reachability_distance", "auroc"):
        for value in board[name].dropna():
            assert show(name, value) in shown
    tables = sum(tag == "table" for tag, _ in parsed.tags)
    assert tables == sum(tag == "caption" for tag, _ in parsed.tags) == 5
    assert all("scope" in attrs for tag, attrs in parsed.tags if tag == "th")
    assert ("html", {"lang": "en"}) in parsed.tags and "prefers-color-scheme: dark" in text
    sortable = [float(attrs["data-sort"]) for tag, attrs in parsed.tags if attrs.get("data-sort")]
    assert set(board["f1"].dropna()) <= set(sortable)


def embedded(parsed):
    """The numbers that the page draws on demand."""
    return json.loads(next(found for found in parsed.texts["script"] if found.lstrip().startswith("{")))


def test_html_filters_and_drill_down(finished, page):
    text, parsed = page
    filters = {attrs["data-filter"] for tag, attrs in parsed.tags if tag == "select" and "data-filter" in attrs}
    assert filters == {"family", "split", "method"}
    details = embedded(parsed)["details"]
    rows = {(attrs["data-scenario"], attrs["data-split"]) for _, attrs in parsed.tags if "data-scenario" in attrs}
    assert {(scenario, split) for scenario in details for split in details[scenario]} == rows and len(rows) == 6
    links = [urllib.parse.parse_qs(attrs["href"][1:]) for tag, attrs in parsed.tags if "=" in attrs.get("href", "")]
    assert {(link["scenario"][0], link["split"][0]) for link in links} == rows
    lines = {line[0]: line for line in details["toy/b"]["obs"]}
    assert set(lines) == {"toy", "obs_only", "empty", "<i>bad|one</i>"}
    done = finished.rows().query("scenario == 'toy/b' and split == 'obs' and method == 'toy'")
    assert lines["toy"][5:9] == [pytest.approx(done[name].mean()) for name in ("tp", "fp", "fn", "reversed")]
    assert lines["<i>bad|one</i>"][1:3] == ["failed", None]


def test_html_has_the_graphs_of_the_first_replicate(finished, page):
    found = embedded(page[1])["graphs"]["toy/b"]
    answer = finished.estimate("toy/b", "obs", 0, "toy")
    assert (unpack(found["truth"], found["d"]) == answer["truth"]).all() and answer["truth"].any()
    assert (unpack(found["found"]["obs"]["toy"][0], 4) == answer["adjacency"]).all() and answer["adjacency"].any()
    assert "obs_only" not in found["found"]["obs_int"] and found["found"]["obs"]["obs_only"][1] == 0
    assert found["names"] == ["x0", "x1", "x2", "x3"] and found["hashes"]["obs"] == "toy/b-obs-0-v1"


def test_graphs_are_left_out_where_they_would_take_too_much(finished):
    graphs, left_out = scenario_graphs(finished, finished.rows(), budget=0)
    assert len(graphs) == 1 and left_out == 2
    assert scenario_graphs(finished, finished.rows())[1] == 0


def test_every_graph_is_packed_as_it_is():
    rng = np.random.default_rng(0)
    for d in (1, 3, 8, 21):
        graph = rng.random((d, d)) < 0.3
        assert (unpack(pack(graph), d) == graph).all()


def test_slices_are_leaderboards_of_their_scenarios():
    scenarios = [ToyScenario(f"toy/{i}", d=3 + i % 2, replicates=1, splits=("obs",)) for i in range(4)]
    for i, scenario in enumerate(scenarios):
        scenario.factors = {"d": scenario.d, "mechanisms": ["a", "b"][: 1 + i // 2], "same": 1, "own": 0.5 * i}
    with tempfile.TemporaryDirectory() as folder:
        rows = run(scenarios, [Toy()], out=Path(folder), worker=InlineWorker).rows()
    found = levels(rows)
    assert found["d", "3"] == {"toy/0", "toy/2"} and found["mechanisms", "a"] == {f"toy/{i}" for i in range(4)}
    assert found["mechanisms", "b"] == {"toy/2", "toy/3"} and not any(factor == "same" for factor, _ in found)
    cut = next(cut for cut in cut_boards(rows, ["family"], ["n", "f1"]) if (cut["factor"], cut["level"]) == ("d", "3"))
    mean = rows[rows["scenario"].isin(["toy/0", "toy/2"])]["f1"].mean()
    assert cut["scenarios"] == 2 and cut["lines"][0] == [["toy", "obs", "toy"], 0, ["2", show("f1", mean)]]


def test_latex_has_the_numbers_of_the_board_and_nothing_that_tex_reads_as_its_own():
    lines = [{"method": r"a_b & 50%~^\{#}$", "f1": 0.5, "f1_sd": 0.25, "shd": 3.0}, {"f1": 0.75, "shd": 2.0},
             {"method": "c", "f1": 0.25, "shd": 9.0}, {"method": "floor", "control": True, "f1": 0.9}]  # fmt: skip
    text = to_latex(board(*lines))
    table = [line for line in text.splitlines() if line.endswith(r"\\") and "Family" not in line]
    assert r"a\_b \& 50\%\textasciitilde{}\textasciicircum{}\textbackslash{}\{\#\}\$" in table[0]
    assert r"\underline{0.500} $\pm$ 0.250" in table[0] and r"\underline{3.0}" in table[0]
    assert r"\textbf{0.750}" in table[1] and r"\textbf{2.0}" in table[1] and "textbf" not in table[0] + table[2]
    assert (
        r"\textit{floor} & 0.900 & --" in table[3] and table[0].startswith("f & obs") and table[1].startswith(" &  & m")
    )
    columns = re.search(r"\\begin{tabular}{([lr]+)}", text)[1]
    assert all(len(re.findall(r"(?<!\\)&", line)) == len(columns) - 1 for line in table)
    assert text.count(r"\toprule") == text.count(r"\midrule") == text.count(r"\bottomrule") == 1
    assert "seconds" not in text.lower() and "reduced" not in text.lower()
    assert "Reduced" in to_latex(board({"f1": 0.5, "reduced": 2}))


def test_second_places_are_those_of_the_next_printed_value():
    lines = board(
        {"f1": 0.5, "shd": 1.0}, {"f1": 0.50001, "shd": 2.0}, {"f1": 0.4, "shd": 2.0}, {"f1": 0.3, "shd": 3.0}
    )
    assert [line.get("f1") for line in places(lines)] == [1, 1, 2, None]
    assert [line.get("shd") for line in places(lines)] == [1, 2, 2, None]


def test_published_numbers_stand_beside_the_measured():
    lines = [{"family": "synthetic", "method": "pc", "f1": 0.5},
             {"family": "real", "method": "gies", "split": "obs_int"},
             {"family": "synthetic", "method": "empty"}, {"family": "all", "split": "avg", "method": "pc"}]  # fmt: skip
    both = beside(board(*lines))
    # Table 13 (synthetic, obs, PC); Table 15 (real, obs_int, GIES).
    assert both["f1_paper"].tolist()[:2] == [0.31, 0.29]
    assert both["f1_paper"].isna().tolist()[2:] == [True, True], "no floors there, and its average is of other families"
    families = [{"family": family, "split": split, "method": "gies"} for family in ("synthetic", "semantic", "formula")
                for split in ("obs", "obs_int")]  # fmt: skip
    whole = beside(board(*families, {"family": "all", "split": "avg", "method": "gies"}))
    assert whole["f1_paper"].tolist()[-1] == 0.51 and whole["shd_paper"].tolist()[-1] == 65.9  # Table 2, GIES, Avg
    assert list(pd.read_csv(io.StringIO(to_csv(both))))[3:9] == [
        "f1",
        "f1_sd",
        "f1_paper",
        "shd",
        "shd_sd",
        "shd_paper",
    ]
    assert "0.31" in to_md(both) and "F1, paper" in to_latex(both) and "Paper" in printed(both, pd.DataFrame(), 140)


def test_public_tables_stand_beside_table_17():
    names = {"scenario": ["real/sachs", "real/petshop_high_traffic", "real/sachs", "real/other"], "split": "obs"}
    rows = pd.DataFrame(names | {"method": ["pc", "gies", "mine", "pc"], "f1": 0.5, "shd": 9.0, "status": "completed"})
    found = {(line["scenario"], line["method"]) for line in real_tables(rows)}
    assert found == {("real/sachs", "pc"), ("real/petshop_high_traffic", "gies")}


def test_a_page_without_the_libraries_says_what_brings_them(finished, tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    text = write_html(finished, tmp_path / "r.html").read_text(encoding="utf-8")
    assert "pip install &#39;causal-arena[report]&#39;" in text and "Leaderboard" in text and "data-figure=" not in text


def test_the_best_of_a_scenario_has_every_replicate(tmp_path):
    class Lucky(Toy):
        """Right, where it answers at all: on the first table that it sees."""

        def fit(self, dataset, key):
            if dataset.values[0, 0] != first:
                raise RuntimeError("once only")
            return Estimate(truth)

    scenario = ToyScenario(splits=("obs",))
    table = preflight(scenario.load("obs", 0)).dataset
    first, truth = table.values[0, 0], scenario.load("obs", 0).truth
    done = run([scenario], [Lucky(name="lucky"), Toy()], out=tmp_path, worker=InlineWorker)
    text = write_html(done, tmp_path / "r.html", figures=False).read_text(encoding="utf-8")
    assert "<td>toy</td>" in text and "<td>lucky</td>" not in text


def test_html_counts_what_all_starts_planned(tmp_path):
    def said(done):
        text = write_html(done, tmp_path / "page" / "r.html", figures=False).read_text(encoding="utf-8")
        return re.search(r"(\d+) of (\d+) planned rows", text).groups()

    def stop(event):
        if event.done == 1:
            raise KeyboardInterrupt

    out = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        run([ToyScenario("toy/a")], [Toy(), ObsOnly()], out=out, worker=InlineWorker, progress=stop)  # 8 rows
    second = run([ToyScenario("toy/a", replicates=1), ToyScenario("toy/b")], [Toy()], out=out, worker=InlineWorker)
    assert said(second) == ("6", "6")
    assert said(Run.open(out)) == (str(len(Run.open(out).rows())), "12")  # 2 of the 6 were planned before


def test_a_page_that_cannot_be_written_is_one_line(finished, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot be written to .*choose another --out"):
        write_html(finished, tmp_path / "file" / "r.html", figures=False)


def test_html_by_other_groups(finished, tmp_path):
    text = write_html(finished, tmp_path / "r.html", by=("dimension",), figures=False).read_text(encoding="utf-8")
    assert "Mean scores by dimension, split and method" in text


def test_rows_and_reports_agree_on_what_is_missing(finished):
    rows, lost = finished.rows(), finished.failures()
    assert lost["count"].sum() == (rows["status"] != "completed").sum()
    board = finished.leaderboard()
    assert board.query("family != 'all'")["missing"].sum() == lost["count"].sum()
