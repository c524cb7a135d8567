"""Runs in the Python of another environment: reads one request, runs one script on it, writes the reply.

    python serve.py SCRIPT FOLDER PARENT

SCRIPT is a file that defines `run(arrays, settings, seed) -> (arrays, info)`: arrays by name, JSON values. FOLDER
holds `request.safetensors` and `request.json`; `reply.safetensors` and `reply.json` are written there, the latter last.
PARENT is the process that asked; when it is gone all that was started here is ended. Nothing of the project is
imported.
"""

import importlib.util
import json
import os
import random
import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file


def main(script: str, folder: Path, parent: int) -> int:
    """Serve the request; the exit status."""
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    request = json.loads((folder / "request.json").read_text())
    arrays = load_file(folder / "request.safetensors")
    try:
        run = _loaded(script).run
        _seed(request["seed"])
        answer, info = run(arrays, request["settings"], request["seed"])
        # A new array each: contiguous, and not a view of something else.
        save_file({name: np.array(array, order="C") for name, array in answer.items()}, folder / "reply.safetensors")
        status, reply = 0, json.dumps({"info": info})
    except Exception as error:
        traceback.print_exc()
        status, reply = 1, json.dumps({"error": " ".join(f"{type(error).__name__}: {error}".split())})
    (folder / "reply.part").write_text(reply)
    os.replace(folder / "reply.part", folder / "reply.json")
    return status


def _loaded(script: str) -> Any:
    spec = importlib.util.spec_from_file_location("arena_remote_script", script)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _seed(seed: int) -> None:
    """Seed the global generators of what the script imported; JAX has none, so scripts get the seed themselves."""
    random.seed(seed)
    np.random.seed(seed)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os.killpg(os.getpid(), signal.SIGKILL)  # we lead our group: the parent starts us in a new session


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])))
