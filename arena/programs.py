"""Compiled programs, each compiled once, also where several threads ask for it at the same time."""

import concurrent.futures
import threading
from collections.abc import Callable, Hashable
from typing import Any

import jax

_LOCK = threading.Lock()
_COMPILED: dict[Hashable, concurrent.futures.Future] = {}


def call(function: Callable, *args: Any, **static: Hashable) -> Any:
    """`function(*args, **static)`, compiled for the shapes and types of `args`.

    Args:
        function: A function of arrays, defined at module level.
        args: Pytrees of arrays.
        static: What the program is made for.
    """
    leaves, structure = jax.tree.flatten(args)
    shapes = tuple((leaf.shape, str(leaf.dtype)) for leaf in leaves)
    key = (function, tuple(sorted(static.items())), structure, shapes, jax.config.jax_enable_x64)  # type: ignore
    with _LOCK:
        program, mine = _COMPILED.get(key), False
        if program is None:
            program, mine = _COMPILED.setdefault(key, concurrent.futures.Future()), True
    if mine:
        try:
            program.set_result(jax.jit(lambda *args: function(*args, **static)).lower(*args).compile())
        except BaseException as error:
            with _LOCK:
                del _COMPILED[key]
            program.set_exception(error)
    return program.result()(*args)


def count() -> int:
    """How many programs were compiled so far in this process."""
    return len(_COMPILED)
