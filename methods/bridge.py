"""Between JAX and PyTorch: batches cross without a copy, and a published network is loaded once and strictly.

What a wrapper of a PyTorch model does:

    model = bridge.pretrained(self.capabilities.checkpoint.require(), build)  # build(config) -> torch.nn.Module
    with bridge.inference():
        answer = bridge.to_jax(model(*bridge.to_torch((values, interventions))))

PyTorch is imported when a function here is called, never before.
"""

import contextlib
import functools
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jax

from arena.errors import MethodError

WEIGHTS = "model.safetensors"
CONFIG = "config.json"
INSTALL = "pip install 'causal-arena[torch]'"

_LOADED: dict[tuple[Any, ...], Any] = {}


@functools.cache
def device() -> Any:
    """The `torch.device` of this process: the GPU if both JAX and PyTorch have it, else the CPU. Chosen once."""
    import torch

    return torch.device("cuda" if jax.default_backend() == "gpu" and torch.cuda.is_available() else "cpu")


def to_torch(arrays: Any) -> Any:
    """A pytree of JAX arrays as one of tensors on `device()` that share their memory (DLPack).

    JAX arrays never change, so the tensors must not be written to. Only where JAX has an accelerator and PyTorch does
    not are the arrays copied.
    """
    import torch

    if device().type == "cpu" and jax.default_backend() != "cpu":
        arrays = jax.device_put(arrays, jax.devices("cpu")[0])
    return jax.tree.map(torch.from_dlpack, arrays)


def to_jax(tensors: Any) -> Any:
    """A pytree of tensors as one of JAX arrays on the same device.

    The arrays share the memory of contiguous tensors, which must not be written to afterwards; others are copied.
    """
    return jax.tree.map(lambda tensor: jax.dlpack.from_dlpack(tensor.detach().contiguous()), tensors)


@contextlib.contextmanager
def inference() -> Iterator[None]:
    """No gradients; PyTorch's global state is float32 meanwhile and afterwards what it was.

    That is: default dtype, number of threads, matrix multiplication precision, random generators.
    """
    import torch

    dtype, threads, precision = (
        torch.get_default_dtype(),
        torch.get_num_threads(),
        torch.get_float32_matmul_precision(),
    )
    cuda = list(range(torch.cuda.device_count())) if torch.cuda.is_initialized() else []
    torch.set_default_dtype(torch.float32)
    torch.set_float32_matmul_precision("highest")
    try:
        with torch.random.fork_rng(cuda), torch.inference_mode():
            yield
    finally:
        torch.set_default_dtype(dtype)
        torch.set_float32_matmul_precision(precision)
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)


def pretrained(folder: Path, build: Callable[[Mapping[str, Any]], Any]) -> Any:
    """The network of a checkpoint on `device()`, in evaluation mode; read once in a process while its files stay.

    Args:
        folder: Has `model.safetensors` and `config.json`.
        build: Makes the `torch.nn.Module` from the configuration; a function of a module, since it is part of
            what the network is remembered by.

    Raises:
        MethodError: If the configuration or the weights do not fit the network.
    """
    key = (build, folder, written(folder))
    if key not in _LOADED:
        with inference():
            module = built(build, folder)
            _LOADED[key] = load_strictly(module, folder).eval().requires_grad_(False).to(device())
    return _LOADED[key]


def written(folder: Path) -> tuple[int, ...]:
    """When the files of a checkpoint were last written, in nanoseconds; a missing one is left out."""
    paths = (folder / name for name in (WEIGHTS, CONFIG))
    return tuple(path.stat().st_mtime_ns for path in paths if path.is_file())


def built(build: Callable[[Mapping[str, Any]], Any], folder: Path) -> Any:
    """The network that the configuration in `folder` describes, with weights of no meaning.

    Raises:
        MethodError: If a setting is missing, unknown or out of range.
    """
    config = read_config(folder)
    try:
        return build(config)
    except (KeyError, TypeError, ValueError, AssertionError) as error:
        what = f"'{error.args[0]}' is missing" if isinstance(error, KeyError) else str(error)
        raise MethodError(f"{folder / CONFIG} is not the configuration of this network: {what}") from error


def read_config(folder: Path) -> dict[str, Any]:
    """The `config.json` of a checkpoint.

    Raises:
        MethodError: If it is not there or not a JSON object.
    """
    path = folder / CONFIG
    try:
        config = json.loads(path.read_text())
    except OSError as error:
        raise MethodError(f"{path} cannot be read ({error.strerror}); it comes with {WEIGHTS}") from error
    except ValueError as error:
        raise MethodError(f"{path} is not JSON: {error}") from error
    if not isinstance(config, dict):
        raise MethodError(f"{path} holds {type(config).__name__}, expected a JSON object")
    return config


def load_strictly(module: Any, folder: Path) -> Any:
    """Put the weights in `folder` into a `torch.nn.Module`, whose names and shapes they must have, all of them.

    Raises:
        MethodError: Naming the first key that is missing, unexpected or of another shape.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    path = folder / WEIGHTS
    try:
        found = load_file(path)
    except (OSError, SafetensorError) as error:
        raise MethodError(f"{path} cannot be read as safetensors: {error}") from error
    expected = module.state_dict()
    check_layout(
        {name: tuple(tensor.shape) for name, tensor in expected.items()},
        {name: tuple(tensor.shape) for name, tensor in found.items()},
        str(path),
    )
    module.load_state_dict(found, strict=True)
    return module


def check_layout(expected: Mapping[str, tuple[int, ...]], found: Mapping[str, tuple[int, ...]], where: str) -> None:
    """Compare the names and shapes of two sets of tensors.

    Raises:
        MethodError: Naming the first key, in the order of `expected`, that is missing or of another shape; else the
            first that is unexpected.
    """
    for name, shape in expected.items():
        if name not in found:
            raise MethodError(f"{where}: '{name}' {_shown(shape)} is missing")
        if found[name] != shape:
            raise MethodError(f"{where}: '{name}' has shape {_shown(found[name])}, expected {_shown(shape)}")
    for name, shape in found.items():
        if name not in expected:
            raise MethodError(f"{where}: '{name}' {_shown(shape)} is unexpected; the network has no such weights")


def _shown(shape: tuple[int, ...]) -> str:
    return str(list(shape))
