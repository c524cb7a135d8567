"""Methods by name: the built-in ones, and those that other packages offer.

Another package adds a method with an entry point in the group `causal_arena.methods`. It may point to a
`Method` class, a `Method`, or a function from a table to a matrix; its name there is what users type. Entry
points are loaded when they are asked for, and one that cannot be loaded concerns nobody else. A built-in name
cannot be taken over.
"""

import dataclasses
import difflib
import inspect
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from arena.errors import MethodError
from methods.base import Capabilities, Method, Status
from methods.fit import missing, one_line
from methods.function import FunctionMethod
from methods.gies import GIES
from methods.lingam import LiNGAM
from methods.pc import PC
from methods.random_regress import RandomRegress

GROUP = "causal_arena.methods"

_BUILT_IN: dict[str, type[Method]] = {cls.name: cls for cls in (RandomRegress, PC, GIES, LiNGAM)}


def names() -> list[str]:
    """Every name that `get` knows, built-in ones first. Loads nothing."""
    return [*_BUILT_IN, *_third_party()]


def get(name: str, **settings: Any) -> Method:
    """The method of that name, with its default settings or others.

    Raises:
        MethodError: If the name or a setting is unknown, a setting is out of range, or a third-party method
            cannot be loaded.
    """
    if name in _BUILT_IN:
        return _configured(name, _BUILT_IN[name], settings)
    others = _third_party()
    if name not in others:
        raise MethodError(f"unknown method '{name}'{_did_you_mean(name)}; methods are {', '.join(names())}")
    return _configured(name, _loaded(others[name]), settings)


def as_method(method: Any) -> Method:
    """A name, a `Method` or a function from a table `[n, d]` to a matrix `[d, d]`, as a `Method`.

    A function is called by its `__name__`; see `FunctionMethod` for how its matrix is read.

    Raises:
        MethodError: If it is none of these, or as `get` for a name.
    """
    if isinstance(method, str):
        return get(method)
    if isinstance(method, Method):
        return method
    if isinstance(method, type) and issubclass(method, Method):
        return method()
    if callable(method):
        return FunctionMethod(method, getattr(method, "__name__", type(method).__name__))
    raise MethodError(
        f"a method is a name, a Method or a function of a table, found {type(method).__name__}; "
        f"names are {', '.join(names())}"
    )


def describe() -> list[dict[str, Any]]:
    """All methods, a dict of JSON values each.

    The keys are `name`, `title`, `status` (`ready` or `unsupported`), `reason`, `capabilities`, and
    `settings` with their defaults.

    Built-in libraries are looked for and not imported. A third-party entry point that cannot be loaded is
    `unsupported` with its error as reason; its `capabilities` and `settings` are then empty.
    """
    rows = []
    for name in names():
        try:
            method = get(name)
        except MethodError as error:
            row = {"title": name, "reason": str(error), "capabilities": {}, "settings": {}}
        else:
            row = {
                "title": method.title,
                "reason": missing(method.capabilities),
                "capabilities": dataclasses.asdict(method.capabilities),
                "settings": method.settings(),
            }
        status = Status.unsupported.value if row["reason"] else "ready"
        rows.append({"name": name, "status": status, **row})
    return rows


def _third_party() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP) if point.name not in _BUILT_IN}


def _loaded(point: EntryPoint) -> Any:
    try:
        return point.load()
    except Exception as error:  # whatever somebody else's package does while it is imported
        raise MethodError(f"method '{point.name}' ({point.value}) cannot be loaded: {one_line(error)}") from error


def _configured(name: str, offered: Any, settings: dict[str, Any]) -> Method:
    """A `Method` from what a registry entry points to."""
    if isinstance(offered, type) and issubclass(offered, Method):
        allowed = list(inspect.signature(offered).parameters)
        make: Callable[..., Any] = offered
    elif isinstance(offered, Method):
        allowed = list(offered.settings())
        make = lambda **changed: dataclasses.replace(offered, **changed)  # noqa: E731  # pyright: ignore
    elif callable(offered):
        allowed = ["threshold"]
        make = lambda **changed: FunctionMethod(offered, name, **changed)  # noqa: E731
    else:
        raise MethodError(f"method '{name}' is {type(offered).__name__}, not a Method and not a function")

    unknown = sorted(set(settings) - set(allowed))
    if unknown:
        raise MethodError(
            f"method '{name}' has no setting '{unknown[0]}'; "
            + (f"settings are {', '.join(allowed)}" if allowed else "it has no settings")
        )
    try:
        method = make(**settings)
        called, capable = method.name, isinstance(method.capabilities, Capabilities)
    except (TypeError, AttributeError) as error:
        raise MethodError(f"method '{name}' cannot be made: {one_line(error)}") from error
    if called != name or not capable:
        raise MethodError(f"method '{name}' must have that `name` (its is '{called}') and `capabilities`")
    return method


def _did_you_mean(name: str) -> str:
    titles = {cls.title.lower(): key for key, cls in _BUILT_IN.items()}
    near = difflib.get_close_matches(name.lower(), [*names(), *titles], n=1)
    return f", did you mean '{titles.get(near[0], near[0])}'?" if near else ""
