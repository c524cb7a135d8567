"""The command line: what a person types, what is printed, what the exit code says."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

ARENA = [sys.executable, "-m", "arena.cli"]


def arena(*arguments, code=0, **environment):
    """Run the command; its standard output, after the exit code was checked."""
    env = {**os.environ, "ARENA_DATA": "", **environment}
    done = subprocess.run([*ARENA, *map(str, arguments)], capture_output=True, text=True, env=env)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout if code in (0, 3) else done.stderr


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("cli") / "run"
    arguments = ["run", "--suite", "mini", "--max-d", 5, "--limit", 2, "--replicates", 1, "--methods", "pc,gies",
                 "--jobs", 2, "--out", out]  # fmt: skip
    return out, arguments, arena(*arguments)


def test_help_names_every_command():
    text = arena("--help")
    assert all(name in text for name in ("demo", "generate", "run", "report", "methods", "schema", "audit"))


def test_run_prints_a_leaderboard(run):
    assert "synthetic / obs" in run[2] and "gies" in run[2] and "Cells without a score" in run[2]
    assert run[2].index("gies") < run[2].index("-- floors") < run[2].index("column_order")


def test_the_same_command_again_repeats_nothing(run):
    out, arguments, first = run
    before = (out / "run.sqlite").read_bytes()
    assert arena(*arguments) == first
    assert (out / "run.sqlite").read_bytes() == before


@pytest.mark.parametrize("form", ["table", "csv", "md", "latex", "json"])
def test_report_formats(run, form, tmp_path):
    text = arena("report", run[0], "--format", form, "--out", tmp_path, "--published", "--no-figures")
    assert ("Paper" if form == "table" else "F1, paper" if form in ("md", "latex") else "f1_paper") in text
    assert "gies" in text and (tmp_path / "report.html").stat().st_size > 5000
    if form == "json":
        board = json.loads(text)["leaderboard"]
        assert {line["method"] for line in board if not line["control"]} == {"pc", "gies"}


def test_generate_then_audit_then_run_a_folder(tmp_path):
    arena("generate", "--max-d", 5, "--limit", 1, "--replicates", 1, "--out", tmp_path / "pool")
    findings = json.loads(arena("audit", tmp_path / "pool", "--json"))
    assert findings and all(finding["ok"] for finding in findings)
    options = ["--methods", "random_regress", "--split", "obs", "--out", tmp_path / "run"]
    assert "random_regress" in arena("run", tmp_path / "pool", *options)


def test_a_failed_audit_says_which_rule_and_exits_3(tmp_path):
    arena("generate", "--max-d", 5, "--limit", 1, "--replicates", 1, "--out", tmp_path)
    table = next(tmp_path.rglob("obs.parquet"))
    table.write_bytes(table.read_bytes()[:-1] + b"x")
    assert "files" in arena("audit", tmp_path, code=3)


def test_written_scenarios_are_shown_and_audited(tmp_path):
    name, page = "barometric_reduction", tmp_path / "card.html"
    text = arena("show", f"formula:{name}", "--html", page)
    assert "SLP = p exp(g_eff z / (R_d T_v))" in text and "sea_level_pressure" in text
    assert "Barometric reduction to sea level" in page.read_text()
    checks = arena("audit", "--family", "formula", "--only", name, "--all")
    assert all(rule in checks for rule in ("units", "residual", "orientation", "signs", "others_stay"))
    assert "did you mean 'barometric_reduction'" in arena("show", "formula:barometric_reductio", code=1)
    assert "and not both" in arena("audit", code=1) and "and not both" in arena("audit", "x", "--family", "x", code=1)


def test_a_run_without_a_score_exits_3(tmp_path):
    options = ["--methods", "pc", "--split", "obs_int", "--max-d", 5, "--limit", 1, "--replicates", 1]
    assert "unsupported" in arena("run", "mini", *options, "--out", tmp_path / "run", code=3)


def test_methods_and_schema_are_json_for_programs():
    methods = {method["name"]: method for method in json.loads(arena("methods", "--json"))}
    assert {"random_regress", "pc", "gies", "lingam"} <= set(methods)
    assert methods["gies"]["status"] == "ready" and "obs_int" in methods["gies"]["capabilities"]["splits"]
    assert json.loads(arena("schema"))["title"] == "SCMSpec"
    assert "DirectLiNGAM" in arena("methods")


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["run", "minni", "--methods", "pc"], "did you mean 'mini'"),
        (["run", "mini", "--methods", "pcc"], "did you mean 'pc'"),
        (["run", "mini", "--methods", ""], "method"),
        (["run", "mini", "--methods", "pc", "--split", "both"], "unknown split 'both'"),
        (["run", "mini", "--methods", "pc", "--budget", "gies=60"], "a budget is given for 'gies', which is not run"),
        (["run", "mini", "--methods", "pc", "--executor", "slurm"], "unknown executor 'slurm'"),
        (["run", "--methods", "pc"], "say what to run on"),
        (["run", "mini", "--suite", "mini", "--methods", "pc"], "not both"),
        (["run", "real:sachs", "--methods", "pc"], "ARENA_DATA"),
        (["run", "real:saks", "--methods", "pc"], "did you mean"),
        (["generate", "--suite", "mian"], "did you mean 'mini'"),
    ],
)
def test_wrong_input_is_one_line_and_exits_1(arguments, words, tmp_path):
    message = arena(*arguments, "--out", tmp_path / "out", code=1)
    assert words in message and message.startswith("error: ") and message.count("\n") == 1
    assert not list(tmp_path.rglob("run.sqlite"))


def test_wrong_paths_exit_1(tmp_path):
    assert "run" in arena("report", tmp_path, code=1)
    assert "scenario" in arena("audit", tmp_path, code=1)


def test_places_that_cannot_be_written_exit_1(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    for command in (["generate", "--max-d", 5, "--limit", 1], ["run", "mini", "--methods", "pc", "--max-d", 5]):
        message = arena(*command, "--out", file / "below", code=1)
        assert str(file) in message and message.startswith("error: ") and message.count("\n") == 1


def test_a_report_makes_its_folder_and_names_it_as_typed(run, tmp_path):
    out = tmp_path / "new" / "[bold]" / "br[/x]"
    arena("report", run[0], "--out", out, "--no-figures")
    assert (out / "report.html").is_file()
    done = subprocess.run(
        [*ARENA, "report", str(run[0]), "--out", str(out), "--no-figures"], capture_output=True, text=True
    )
    assert str(out / "report.html") in done.stderr


def test_an_interrupt_says_how_to_go_on(tmp_path):
    command = [*ARENA, "run", "mini", "--methods", "gies,pc", "--out", str(tmp_path / "run")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    store = tmp_path / "run" / "run.sqlite"
    for _ in range(600):
        if store.exists() or process.poll() is not None:
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert "interrupted; the same command goes on from here" in told


def test_infinite_memory_is_refused(tmp_path):
    assert "finite" in arena("run", "mini", "--methods", "pc", "--memory", "inf", "--out", tmp_path / "x", code=1)


def test_wrong_options_exit_2():
    assert "--methdos" in arena("run", "mini", "--methdos", "pc", code=2)
    assert "jobs" in arena("run", "mini", "--methods", "pc", "--out", "x", "--jobs", 0, code=2)


def test_absent_public_sets_are_listed_with_their_source(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from arena import real
    from arena.cli import app
    from arena.dataset import Dataset
    from arena.tables import TableScenario

    values = np.random.default_rng(0).normal(size=(60, 3))
    table = TableScenario(Dataset(("a", "b", "c"), values, adjacency=np.eye(3, k=1)), id="real/here", family="real")
    monkeypatch.setattr(real, "load_all", lambda: ([table], {"real/gone": "its public source is elsewhere"}))
    for named in (["real"], ["--suite", "real"]):
        arguments = ["run", *named, "--methods", "random_regress", "--no-floors", "--out", str(tmp_path / "run")]
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, done.output
        assert "absent real/gone: its public source is elsewhere" in done.stderr and "real / obs" in done.stdout
