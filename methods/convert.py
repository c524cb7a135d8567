"""From a published checkpoint to `model.safetensors` and `config.json`, once."""

import json
import os
import shlex
import tempfile
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from arena.errors import MethodError
from methods.checkpoints import CONVERTERS, Checkpoint
from methods.fetch import check
from methods.unpickle import Refused, load


def convert(checkpoint: Checkpoint, file: Path | None = None, *, trust: bool = False) -> Path:
    """Convert a published checkpoint and keep it in `checkpoint.folder`.

    Args:
        checkpoint: Which one.
        file: The published file with the weights, wherever it is; the fetched one if omitted. JSON files that were
            published with it are looked for beside it.
        trust: Unpickle whatever is in it, which may run any code.

    Returns:
        `checkpoint.folder`.

    Raises:
        MethodError: If the file cannot be read, is another than the one known, or nothing here knows its layout.
    """
    path = file or checkpoint.published / weights_file(checkpoint)
    if not path.is_file():
        advice = "" if file else f"; run: {checkpoint.command}"
        raise MethodError(f"{path}: there is no such file{advice}")
    digest = check(checkpoint, path, weights_file(checkpoint))
    try:
        loaded = load(path, trust=trust)
    except Refused as refused:
        again = f"arena checkpoint convert {checkpoint.name} {shlex.quote(str(path))} --trust"
        raise MethodError(f"{refused}. If you trust where it is from: {again}") from refused
    companions = {name: _companion(path.parent / name) for name, _ in checkpoint.files if name.endswith(".json")}
    tensors, config = converter(checkpoint)({**loaded, **companions})
    _write(checkpoint.folder, tensors, config, {"source": path.name, "sha256": digest})
    return checkpoint.folder


def weights_file(checkpoint: Checkpoint) -> str:
    """The published file that holds the weights: the one that is not JSON."""
    (name,) = (name for name, _ in checkpoint.files if not name.endswith(".json"))
    return name


def converter(checkpoint: Checkpoint) -> Callable[[Mapping[str, Any]], tuple[dict[str, np.ndarray], dict[str, Any]]]:
    """The function that reads a published checkpoint.

    Raises:
        MethodError: If there is none.
    """
    if checkpoint.name not in CONVERTERS:
        if checkpoint.pickled:
            raise MethodError(f"checkpoint '{checkpoint.name}' cannot be converted: no method here knows its layout")
        return _as_published
    module, _, function = CONVERTERS[checkpoint.name].partition(":")
    return getattr(import_module(module), function)


def _as_published(loaded: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Safetensors and `config.json`, which is what we keep."""
    return {name: value for name, value in loaded.items() if name != "config.json"}, loaded.get("config.json", {})


def _companion(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        raise MethodError(f"{path}: there is no such file; it is published with the weights and needed") from None
    except ValueError as error:
        raise MethodError(f"{path}: is not JSON: {error}") from error


def _write(
    folder: Path, tensors: Mapping[str, np.ndarray], config: Mapping[str, Any], metadata: dict[str, str]
) -> None:
    """Write both files, the weights last; who sees them sees a whole checkpoint."""
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".converting-") as name:
        partial = Path(name)
        # A new array each: contiguous, and not a view of something else.
        arrays = {key: np.array(tensor, order="C") for key, tensor in tensors.items()}
        save_file(arrays, partial / "model.safetensors", metadata)
        (partial / "config.json").write_text(json.dumps(config, indent=1, sort_keys=True))
        (folder / "model.safetensors").unlink(missing_ok=True)  # the old weights must not meet the new configuration
        os.replace(partial / "config.json", folder / "config.json")
        os.replace(partial / "model.safetensors", folder / "model.safetensors")
