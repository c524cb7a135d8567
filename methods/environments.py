"""Environments of their own for methods whose dependencies clash with ours: what is in one, building, removing.

An environment is a virtual environment in the cache, made from pinned requirements. `methods.call` runs code there.
"""

import contextlib
import dataclasses
import fcntl
import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from arena.errors import MethodError

_LOCKS = Path(__file__).parent / "remote"
# A build tool prints a lot; this much of its end says what went wrong.
_DETAIL = 2000


@dataclasses.dataclass(frozen=True)
class Environment:
    """A virtual environment. Its folder is named after what is in it, so that other pins are another environment.

    Attributes:
        name: What is typed to build it.
        requirements: Everything that is installed, each pinned; `numpy` and `safetensors` must be among them.
        no_deps: Installed after these without regard to their own requirements, which clash or are not needed.
        imports: Modules that must import when it is built.
        python: Version of Python, as `3.11`; empty for the one that runs us.
        size: What is downloaded, for people.
        licence: Of the packages that it is made for.
    """

    name: str
    requirements: tuple[str, ...] = ()
    no_deps: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    python: str = ""
    size: str = ""
    licence: str = ""

    @property
    def folder(self) -> Path:
        """Where it lies: `$ARENA_ENVIRONMENTS/<name>-<hash>`."""
        return _root() / f"{self.name}-{self.hash}"

    @property
    def hash(self) -> str:
        """Of everything that decides what is in it."""
        parts = (self.python, *self.requirements, "--no-deps", *self.no_deps)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]

    @property
    def interpreter(self) -> Path:
        """Its Python."""
        return self.folder / "bin" / "python"

    @property
    def ready(self) -> bool:
        """Whether it was built to the end."""
        return self._stamp.is_file() and self.interpreter.exists()

    @property
    def command(self) -> str:
        """The command that builds it."""
        return f"arena env build {self.name} --yes"

    @property
    def _stamp(self) -> Path:
        return self.folder / "ready.json"

    def require(self) -> Path:
        """Its Python.

        Raises:
            MethodError: If it is not built, with the command that would do it.
        """
        if not self.ready:
            raise MethodError(f"needs environment '{self.name}'; run: {self.command}")
        return self.interpreter

    def build(self, say: Callable[[str], None] = lambda line: None) -> Path:
        """Make it, unless it is there: with uv where that is installed, else with venv and pip.

        A virtual environment cannot be moved, so it is made where it stays, and a stamp is written last. A folder
        without a stamp is what a stopped build left, and made anew.

        Args:
            say: Called with a line before each step.

        Returns:
            Its folder.

        Raises:
            MethodError: If it cannot be made, with the tool's own last words.
        """
        with self._alone():
            if self.ready:
                return self.folder
            start = time.perf_counter()
            shutil.rmtree(self.folder, ignore_errors=True)
            uv = shutil.which("uv")
            say(f"{self.name}: {'uv' if uv else 'venv and pip'} in {self.folder}")
            self._make(uv, pip=bool(self.requirements or self.no_deps))
            if self.requirements:
                say(f"{self.name}: installing {len(self.requirements)} packages")
                self._install(uv, self.requirements)
            if self.no_deps:
                say(f"{self.name}: installing {', '.join(self.no_deps)}")
                self._install(uv, ("--no-deps", *self.no_deps))
            if self.imports:
                say(f"{self.name}: importing {', '.join(self.imports)}")
                code = f"import {', '.join(self.imports)}"
                self._run([self.interpreter, "-P", "-s", "-c", code], "it was installed and does not import")
            record = {"requirements": self.requirements, "no_deps": self.no_deps, "python": self._version()}
            record["seconds"] = round(time.perf_counter() - start, 1)
            self._stamp.write_text(json.dumps(record, indent=1))
        return self.folder

    def remove(self) -> bool:
        """Delete it, and what builds with other pins left; whether there was anything."""
        found = [
            folder for folder in _root().glob(f"{self.name}-*") if folder.name.removeprefix(f"{self.name}-").isalnum()
        ]
        for folder in found:
            (folder / "ready.json").unlink(missing_ok=True)  # first: half of it must not pass for whole
            shutil.rmtree(folder)
        return bool(found)

    def _make(self, uv: str | None, pip: bool) -> None:
        if uv:
            python = self.python or sys.executable
            self._run([uv, "venv", "--quiet", "--python", python, self.folder], "uv cannot make it")
        else:
            bare = () if pip else ("--without-pip",)
            self._run([_python(self.python), "-m", "venv", *bare, self.folder], "venv cannot make it")

    def _install(self, uv: str | None, what: tuple[str, ...]) -> None:
        if uv:
            command = [uv, "pip", "install", "--quiet", "--python", self.interpreter]
        else:
            quiet = ("--quiet", "--disable-pip-version-check", "--no-input")
            command = [self.interpreter, "-m", "pip", "install", *quiet]
        self._run([*command, *what], "its packages cannot be installed")

    def _version(self) -> str:
        code = "import platform; print(platform.python_version())"
        return self._run([self.interpreter, "-c", code], "its Python does not run").strip()

    def _run(self, command: list[Any], what: str) -> str:
        """The standard output of a command.

        Raises:
            MethodError: If it fails.
        """
        words = list(map(str, command))
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=clean_variables())
        if done.returncode:
            told = (done.stderr or done.stdout).strip()
            last = next((line for line in reversed(told.splitlines()) if line.strip()), f"exit code {done.returncode}")
            error = MethodError(f"environment '{self.name}': {what}: {last.strip()}")
            error.add_note(told[-_DETAIL:])
            raise error
        return done.stdout

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes from building it meanwhile; they wait."""
        _root().mkdir(parents=True, exist_ok=True)
        with open(_root() / f".{self.folder.name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # given back when the file is closed, also by a kill
            yield


def clean_variables() -> dict[str, str]:
    """Our environment variables without those that steer Python, JAX or a virtual environment, which are for us."""
    steering = ("PYTHON", "JAX_", "VIRTUAL_ENV", "CONDA_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(steering)}
    if "JAX_PLATFORMS" in os.environ:
        kept["JAX_PLATFORMS"] = os.environ["JAX_PLATFORMS"]
    return kept


def _root() -> Path:
    return Path(os.environ.get("ARENA_ENVIRONMENTS") or Path.home() / ".cache" / "causal-arena" / "environments")


def _python(version: str) -> str:
    """The path of a Python of that version.

    Raises:
        MethodError: If none is found.
    """
    if version in ("", f"{sys.version_info.major}.{sys.version_info.minor}"):
        return sys.executable
    found = shutil.which(f"python{version}")
    if not found:
        raise MethodError(f"Python {version} is needed and not found; install it, or install uv, which brings it")
    return found


def _locked(name: str) -> tuple[str, ...]:
    lines = (_LOCKS / f"{name}.txt").read_text().splitlines()
    return tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))


@functools.cache
def built_in() -> dict[str, Environment]:
    """The environments of the built-in methods, and those that methods here are compared in."""
    found = (
        Environment(
            "avici",
            requirements=_locked("avici"),
            no_deps=("avici==1.0.7",),
            imports=("avici", "numpy", "safetensors"),
            python="3.11",
            size="about 300 MB",
            licence="MIT (avici)",
        ),
        Environment(
            "sdcd",
            requirements=_locked("sdcd"),
            no_deps=("sdcd==0.1.4",),
            imports=("sdcd.models", "numpy", "safetensors"),
            python="3.11",
            size="about 400 MB, more where PyTorch comes with CUDA",
            licence="MIT (sdcd)",
        ),
        Environment(
            "igsp",
            requirements=_locked("igsp"),
            no_deps=("graphical-model-learning==0.1a8", "graphical-models==0.1a21", "conditional-independence==0.1a6"),
            imports=("graphical_model_learning", "conditional_independence", "numpy", "safetensors"),
            python="3.11",
            size="about 300 MB",
            licence="BSD-3-Clause",
        ),
    )
    return {environment.name: environment for environment in found}


_OTHERS: dict[str, Environment] = {}


def register(environment: Environment) -> None:
    """Offer an environment for methods of other packages.

    Raises:
        MethodError: If another one has that name.
    """
    taken = names().get(environment.name)
    if taken not in (None, environment):
        raise MethodError(f"there is another environment named '{environment.name}'")
    if environment.name not in built_in():
        _OTHERS[environment.name] = environment


def names() -> dict[str, Environment]:
    """All environments by name."""
    return {**built_in(), **_OTHERS}


def get(name: str) -> Environment:
    """The environment of that name.

    Raises:
        MethodError: If there is none.
    """
    known = names()
    if name not in known:
        raise MethodError(f"unknown environment '{name}'; environments are {', '.join(known)}")
    return known[name]
