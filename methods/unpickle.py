"""Read published checkpoints without running what is in them.

A pickle is a program. Here its calls are limited to what makes arrays and containers. Objects of a few libraries are
replaced by plain values and those libraries not imported. Anything else is refused, unless the file is trusted.
"""

import argparse
import collections
import pickle
import pickletools
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from arena.errors import MethodError

_TORCH = (".pt", ".pth", ".ckpt", ".bin")


class Refused(MethodError):
    """A checkpoint holds something that would have to be run."""


def load(path: Path, *, trust: bool = False) -> Mapping[str, Any]:
    """What is in a checkpoint: `.safetensors`, a pickle (`.pkl`, `.pickle`), or a file of PyTorch.

    Args:
        path: The file.
        trust: Unpickle whatever is in it, which may run any code.

    Raises:
        Refused: If it holds more than arrays and containers, and is not trusted.
        MethodError: If it is none of these kinds, damaged, or not a mapping.
    """
    if not path.is_file():
        raise MethodError(f"{path}: there is no such file")
    try:
        found = _load(path, trust)
    except Refused as refused:
        raise Refused(f"{path}: {refused}") from refused
    except Exception as error:
        raise MethodError(f"{path}: cannot be read: {type(error).__name__}: {' '.join(str(error).split())}") from error
    if not isinstance(found, Mapping):
        raise MethodError(f"{path}: holds {type(found).__name__}, expected a mapping")
    return found


def _load(path: Path, trust: bool) -> Any:
    if path.suffix == ".safetensors":
        from safetensors.numpy import load_file

        return load_file(path)
    if path.suffix in _TORCH:
        return _torch(path, trust)
    with path.open("rb") as file:
        return pickle.load(file) if trust else _Plain(file).load()


def _torch(path: Path, trust: bool) -> Any:
    import torch

    if trust:
        return torch.load(path, map_location="cpu", weights_only=False)
    try:
        # What Lightning keeps its hyperparameters in; an object of it is a dict with another face.
        with torch.serialization.safe_globals([argparse.Namespace, *_arrays()]), warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", "Detected pickle protocol", UserWarning
            )  # it may not read it, and says so
            return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        unknown = re.search(r"Unsupported operand (\d+)", str(error))
        if unknown and chr(int(unknown[1])) not in {op.code for op in pickletools.opcodes}:
            raise MethodError(f"it is no file of PyTorch: byte {unknown[1]} is no instruction of a pickle") from error
        holds, other = (re.search(text, str(error)) for text in (r"GLOBAL (\S+)", r"WeightsUnpickler error:\s*(.+)"))
        what = f"it holds {holds[1]}" if holds else other[1].strip() if other else " ".join(str(error).split())
        raise Refused(f"was not unpickled, since that may run code: {what}") from error


def _arrays() -> list[Any]:
    """What NumPy's arrays and scalars are pickled with, under the names of today and before."""
    named = [(_NUMPY[name], f"numpy.{core}.multiarray.{name}") for name in ("_reconstruct", "scalar")
             for core in ("core", "_core")]  # fmt: skip
    return [*named, (_Array, "numpy.ndarray"), (_Dtype, "numpy.dtype")]


class _Inert:
    """In place of an object that nobody asks for, such as the state of an optimiser."""

    def __init__(self, *args: Any, **kwargs: Any):
        pass

    def __setstate__(self, state: Any) -> None:
        pass


class _Mapping(dict):
    """In place of Haiku's immutable mappings."""

    def __setstate__(self, state: Any) -> None:
        pass


def _jax_array(fun: Any, args: Any, state: Any, *_: Any) -> np.ndarray:
    """In place of a JAX array, which is pickled as the NumPy array that it would be made from."""
    array = fun(*args)
    array.__setstate__(state)
    return array


