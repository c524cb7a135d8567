"""Run a script in the Python of another environment: arrays and settings there, arrays and an info back."""

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from methods.environments import Environment, clean_variables
from methods.family import Family

#: Where the scripts of the built-in methods are.
SCRIPTS = Path(__file__).parent / "remote"
_SERVE = SCRIPTS / "serve.py"
_DETAIL = 2000


class RemoteError(RuntimeError):
    """What ran in another environment failed; what it printed last is in the notes of the error."""


def call(
    environment: Environment, script: Path, arrays: Mapping[str, np.ndarray], settings: Mapping[str, Any], seed: int
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Run a script once in a process of its own, which is ended with us, however we end.

    Request and reply are files in a temporary folder, safetensors and JSON. The global generators there (Python, NumPy,
    and PyTorch if it is used) are seeded.

    Args:
        environment: Where it runs.
        script: A file of Python that defines `run(arrays, settings, seed) -> (arrays, info)`; it imports nothing of
            this project, which is not there.
        arrays: What it works on, by name.
        settings: JSON values.
        seed: In [0, 2**32).

    Returns:
        What `run` returned.

    Raises:
        MethodError: If the environment is not built.
        RemoteError: If the script fails or its process dies.
    """
    from safetensors.numpy import load_file, save_file

    python = environment.require()
    with tempfile.TemporaryDirectory(prefix="arena-") as name:
        folder = Path(name)
        # A new array each: contiguous, and not a view of something else.
        copies = {key: np.array(array, order="C") for key, array in arrays.items()}
        save_file(copies, folder / "request.safetensors")
        (folder / "request.json").write_text(json.dumps({"settings": dict(settings), "seed": seed}))
        with tempfile.TemporaryFile() as printed:
            command = [python, "-P", "-s", _SERVE, script, folder, os.getpid()]
            status = _run(list(map(str, command)), folder, printed)
            if not (folder / "reply.json").is_file():
                raise _failed(environment, f"its process died: {_death(status)}", printed)
            reply = json.loads((folder / "reply.json").read_text())
            if "error" in reply:
                raise _failed(environment, reply["error"], printed)
        return load_file(folder / "reply.safetensors"), reply["info"]


def _run(command: list[str], folder: Path, printed: IO[bytes]) -> int:
    """The exit status of a command; nothing that it started is left, whether it ends or we are interrupted."""
    variables = {**clean_variables(), "PYTHONHASHSEED": "0"}
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=printed,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    family = Family(process.pid)
    try:
        return process.wait()
    finally:
        family.kill_descendants()
        with contextlib.suppress(ProcessLookupError, PermissionError):  # gone already
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _death(status: int) -> str:
    return f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit code {status}"


def _failed(environment: Environment, what: str, printed: IO[bytes]) -> RemoteError:
    error = RemoteError(f"in environment '{environment.name}': {what}")
    size = printed.seek(0, os.SEEK_END)
    printed.seek(max(0, size - _DETAIL))
    error.add_note(printed.read().decode(errors="replace"))
    return error
