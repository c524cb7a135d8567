"""One fit of one method on one table, in this process, by the steps of the shared protocol (paper 4.5)."""

import contextlib
import json
import random
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

from arena.dataset import Dataset
from arena.errors import MethodError
from methods.base import (
    ARROW,
    CIRCLE,
    TAIL,
    Estimate,
    InvalidAnswer,
    Method,
    Outcome,
    Output,
    Status,
    generator,
)
from methods.needs import Need, missing
from methods.preflight import Preflight, prepared

_DETAIL = 2000


def fit(method: Method, dataset: Dataset, key: jax.Array, *, on_begin: Callable[[], None] = lambda: None) -> Outcome:
    """Fit a method on a table and say how it ended; whatever the method does, this returns.

    Args:
        method: From `methods.registry.get` or `as_method`.
        dataset: The caller's table; neither modified nor shown to the method with its graph.
        key: A typed JAX key. It also seeds the global generators of Python, NumPy and PyTorch for the time of
            the fit, for libraries that draw from those.
        on_begin: Called when loading is over and the method's own time starts.

    Returns:
        The outcome; its estimate is in the columns of `dataset`, and `estimate.info["preflight"]` says what
        was dropped.
    """
    reason = refusal(method, dataset)
    if reason:
        return Outcome(Status.unsupported, reason)

    start = time.perf_counter()
    try:
        with preserved():
            method.prepare()
    except ImportError as error:
        need = Need("package", one_line(error), method.capabilities.install)
        return Outcome(Status.unsupported, str(need), detail=_tail())
    except MethodError as error:
        return Outcome(Status.unsupported, one_line(error), detail=_tail())
    except Exception as error:
        return Outcome(Status.failed, f"while loading: {one_line(error)}", detail=_tail())
    ready = prepared(dataset, method.capabilities)
    seconds = {"load": time.perf_counter() - start}
    if ready.dataset is None:
        return Outcome(Status.unsupported, too_few(ready), seconds=seconds)

    on_begin()
    start = time.perf_counter()
    try:
        with seeded(key):
            answer = method.fit(ready.dataset, key)
    except MemoryError as error:
        seconds["fit"] = time.perf_counter() - start
        return Outcome(Status.failed, f"out of memory: {one_line(error)}", seconds=seconds, detail=_tail())
    except MethodError as error:
        return Outcome(Status.unsupported, one_line(error), seconds=seconds)
    except InvalidAnswer as error:
        seconds["fit"] = time.perf_counter() - start
        return Outcome(Status.invalid, str(error), seconds=seconds)
    except (Exception, SystemExit) as error:
        seconds["fit"] = time.perf_counter() - start
        return Outcome(Status.failed, one_line(error) + _remedy(error), seconds=seconds, detail=_tail())
    seconds["fit"] = time.perf_counter() - start

    try:
        estimate = checked(answer, ready.dataset.names, method.capabilities.output)
    except ValueError as error:
        return Outcome(Status.invalid, str(error), seconds=seconds)
    return Outcome(Status.completed, estimate=restored(estimate, ready), seconds=seconds)


def refusal(method: Method, dataset: Dataset) -> str:
    """Why the method cannot take the dataset, judged by what it declares; empty if it can."""
    can = method.capabilities
    if dataset.split not in can.splits:
        return f"{method.name} takes {' and '.join(can.splits)} tables, this one is {dataset.split}"
    if dataset.n < 2:
        return f"this table has {dataset.n} rows; at least 2 are needed"
    if can.max_d is not None and dataset.d > can.max_d:
        return f"{method.name} takes at most {can.max_d} variables, this table has {dataset.d}"
    return missing(can)


def too_few(ready: Preflight) -> str:
    constant = ", ".join(ready.report["constant"]) or "none"
    why = f"constant: {constant}"
    if ready.report["dropped_copies"]:
        why += f"; copies: {', '.join(copy for _, copy in ready.report['copies']) or 'none'}"
    found = f"{len(ready.columns)} of {ready.d} columns can be used ({why})"
    return f"{found}; at least 2 are needed"


@contextlib.contextmanager
def seeded(key: jax.Array) -> Iterator[None]:
    """Seed the global generators from the key, so that what ran before has no effect; put them back after.

    Where PyTorch is loaded its default dtype is float32 meanwhile, whatever another library made of it.
    """
    seed = int(generator(key).integers(2**32))
    with preserved():
        random.seed(seed)
        np.random.seed(seed)
        with _torch_seeded(sys.modules.get("torch"), seed):
            yield


@contextlib.contextmanager
def preserved() -> Iterator[None]:
    """Put the global generators of Python and NumPy back after; some libraries draw while they are imported."""
    python, numpy = random.getstate(), np.random.get_state()
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)


