"""Fingerprints: whether a function, or whatever else a method was made with, is still what it was."""

import dis
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

_OURS = {"arena", "mechanisms", "methods", "eval"}
_IN_CLASSES = (FunctionType, classmethod, staticmethod, property)


def fingerprint(value: Any) -> str:
    """A hash that is the same in every process and changes when `value` would behave otherwise.

    A function is its code (not its name, file or lines), defaults, closure, attributes and the globals that it reads;
    a class its members and bases; any other object its class and what pickling would keep of it, which is what reaches
    a worker: so a partial is its function and arguments, a bound method its object. All that recursively. What the
    standard library, an installed package or this one brings is known by its name, and so is a module: a change
    behind `helpers.f(...)` is not seen, one behind `from helpers import f` is.
    """
    try:
        content = json.dumps(_Reader(getattr(value, "__module__", None)).read(value))
    except RecursionError:  # a chain of thousands of objects: better to miss a change than to stop
        content = qualified_name(value)
    return hashlib.sha256(content.encode()).hexdigest()


def qualified_name(value: Any) -> str:
    """`module.qualname` of a function or class, or of the class of any other object."""
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{getattr(named, '__module__', None) or 'builtins'}.{named.__qualname__}"


class _Reader:
    """Turns objects into JSON values; what it met before is a number, so cycles end.

    Args:
        home: A module whose functions and classes are read although it is installed: a plug-in's own.
    """

    def __init__(self, home: str | None):
        self._home = home
        # Place in the order by `id`; the object is held so that its id is not given to another.
        self._seen: dict[int, tuple[int, Any]] = {}

    def read(self, value: Any) -> Any:
        kind = type(value)
        if value is None or kind in (bool, int, float, str):
            return value
        # Equal constants may or may not be one object, so for these that must not matter.
        if kind in (bytes, complex):
            return ["constant", repr(value)]
        if kind is tuple:
            return ["tuple", *map(self.read, value)]
        if kind in (set, frozenset):
            return ["set", *sorted(map(self._apart, value))]
        if kind is CodeType:
            return self._code(value)
        if kind is ModuleType:
            return ["module", value.__name__]
        if value is os.environ:
            return ["environment"]
        if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
            digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
            return ["array", str(value.dtype), list(value.shape), digest]
        if isinstance(value, FunctionType | type) and self._known_by_name(value):
            return ["named", qualified_name(value)]
        if id(value) in self._seen:
            return ["seen", self._seen[id(value)][0]]
        self._seen[id(value)] = (len(self._seen), value)
        return self._content(value)

    def _content(self, value: Any) -> list[Any]:
        if type(value) is list:
            return ["list", *map(self.read, value)]
        if type(value) is dict:
            keys = sorted(((self._apart(key), key) for key in value), key=lambda pair: pair[0])
            return ["dict", *([text, self.read(value[key])] for text, key in keys)]
        if isinstance(value, FunctionType):
            return self._function(value)
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, property):
            return ["property", *map(self.read, (value.fget, value.fset, value.fdel))]
        return self._object(value)

    def _known_by_name(self, value: FunctionType | type) -> bool:
        return value.__module__ != self._home and _installed(value.__module__)

    def _apart(self, value: Any) -> str:
        """A text to sort members of a set by: the same whichever was read first."""
        before = len(self._seen)
        text = json.dumps(self.read(value))
        while len(self._seen) > before:
            self._seen.popitem()
        return text

    def _code(self, code: CodeType) -> list[Any]:
        counts = [code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags]
        names = [code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars]
        instructions = [code.co_code.hex(), code.co_exceptiontable.hex()]
        return ["code", instructions, counts, names, [self.read(constant) for constant in code.co_consts]]

    def _function(self, function: FunctionType) -> list[Any]:
        known = function.__globals__
        used = [[name, self.read(known[name])] for name in sorted(_globals_read(function.__code__)) if name in known]
        parts = (function.__code__, function.__defaults__, function.__kwdefaults__, vars(function))
        closure = [self._cell(cell) for cell in function.__closure__ or ()]
        return ["function", [self.read(part) for part in parts], closure, used]

    def _cell(self, cell: Any) -> Any:
        try:
            value = cell.cell_contents
        except ValueError:  # not filled yet
            return ["empty"]
        return self.read(value)

    def _class(self, cls: type) -> list[Any]:
        members = {
            name: value
            for name, value in vars(cls).items()
            # Among the rest are line numbers, caches and sets in random order.
            if not (name.startswith("__") and name.endswith("__")) or isinstance(value, _IN_CLASSES)
        }
        bases = [self.read(base) for base in cls.__bases__]
        return ["class", bases, [[name, self.read(members[name])] for name in sorted(members)]]

    def _object(self, value: Any) -> list[Any]:
        try:
            reduced = value.__reduce_ex__(4)
        except RecursionError:
            raise
        except Exception:  # it cannot be pickled
            reduced = None
        if isinstance(reduced, tuple):
            parts = [list(part) if isinstance(part, Iterator) else part for part in reduced]
            return ["object", self.read(type(value)), *map(self.read, parts)]
        if hasattr(value, "__wrapped__"):  # functools.cache, classmethod ...
            return ["wrapper", qualified_name(type(value)), self.read(value.__wrapped__)]
        text = repr(value)
        return ["named", qualified_name(value), "" if re.search("0x[0-9a-fA-F]{4}", text) else text]


def _globals_read(code: CodeType) -> set[str]:
    """Names of the globals that a function, or a function within it, reads."""
    names = {i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_NAME" or "GLOBAL" in i.opname}
    return names.union(*(_globals_read(inner) for inner in code.co_consts if isinstance(inner, CodeType)))


@cache
def _installed(module: str | None) -> bool:
    """Whether a module is of the standard library, of an installed package or of this one."""
    top = (module or "builtins").partition(".")[0]
    if top in sys.stdlib_module_names or top in _OURS:
        return True
    file = getattr(sys.modules.get(module or "") or sys.modules.get(top), "__file__", None) or ""
    return not {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)
