"""What the README and the notebooks show is run."""

import re
import runpy
from pathlib import Path

import pytest

from mechanisms.base import REGISTRY

ROOT = Path(__file__).parents[1]


def test_python_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(blocks) == 3
    scope: dict = {"__name__": "__main__"}  # as in a script, so that workers get its classes by value
    try:
        for number, block in enumerate(blocks):
            exec(compile(block, f"README.md, block {number}", "exec"), scope)
    finally:  # the family that the README defines is not one of the package's
        REGISTRY["mechanism"].pop("saturating_hill", None)
    assert scope["data"].values.shape == (1000, 3) and scope["twin"].mask[:, 1].all()
    assert set(scope["board"]["method"]) == {"mine", "pc"}
    assert scope["hill"].values.shape == (100, 10)
    own = scope["randomised"]
    assert (own.rows()["status"] == "completed").all() and own.leaderboard()["f1"].max() > 0


NOTEBOOKS = {path.stem: path for path in sorted((ROOT / "notebooks").glob("*.py"))}
IN_JUPYTER = "mechanism_diagnostics"  # one is enough to see that they open there; a kernel takes its time


@pytest.mark.parametrize("name", sorted(set(NOTEBOOKS) - {IN_JUPYTER}))
def test_notebooks_run(name, capsys):
    runpy.run_path(str(NOTEBOOKS[name]), run_name="__main__")
    assert capsys.readouterr().out


def test_notebooks_open_in_jupyter(monkeypatch):
    jupytext, nbclient = pytest.importorskip("jupytext"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    for path in NOTEBOOKS.values():
        kinds = [cell.cell_type for cell in jupytext.read(path).cells]
        assert kinds.count("markdown") > 3 and kinds.count("code") > 3
    notebook = jupytext.read(NOTEBOOKS[IN_JUPYTER])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert sum("vegaEmbed" in output.get("data", {}).get("text/html", "") for output in shown) == 3
    assert not any(output.output_type == "error" for output in shown)


def test_commands_of_the_readme_exist():
    from arena.cli import app

    commands = {command.callback.__name__ for command in app.registered_commands}
    commands |= {group.typer_instance.info.name for group in app.registered_groups}
    named = set(re.findall(r"`arena (\w+)", (ROOT / "README.md").read_text()))
    assert named == commands
    targets = set(re.findall(r"^make (\w+)", (ROOT / "README.md").read_text(), re.MULTILINE))
    assert targets == {"demo", "test"} and all(f"\n{target}:" in (ROOT / "Makefile").read_text() for target in targets)
