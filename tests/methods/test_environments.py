"""Environments, and what runs in them, on a tiny one: a wheel made here, and NumPy and safetensors from next door."""

import dataclasses
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import jax
import numpy as np
import pytest
import safetensors
from processes import alive, within
from typer.testing import CliRunner

from arena.cli import app
from arena.dataset import Dataset
from arena.errors import MethodError
from methods import environments
from methods.base import Capabilities, Estimate, Method, Status
from methods.call import RemoteError, call
from methods.environments import Environment
from methods.fit import fit
from methods.isolate import Worker
from methods.registry import get

KEY = jax.random.key(0)


def wheel(folder: Path, name: str, files: dict[str, str]) -> str:
    """A requirement: the path of a wheel with some files, which installs without an index."""
    about = f"{name}-1.0.dist-info"
    files = files | {
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: arena\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{file},,\n" for file in [*files, f"{about}/RECORD"])
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in (files | {f"{about}/RECORD": record}).items():
            archive.writestr(file, text)
    return str(path)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """The cache of environments, for this module."""
    folder = tmp_path_factory.mktemp("environments")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARENA_ENVIRONMENTS", str(folder))
        patch.setenv("PATH", os.defpath)  # no uv, wherever we are
        yield folder


@pytest.fixture(scope="module")
def tiny(root, tmp_path_factory) -> Environment:
    """A built environment with a library that only it has."""
    wheels = tmp_path_factory.mktemp("wheels")
    ours = {str(Path(module.__file__ or "").parents[1]) for module in (np, safetensors)}
    library = wheel(wheels, "tinylib", {"tinylib.py": "ANSWER = 42\n", "neighbours.pth": "\n".join(sorted(ours))})
    environment = Environment("tiny", no_deps=(library,), imports=("tinylib", "numpy", "safetensors"))
    environment.build()
    return environment


@pytest.fixture
def script(tmp_path):
    """Writes the script that is to run there."""

    def write(text: str) -> Path:
        path = tmp_path / "script.py"
        path.write_text(text)
        return path

    return write


@dataclasses.dataclass(frozen=True)
class Remote(Method):
    """A method that runs a script in an environment."""

    environment: Environment = Environment("tiny")
    script: Path = Path()
    name = "remote"
    title = "Remote"
    capabilities = Capabilities()

    def fit(self, dataset, key):
        arrays, info = call(self.environment, self.script, {"values": dataset.values}, {}, seed=0)
        return Estimate(arrays["adjacency"], info=info)


def test_building_again_is_nothing(tiny):
    said = []
    assert tiny.build(said.append) == tiny.folder and not said
    stamp = json.loads((tiny.folder / "ready.json").read_text())
    assert stamp["no_deps"] == list(tiny.no_deps) and stamp["python"].startswith("3.")


def test_its_library_is_there_and_not_here(tiny, script):
    with pytest.raises(ModuleNotFoundError):
        import tinylib  # pyright: ignore[reportMissingImports]  # noqa: F401
    path = script("import tinylib\ndef run(arrays, settings, seed): return {}, {'answer': tinylib.ANSWER}")
    assert call(tiny, path, {}, {}, seed=0) == ({}, {"answer": 42})


def test_arrays_and_settings_go_there_and_back(tiny, script):
    path = script(
        "def run(arrays, settings, seed):\n"
        "    return {name: array.T for name, array in arrays.items()}, {'settings': settings, 'seed': seed}"
    )
    arrays = {
        "float": np.arange(6.0).reshape(2, 3).T,  # not contiguous
        "bool": np.array([[True, False]]),
        "int": np.array([[1], [2]], np.int8),
        "scalar": np.float64(3.5).reshape(()),
    }
    found, info = call(tiny, path, arrays, {"a": [1, None, "x"]}, seed=7)
    assert info == {"settings": {"a": [1, None, "x"]}, "seed": 7} and found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array.T)


def test_the_global_generators_are_seeded(tiny, script):
    path = script(
        "import random, numpy\n"
        "def run(arrays, settings, seed): return {}, {'drawn': [random.random(), float(numpy.random.rand())]}"
    )
    first, again, other = (call(tiny, path, {}, {}, seed=seed)[1]["drawn"] for seed in (3, 3, 4))
    random.seed(3)
    assert first == again == [random.random(), np.random.RandomState(3).rand()] and other != first


def test_nothing_of_ours_is_there(tiny, script):
    path = script(
        "import importlib.util, os, sys\n"
        "def run(arrays, settings, seed):\n"
        "    ours = [name for name in ('methods', 'arena') if importlib.util.find_spec(name)]\n"
        "    return {}, {'ours': ours, 'variables': [name for name in os.environ if name.startswith('PYTHON')]}"
    )
    _, info = call(tiny, path, {}, {}, seed=0)
    assert info == {"ours": [], "variables": ["PYTHONHASHSEED"]}


