"""Imports point one way, and importing the package is light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAYERS = ["mechanisms", "arena", "methods", "eval"]
#: The user's doors stand on top of every layer and import from them lazily.
ON_TOP = {f"arena/{name}.py" for name in ("__init__", "cli", "console", "analyze_cli", "hypotheses_cli", "setup_cli")}


def imported(path: Path) -> set[str]:
    """The top-level packages that a file imports anywhere, also inside functions."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.partition(".")[0])
        elif isinstance(node, ast.ImportFrom):
            raise AssertionError(f"{path}: relative import")
    return names


@pytest.mark.parametrize("layer", LAYERS)
def test_imports_point_one_way(layer):
    files = sorted((ROOT / layer).rglob("*.py"))
    assert files
    above = set(LAYERS[LAYERS.index(layer) + 1 :])
    for path in files:
        if path.relative_to(ROOT).as_posix() not in ON_TOP:
            assert not imported(path) & above, path


def test_the_doors_import_upper_layers_lazily():
    for name in ON_TOP:
        tree = ast.parse((ROOT / name).read_text())
        for node in tree.body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                module = getattr(node, "module", None) or node.names[0].name
                door = f"{module.replace('.', '/')}.py" in ON_TOP
                assert door or module.partition(".")[0] not in LAYERS, f"{name} imports {module} when it is loaded"


def loaded_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(done.stdout.split())


HEAVY = {"torch", "ray", "matplotlib", "causallearn", "gies", "lingam", "sklearn", "seaborn", "tensorflow", "altair"}


def test_importing_the_package_is_light():
    assert not loaded_after("import arena") & (HEAVY | {"jax", "pandas", "pyarrow", "pydantic"})
    assert not loaded_after("import arena.cli") & (HEAVY | {"jax", "pandas", "pyarrow", "pydantic"})


def test_simulating_and_evaluating_load_no_method_library():
    use = "import arena; arena.compile, arena.sample_batch, arena.synthetic.sample_spec, arena.run, arena.real"
    assert not loaded_after(use) & HEAVY
    assert not loaded_after("import methods.registry; methods.registry.describe()") & HEAVY
