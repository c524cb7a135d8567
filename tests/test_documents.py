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


@pytest.mark.parametrize("notebook", sorted((ROOT / "notebooks").glob("*.py")), ids=lambda path: path.stem)
def test_notebooks_run(notebook, capsys):
    runpy.run_path(str(notebook))
    assert capsys.readouterr().out


def test_commands_of_the_readme_exist():
    from arena.cli import app

    commands = {command.callback.__name__ for command in app.registered_commands}
    commands |= {group.typer_instance.info.name for group in app.registered_groups}
    named = set(re.findall(r"`arena (\w+)", (ROOT / "README.md").read_text()))
    assert named == commands
    targets = set(re.findall(r"^make (\w+)", (ROOT / "README.md").read_text(), re.MULTILINE))
    assert targets == {"demo", "test"} and all(f"\n{target}:" in (ROOT / "Makefile").read_text() for target in targets)
