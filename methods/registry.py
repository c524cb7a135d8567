"""Methods by name: the built-in ones, and those that other packages offer.

Another package adds a method with an entry point in the group `causal_arena.methods`. It may point to a
`Method` class, a `Method`, or a function from a table to a matrix; its name there is what users type. Entry
points are loaded when they are asked for, and one that cannot be loaded concerns nobody else. A built-in name
cannot be taken over.
"""

import dataclasses
import difflib
import inspect
import math
import numbers
import typing
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from arena.errors import MethodError
from methods.arrow import Arrow
from methods.avici import AVICI
from methods.avici_package import AVICIPackage
from methods.base import Capabilities, Method, Status
from methods.causcale import CauScale
from methods.cdfm import CDFM
from methods.cdis import CDIS
from methods.checkpoints import Checkpoint
from methods.dagma import DAGMA
from methods.das import DAS
from methods.fit import one_line
from methods.floors import ColumnOrder, Empty, R2SortRegress, RandomDag, VarSortRegress
from methods.flop import FLOP
from methods.foundcause import FoundCause
from methods.function import FunctionMethod
from methods.gies import GIES
from methods.igsp import IGSP
from methods.lingam import LiNGAM
from methods.needs import needs
from methods.notears import NOTEARS
from methods.notears_mlp import NOTEARSMLP
from methods.pc import PC
from methods.random_regress import RandomRegress
from methods.sdcd import SDCD
from methods.sea import SEA
from methods.tabcausal import TabCausal

GROUP = "causal_arena.methods"

_CLASSICAL = (RandomRegress, PC, CDIS, GIES, IGSP, LiNGAM, DAS)
_NEURAL = (DAGMA, NOTEARS, NOTEARSMLP, SDCD)
_PRETRAINED = (Arrow, AVICI, CauScale, CDFM, FoundCause, SEA, TabCausal)
#: Not in the paper: a modern search, and the published program that our AVICI is compared with.
_MORE = (FLOP, AVICIPackage)
_FLOORS = (VarSortRegress, R2SortRegress, ColumnOrder, RandomDag, Empty)

_BUILT_IN: dict[str, type[Method]] = {cls.name: cls for cls in (*_CLASSICAL, *_NEURAL, *_PRETRAINED, *_MORE, *_FLOORS)}


def names() -> list[str]:
    """Every name that `get` knows, built-in ones first. Loads nothing."""
    return [*_BUILT_IN, *_third_party()]


def floors() -> list[str]:
    """The built-in controls that can run here: what is printed below a leaderboard."""
    return [name for name, cls in _BUILT_IN.items() if cls.capabilities.control and not needs(cls.capabilities)]


def get(name: str, /, **settings: Any) -> Method:
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
        _check_types(method.name, method, method.settings() if dataclasses.is_dataclass(method) else {})
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

    The keys are `name`, `title`, `status`, `reason`, `needs`, `capabilities`, and `settings` with their defaults.
    The status is `ready`, or `needs package`, `needs environment`, `needs checkpoint` or `needs GPU`; `needs` lists all
    that is missing, each with its `kind`, `what`, and the `command` that would bring it, and `reason` is the first.

    Built-in libraries are looked for and not imported. A third-party entry point that cannot be loaded is
    `unsupported` with its error as reason; its `capabilities` and `settings` are then empty.
    """
    rows = []
    for name in names():
        row: dict[str, Any] = {"name": name, "title": name, "needs": [], "capabilities": {}, "settings": {}}
        try:
            method = get(name)
        except MethodError as error:
            row |= {"status": Status.unsupported.value, "reason": str(error)}
        else:
            found = needs(method.capabilities)
            row |= {
                "title": method.title,
                "status": f"needs {found[0].kind}" if found else "ready",
                "reason": str(found[0]) if found else "",
                "needs": [dataclasses.asdict(need) for need in found],
                "capabilities": dataclasses.asdict(method.capabilities),
                "settings": method.settings(),
            }
        rows.append(row)
    return rows


def checkpoints() -> dict[str, tuple[Checkpoint, list[str]]]:
    """The published weights that methods read, by name, each with the names of these methods."""
    found: dict[str, tuple[Checkpoint, list[str]]] = {}
    for name in names():
        try:
            published = get(name).capabilities.checkpoint
        except MethodError:  # somebody else's, and broken; `describe` tells
            continue
        if published is not None:
            found.setdefault(published.name, (published, []))[1].append(name)
    return found


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
    _check_types(name, offered, settings)
    try:
        method = make(**settings)
        called, capable = method.name, isinstance(method.capabilities, Capabilities)
    except (TypeError, AttributeError) as error:
        raise MethodError(f"method '{name}' cannot be made: {one_line(error)}") from error
    if called != name or not capable:
        raise MethodError(f"method '{name}' must have that `name` (its is '{called}') and `capabilities`")
    return method


def _check_types(name: str, offered: Any, settings: dict[str, Any]) -> None:
    """MethodError for a setting that is not the number that its annotation says; numbers must be finite."""
    try:
        hints = typing.get_type_hints(offered if isinstance(offered, type) else type(offered))
    except NameError:  # annotations that only its own module understands
        return
    for setting, value in settings.items():
        kind, number = hints.get(setting), isinstance(value, numbers.Real) and not isinstance(value, bool)
        if value is None and kind in (int | None, float | None):
            continue
        if kind in (int, int | None) and not (number and isinstance(value, numbers.Integral)):
            raise MethodError(f"{name}: {setting} is {value!r}; it must be a whole number")
        if kind in (float, float | None) and not (number and math.isfinite(typing.cast(float, value))):
            raise MethodError(f"{name}: {setting} is {value!r}; it must be a finite number")


def _did_you_mean(name: str) -> str:
    titles = {cls.title.lower(): key for key, cls in _BUILT_IN.items()}
    near = difflib.get_close_matches(name.lower(), [*names(), *titles], n=1)
    return f", did you mean '{titles.get(near[0], near[0])}'?" if near else ""