@pytest.mark.parametrize(
    "body, message",
    [
        ("raise ValueError('no\\nsuch thing')", "ValueError: no such thing"),
        ("os._exit(3)", "its process died: exit code 3"),
        ("os.kill(os.getpid(), 9)", "its process died: killed by SIGKILL"),
        ("return {'x': object()}, {}", "Error"),
        ("return {}, {'x': object()}", "Error"),
    ],
)
def test_a_failure_is_one_line_with_what_was_printed(body, message, tiny, script):
    path = script(f"import os, sys\ndef run(arrays, settings, seed):\n    print('last words', flush=True)\n    {body}")
    with pytest.raises(RemoteError, match="in environment 'tiny': .*" + message) as caught:
        call(tiny, path, {}, {}, seed=0)
    assert "\n" not in str(caught.value) and "last words" in caught.value.__notes__[0]
    outcome = fit(Remote(tiny, path), Dataset(("a", "b"), np.eye(5)[:, :2]), KEY)
    assert outcome.status is Status.failed and message in outcome.reason and "last words" in outcome.detail


def test_a_script_that_does_not_import_is_a_failure(tiny, script):
    with pytest.raises(RemoteError, match="ModuleNotFoundError: No module named 'no_such_library'"):
        call(tiny, script("import no_such_library"), {}, {}, seed=0)


SLOW = (
    "import os, subprocess, time\n"
    "def run(arrays, settings, seed):\n"
    "    child = subprocess.Popen(['sleep', '600'])\n"
    "    with open({path!r} + '.part', 'w') as file: file.write(f'{{os.getpid()}} {{child.pid}}')\n"
    "    os.rename({path!r} + '.part', {path!r})\n"
    "    {then}"
)


def test_children_that_a_script_leaves_are_ended(tiny, script, tmp_path):
    path = tmp_path / "pids"
    call(tiny, script(SLOW.format(path=str(path), then="return {}, {}")), {}, {}, seed=0)
    assert within(5, lambda: not any(map(alive, _pids(path))))


def test_a_time_limit_ends_what_runs_there(tiny, script, tmp_path):
    path = tmp_path / "pids"
    method = Remote(tiny, script(SLOW.format(path=str(path), then="time.sleep(600)")))
    with Worker() as worker:
        outcome = worker.fit(method, Dataset(("a", "b"), np.eye(5)[:, :2]), seed=0, timeout=3.0)
    assert outcome.status is Status.timed_out
    assert within(5, lambda: not any(map(alive, _pids(path))))


def test_it_ends_with_the_process_that_asked(tiny, script, tmp_path):
    path = tmp_path / "pids"
    remote = script(SLOW.format(path=str(path), then="time.sleep(600)"))
    asking = tmp_path / "asking.py"
    asking.write_text(
        "from pathlib import Path\nfrom methods.call import call\nfrom methods.environments import Environment\n"
        f"call({tiny!r}, Path({str(remote)!r}), {{}}, {{}}, seed=0)"
    )
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, str(asking)], env=variables) as parent:
        assert within(30, path.exists)
        parent.send_signal(signal.SIGKILL)
    assert within(10, lambda: not any(map(alive, _pids(path))))


def test_an_environment_without_a_stamp_is_made_anew(tiny):
    half = dataclasses.replace(tiny, name="half", no_deps=(), imports=())
    half.folder.mkdir()
    (half.folder / "left_over").touch()
    assert not half.ready
    half.build()
    assert half.ready and not (half.folder / "left_over").exists()
    assert half.remove() and not half.folder.exists() and not half.remove()
    assert tiny.ready


def test_one_that_does_not_import_is_not_ready(root):
    broken = Environment("broken", imports=("no_such_library",))
    with pytest.raises(MethodError, match="does not import: ModuleNotFoundError: No module named 'no_such_library'"):
        broken.build()
    assert not broken.ready


UV = """#!{python}
import subprocess, sys
with open({log!r}, "a") as log:
    print(*sys.argv[1:], file=log)
if sys.argv[1] == "venv":
    assert sys.argv[3] == "--python", sys.argv
    sys.exit(subprocess.run([{python!r}, "-m", "venv", "--without-pip", sys.argv[-1]]).returncode)
if "nothing==1.0" in sys.argv:
    sys.exit("warning: bad luck\\nno such package: nothing")
"""