class _Dtype:
    """In place of a NumPy dtype: a type of numbers and a byte order, and nothing else.

    The state that a pickle gives a real one is not checked by NumPy: it can make pointers of bytes.
    """

    def __init__(self, code: str, *_: Any):
        if not isinstance(code, str) or not re.fullmatch(r"[<>=|]?[biufc]\d{1,2}|\?", code):
            raise Refused(f"was not unpickled, since that may run code: it holds an array of {code!r}")
        self.real = np.dtype(code)

    def __setstate__(self, state: Any) -> None:
        _, order, *rest = state
        if order not in ("<", ">", "=", "|") or rest != [None, None, None, -1, -1, 0]:
            raise Refused(f"was not unpickled, since that may run code: it holds a dtype with the state {state!r}")
        self.real = self.real.newbyteorder(order)


class _Array(np.ndarray):
    """In place of a NumPy array: numbers only, as many as its shape says."""

    def __new__(cls, *_: Any) -> "_Array":
        raise Refused("was not unpickled, since that may run code: it makes an array in another way than NumPy does")

    def __setstate__(self, state: Any) -> None:
        version, shape, dtype, fortran, content = state
        if not isinstance(dtype, _Dtype) or not isinstance(content, bytes):
            raise Refused("was not unpickled, since that may run code: it holds an array that is not of numbers")
        super().__setstate__((version, shape, dtype.real, fortran, content))


def _reconstruct(kind: type, shape: tuple[int, ...], code: Any) -> _Array:
    return np.ndarray.__new__(_Array, (0,), np.int8)


def _scalar(dtype: _Dtype, content: bytes) -> np.generic:
    return np.frombuffer(content, dtype.real, count=1)[0]


def _from_buffer(content: Any, dtype: _Dtype, shape: tuple[int, ...], order: str) -> np.ndarray:
    return np.frombuffer(content, dtype.real).reshape(shape, order="F" if order == "F" else "C")


#: What pickles of arrays use, by the name alone; its module has moved over the years.
_NUMPY: dict[str, Any] = {
    "_reconstruct": _reconstruct,
    "scalar": _scalar,
    "_frombuffer": _from_buffer,
    "ndarray": _Array,
    "dtype": _Dtype,
}


class _State(dict):
    """In place of the named tuple of AVICI's training state."""

    # In the order in which AVICI saves them; its package had another name then.
    FIELDS = ("step", "rng", "opt_state", "params", "dual", "dual_penalty_polyak", "ave_params")

    def __new__(cls, *values: Any) -> "_State":
        state = super().__new__(cls)
        state.update(zip(cls.FIELDS, values, strict=True))
        return state

    def __init__(self, *values: Any):
        pass


_CONTAINERS = {kind.__name__: kind for kind in (dict, list, tuple, set, frozenset, complex, slice)}


def _bytes(text: str, encoding: str) -> bytes:
    """In place of `codecs.encode`, which old protocols make bytes with."""
    if encoding != "latin1":
        raise Refused(f"was not unpickled, since that may run code: it encodes text as {encoding}")
    return text.encode("latin1")


class _Plain(pickle.Unpickler):
    """Unpickles arrays, containers, and plain values in place of objects of a few libraries."""

    def find_class(self, module: str, name: str, /) -> Any:
        package = module.partition(".")[0]
        found = None
        if module in ("builtins", "__builtin__"):  # the latter in old protocols
            found = _CONTAINERS.get(name)
        elif (module, name) == ("_codecs", "encode"):
            found = _bytes
        elif (module, name) == ("collections", "OrderedDict"):
            found = collections.OrderedDict
        elif package == "numpy":
            found = _NUMPY.get(name)
        elif package == "jax" and name in ("_reconstruct_array", "reconstruct_device_array"):
            found = _jax_array
        elif package == "haiku":
            found = _Mapping
        elif package in ("avici", "amortibs") and name == "ModelState":
            found = _State
        elif package in ("avici", "amortibs", "optax", "chex"):
            found = _Inert
        if found is None:
            raise Refused(f"was not unpickled, since that may run code: it holds {module}.{name}")
        return found