@contextlib.contextmanager
def _torch_seeded(torch: Any, seed: int) -> Iterator[None]:
    if torch is None:
        yield
        return
    dtype, state = torch.get_default_dtype(), torch.get_rng_state()
    torch.set_default_dtype(torch.float32)
    torch.manual_seed(seed)
    try:
        yield
    finally:
        torch.set_default_dtype(dtype)
        torch.set_rng_state(state)


def checked(answer: Any, names: tuple[str, ...], output: Output = "digraph") -> Estimate:
    """The answer of a method with its arrays in their declared types.

    Raises:
        ValueError: If it is not an `Estimate`, or a matrix has the wrong shape, a value that is not finite,
            an entry of a graph that is neither 0 nor 1 (for the `native` of a PAG: no endpoint mark), or an edge from
            a variable to itself.
    """
    if not isinstance(answer, Estimate):
        raise ValueError(f"the method returned {type(answer).__name__}, not an Estimate")
    if not isinstance(answer.info, dict):
        raise ValueError(f"info is {type(answer.info).__name__}, not a dict")
    native = _marks if output == "pag" else _graph
    return Estimate(
        adjacency=_graph("adjacency", answer.adjacency, names),
        scores=None if answer.scores is None else _scores(answer.scores, names),
        native=None if answer.native is None else native("native", answer.native, names),
        info=plain(answer.info),
    )


def _matrix(what: str, value: Any, names: tuple[str, ...]) -> np.ndarray:
    d = len(names)
    try:
        matrix = np.asarray(value)
    except Exception as error:
        raise ValueError(f"{what} is {type(value).__name__}, not an array ({one_line(error)})") from error
    if matrix.shape != (d, d):
        raise ValueError(f"{what} has shape {matrix.shape}, expected {(d, d)}")
    if matrix.dtype.kind not in "biuf":
        raise ValueError(f"{what} has dtype {matrix.dtype}, expected numbers")
    if not np.isfinite(matrix).all():
        i, j = np.argwhere(~np.isfinite(matrix))[0]
        raise ValueError(f"{what} {names[i]} -> {names[j]} is {matrix[i, j]}; every entry must be finite")
    return matrix


def _graph(what: str, value: Any, names: tuple[str, ...], allowed: Sequence[int] = (0, 1)) -> np.ndarray:
    matrix = _matrix(what, value, names)
    wrong = ~np.isin(matrix, allowed)
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        entries = f"{', '.join(map(str, allowed[:-1]))} or {allowed[-1]}"
        raise ValueError(f"{what} {names[i]} -> {names[j]} is {matrix[i, j]}; entries must be {entries}")
    if np.diagonal(matrix).any():
        name = names[int(np.flatnonzero(np.diagonal(matrix))[0])]
        raise ValueError(f"{what} has an edge from '{name}' to itself")
    return matrix.astype(np.int8)


def _marks(what: str, value: Any, names: tuple[str, ...]) -> np.ndarray:
    marks = _graph(what, value, names, allowed=(0, CIRCLE, ARROW, TAIL))
    half = (marks != 0) & (marks.T == 0)
    if half.any():
        i, j = np.argwhere(half)[0]
        raise ValueError(f"{what} has a mark at '{names[j]}' and none at '{names[i]}'; an edge has one at both ends")
    return marks


def _scores(value: Any, names: tuple[str, ...]) -> np.ndarray:
    scores = _matrix("score", value, names).astype(np.float64)
    np.fill_diagonal(scores, 0.0)
    return scores


def restored(estimate: Estimate, ready: Preflight) -> Estimate:
    return Estimate(
        adjacency=ready.restore(estimate.adjacency),
        scores=None if estimate.scores is None else ready.restore(estimate.scores),
        native=None if estimate.native is None else ready.restore(estimate.native),
        info={**estimate.info, "preflight": ready.report},
    )


def plain(info: dict[str, Any]) -> dict[str, Any]:
    """The same in JSON values: arrays as lists, NaN and infinity as None, other objects as text."""
    as_json = lambda x: x.tolist() if hasattr(x, "tolist") else str(x)  # noqa: E731
    return json.loads(json.dumps(info, default=as_json, skipkeys=True), parse_constant=lambda _: None)


def one_line(error: BaseException) -> str:
    """`Type: message` on one line, without the type for our own errors, whose messages stand alone."""
    text = " ".join(str(error).split())
    if isinstance(error, MethodError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _remedy(error: BaseException) -> str:
    """What to do about an error that has to do with how tables are handed over; empty for others."""
    if isinstance(error, ValueError | TypeError) and re.search("read-?only", str(error)):
        return "; the table is read-only, so work on a copy of it: table.copy()"
    return ""


def _tail() -> str:
    return traceback.format_exc()[-_DETAIL:]