def test_uv_is_used_where_it_is(root, tmp_path, monkeypatch):
    """With a program of that name that makes environments and installs nothing; also what is said when it cannot."""
    uv, log = tmp_path / "uv", tmp_path / "log"
    uv.write_text(UV.format(python=sys.executable, log=str(log)))
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.defpath}")
    environment = Environment("by_uv", requirements=("something==2.0",), no_deps=("other==3.0",))
    environment.build()
    install = f"pip install --quiet --python {environment.interpreter}"
    made, first, second = log.read_text().splitlines()
    assert made == f"venv --quiet --python {sys.executable} {environment.folder}"
    assert first == f"{install} something==2.0" and second == f"{install} --no-deps other==3.0"

    absent = Environment("absent", requirements=("nothing==1.0",))
    with pytest.raises(
        MethodError, match="'absent': its packages cannot be installed: no such package: nothing"
    ) as error:
        absent.build()
    assert "bad luck" in error.value.__notes__[0] and not absent.ready


def test_a_python_that_is_not_there(root):
    with pytest.raises(MethodError, match="Python 3.99 is needed and not found; .*uv"):
        Environment("future", python="3.99").build()


def test_other_pins_are_another_environment(root):
    first, second = (Environment("x", requirements=(f"y=={version}",)) for version in (1, 2))
    assert first.folder != second.folder and first.folder.parent == root
    assert dataclasses.replace(first, size="1 MB").folder == first.folder


def test_the_built_in_ones_are_pinned():
    for name, environment in environments.built_in().items():
        assert environments.get(name) is environment and environment.imports and environment.licence
        packages = [requirement.partition("==")[0] for requirement in environment.requirements]
        assert all("==" in pin for pin in (*environment.requirements, *environment.no_deps))
        assert {"numpy", "safetensors"} <= set(packages) and packages == sorted(packages, key=str.lower)
    with pytest.raises(MethodError, match="unknown environment 'avicci'; environments are avici"):
        environments.get("avicci")


def test_registering(root):
    theirs = Environment("theirs", requirements=("numpy==2.0", "safetensors==0.4"))
    environments.register(theirs)
    environments.register(theirs)
    assert environments.get("theirs") == theirs
    with pytest.raises(MethodError, match="another environment named 'avici'"):
        environments.register(Environment("avici"))


def test_a_method_whose_environment_is_absent_is_unsupported(root, collider):
    outcome = fit(get("sdcd"), collider, KEY)
    assert outcome.status is Status.unsupported
    assert outcome.reason == "needs environment 'sdcd'; run: arena env build sdcd --yes"
    with pytest.raises(MethodError, match="run: arena env build sdcd"):
        environments.get("sdcd").require()


def test_a_method_that_needs_a_gpu(collider, monkeypatch):
    class Fast(Remote):
        capabilities = Capabilities(needs_gpu=True)

    monkeypatch.setattr("methods.needs._GPUS", ("/no/such/device",))
    outcome = fit(Fast(), collider, KEY)
    assert outcome.status is Status.unsupported and outcome.reason == "needs a GPU, and this machine has none"


def test_the_commands(tiny, monkeypatch):
    def arena(*arguments: str):
        return CliRunner().invoke(app, list(arguments))

    asked = arena("env", "build", "sdcd")
    assert asked.exit_code == 1 and "arena env build sdcd --yes" in asked.stderr and "MIT" in asked.stderr
    assert not environments.get("sdcd").folder.exists()
    listed = {row["name"]: row for row in json.loads(arena("env", "list", "--json").stdout)}
    assert not listed["sdcd"]["built"] and listed["sdcd"]["command"] == "arena env build sdcd --yes"
    assert "is not there" in arena("env", "remove", "sdcd").stderr
    unknown = arena("env", "build", "x").exception
    assert isinstance(unknown, MethodError) and "unknown environment 'x'" in str(unknown)
    methods = arena("methods")
    assert "needs environment" in methods.stdout
    assert "sdcd: needs environment 'sdcd'; run: arena env build sdcd" in methods.stderr

    monkeypatch.setattr(environments, "get", lambda name: dataclasses.replace(tiny, name="again"))
    built = arena("env", "build", "again", "--yes")
    assert built.exit_code == 0 and "is ready" in built.stderr
    assert "is there" in arena("env", "build", "again").stderr
    assert "is removed" in arena("env", "remove", "again").stderr


def test_the_hash_is_of_all_that_decides(tiny):
    parts = "\n".join((tiny.python, *tiny.requirements, "--no-deps", *tiny.no_deps))
    assert tiny.folder.name == f"tiny-{hashlib.sha256(parts.encode()).hexdigest()[:12]}"


def _pids(path: Path) -> list[int]:
    return list(map(int, path.read_text().split()))
