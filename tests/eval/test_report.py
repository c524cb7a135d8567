"""Reports: the same numbers in every format, nothing from elsewhere, nothing unescaped."""

import io
import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from toys import InlineWorker, ObsOnly, Toy, ToyScenario

from arena.errors import RunError
from eval.aggregate import TALLIES, VALUES
from eval.report import MISSING, best_cells, render_table, show, to_csv, to_json, to_md, write_html
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
    pd.testing.assert_frame_equal(csv, board, check_dtype=False, check_exact=True)

    content = json.loads(to_json(board, finished.failures()))
    assert len(content["leaderboard"]) == len(board) and len(content["failures"]) == len(finished.failures())
    for record, (_, row) in zip(content["leaderboard"], board.iterrows(), strict=True):
        for name in board.columns:
            assert record[name] == row[name] or (record[name] is None and np.isnan(row[name]))

    header, _, *lines = [re.split(r"(?<!\\)\|", line)[1:-1] for line in to_md(board).splitlines()]
    columns = [name for name in board.columns if name != "control"]
    assert len(header) == len(columns) and len(lines) == len(board)
    for cells, (_, row) in zip(lines, board.iterrows(), strict=True):
        for name, cell in zip(columns, cells, strict=True):
            assert cell.strip().strip("*").replace("\\|", "|") == show(name, row[name])


def test_floors_are_printed_last_and_never_best():
    floor = {"method": "empty", "control": True, "f1": 0.9, "shd": 1.0}
    lines = board({"method": "a", "f1": 0.5, "shd": 3.0}, {"method": "b", "f1": 0.4, "shd": 4.0}, floor)
    assert best_cells(lines)[2] == set() and {"f1", "shd"} <= best_cells(lines)[0]
    assert "| *empty* (floor) |" in to_md(lines)
    shown = printed(lines, lines.iloc[:0], 100)
    assert shown.index(" b ") < shown.index("floors: what artefacts alone score") < shown.index(" empty ")


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
    path = write_html(finished, tmp_path_factory.mktemp("html") / "report.html")
    text = path.read_text(encoding="utf-8")
    return text, Page(text)


def test_html_is_one_offline_file(page):
    text, parsed = page
    assert not re.search(r"https?://|url\(|@import|<link|<img|<iframe", text)
    assert not any(name in attrs for _, attrs in parsed.tags for name in ("src", "href"))


def test_html_escapes_everything(page):
    text, parsed = page
    assert [tag for tag, _ in parsed.tags].count("script") == 2  # the data and the code, both ours
    assert not {"i", "b"} & {tag for tag, _ in parsed.tags}
    assert "alert('x')</script>" not in text
    assert NASTY in parsed.texts["summary"]  # shown as it is
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
    assert tables == sum(tag == "caption" for tag, _ in parsed.tags) == 4
    assert all("scope" in attrs for tag, attrs in parsed.tags if tag == "th")
    assert ("html", {"lang": "en"}) in parsed.tags and "prefers-color-scheme: dark" in text
    sortable = [float(attrs["data-sort"]) for tag, attrs in parsed.tags if attrs.get("data-sort")]
    assert set(board["f1"].dropna()) <= set(sortable)


def test_html_filters_and_drill_down(finished, page):
    text, parsed = page
    filters = {attrs["data-filter"] for tag, attrs in parsed.tags if tag == "select"}
    assert filters == {"family", "split", "method"}
    data = next(found for found in parsed.texts["script"] if found.lstrip().startswith("{"))
    details = json.loads(data)
    rows = {(attrs["data-scenario"], attrs["data-split"]) for _, attrs in parsed.tags if "data-scenario" in attrs}
    # The page looks a row up by JSON.stringify of the pair.
    assert {tuple(json.loads(key)) for key in details} == rows and len(rows) == 6
    assert '["toy/b","obs"]' in details
    lines = {line[0]: line for line in details['["toy/b","obs"]']}
    assert set(lines) == {"toy", "obs_only", "empty", "<i>bad|one</i>"}
    done = finished.rows().query("scenario == 'toy/b' and split == 'obs' and method == 'toy'")
    assert lines["toy"][5:9] == [pytest.approx(done[name].mean()) for name in ("tp", "fp", "fn", "reversed")]
    assert lines["<i>bad|one</i>"][1:3] == ["failed", None]


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
    text = write_html(done, tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<td>toy</td>" in text and "<td>lucky</td>" not in text


def test_html_counts_what_all_starts_planned(tmp_path):
    def said(done):
        text = write_html(done, tmp_path / "page" / "r.html").read_text(encoding="utf-8")
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
        write_html(finished, tmp_path / "file" / "r.html")


def test_html_by_other_groups(finished, tmp_path):
    text = write_html(finished, tmp_path / "r.html", by=("dimension",)).read_text(encoding="utf-8")
    assert "Mean scores by dimension, split and method" in text


def test_rows_and_reports_agree_on_what_is_missing(finished):
    rows, lost = finished.rows(), finished.failures()
    assert lost["count"].sum() == (rows["status"] != "completed").sum()
    board = finished.leaderboard()
    assert board.query("family != 'all'")["missing"].sum() == lost["count"].sum()
