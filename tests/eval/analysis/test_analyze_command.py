"""`arena analyze`: every format, several analyses, options, and one clear line when something is wrong."""

import io
import json

import pandas as pd
import pytest
from analysis_rows import edges, store_run
from typer.testing import CliRunner

from arena.cli import app
from arena.errors import RunError
from eval.analysis import ANALYSES
from eval.analysis.render import parse_options, to_md


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("analyze")
    truth, empty = edges(3, (0, 1), (1, 2)), edges(3)
    node = {"root": None, "mechanism": "linear_additive", "noise": "gaussian"}
    nodes = [
        {"mechanism": None, "noise": None, "root": "gaussian", "depth": 0},
        {**node, "depth": 1},
        {**node, "depth": 2},
    ]
    sign = [[None] * 3 for _ in range(3)]
    scenarios = {
        f"s{i}": ({"names": ["x", "y", "z"], "nodes": nodes, "sign": sign,
                   "factors": {"graph_family": graph, "mechanisms": ["linear_additive"]}}, truth)
        for i, graph in enumerate(["chain", "tree"])
    }  # fmt: skip
    found = {}
    for name, second in (("before", empty), ("after", truth)):
        answers = {("s0", "pc", 0): truth, ("s1", "pc", 0): second, ("s0", "random_regress", 0): empty,
                   ("s1", "random_regress", 0): truth}  # fmt: skip
        found[name] = store_run(folder / name, scenarios, answers).path
    return found


def arena(*arguments, code=0):
    done = CliRunner().invoke(app, ["analyze", *map(str, arguments)])
    if code:
        assert isinstance(done.exception, RunError), done.output  # `arena.cli.main` makes one line of it
        return str(done.exception)
    assert done.exit_code == 0, (done.output, done.exception)
    return done.output


def test_without_a_name_the_analyses_are_listed(runs):
    text = arena(runs["before"])
    assert all(name in text and analysis.source in text for name, analysis in ANALYSES.items())


def test_formats_say_the_same(runs):
    csv = pd.read_csv(io.StringIO(arena(runs["before"], "--what", "planes", "--format", "csv")))
    records = json.loads(arena(runs["before"], "--what", "planes", "--format", "json"))["planes"]
    assert csv.to_dict("records")[0] == pytest.approx(records[0], nan_ok=True)
    assert csv.set_index("method").loc["pc", "f1"] == 0.5
    markdown = arena(runs["before"], "--what", "planes", "--format", "md")
    assert markdown.startswith("## planes: ") and "| synthetic | obs | pc | 0 | 0.500 |" in markdown
    assert "planes: " in arena(runs["before"], "--what", "planes") and "0.500" in arena(
        runs["before"], "--what", "planes"
    )


def test_several_at_once_and_their_options(runs):
    found = json.loads(
        arena(runs["before"], "--what", "slices, elo,errors", "--set", "factor=graph_family", "--set", "rounds=3",
              "--format", "json")
    )  # fmt: skip
    assert set(found) == {"slices", "elo", "errors"}
    assert {line["factor"] for line in found["slices"]} == {"graph_family"}


def test_deltas_go_from_one_run_to_the_other(runs):
    text = arena(runs["before"], "--what", "deltas", "--other", runs["after"], "--format", "json")
    pc = {line["method"]: line for line in json.loads(text)["deltas"]}["pc"]
    assert (pc["f1_before"], pc["f1_after"], pc["delta"]) == (0.5, 1.0, 0.5)


def test_all_leaves_out_what_the_run_cannot_have(runs):
    found = json.loads(CliRunner().invoke(app, ["analyze", str(runs["before"]), "--what", "all", "--set", "rounds=3",
                                                "--format", "json"]).stdout)  # fmt: skip
    assert {"summary", "planes", "wins", "slices", "interactions", "coverage", "elo", "ranks", "errors"} <= set(found)
    assert not {"deltas", "protocols", "sample_size", "domains", "ood"} & set(found)


def test_wrong_input_is_one_clear_line(runs, tmp_path):
    assert "no analysis 'slice'" in arena(runs["before"], "--what", "slice", code=1)
    assert "formats are table, csv, md, json" in arena(runs["before"], "--format", "xml", code=1)
    assert "a CSV holds one table" in arena(runs["before"], "--what", "planes,wins", "--format", "csv", code=1)
    assert "needs the option 'other'" in arena(runs["before"], "--what", "deltas", code=1)
    assert "no analysis in 'planes' has the option 'split'" in arena(
        runs["before"], "--what", "planes", "--set", "split=obs", code=1
    )
    assert "is not NAME=VALUE" in arena(runs["before"], "--what", "planes", "--set", "rounds", code=1)
    assert "no run here" in arena(tmp_path, "--what", "planes", code=1)
    assert "--what names no analysis" in arena(runs["before"], "--what", ",", code=1)


def test_values_of_options_are_json_or_text():
    text = ["rounds=20", "impute=worst", 'impute={"pc": 0}', "pooled=true", 'factor=["d", "n"]']
    assert [*map(lambda one: parse_options([one]).popitem()[1], text)] == [20, "worst", {"pc": 0}, True, ["d", "n"]]


def test_markdown_escapes_bars():
    assert "a\\|b" in to_md({"x": ("title", pd.DataFrame({"groups": ["a|b"]}))})
