"""`run`: the shared protocol of the paper (4.5, B.1) over scenarios and methods, resumable at any row."""

import dataclasses
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from arena.dataset import SPLITS
from arena.errors import MethodError, RunError
from arena.scenario import Scenario
from eval import provenance
from eval.metrics import score
from eval.options import check_limits, check_splits
from eval.plan import BLOCK, Task, in_blocks, plan, remaining
from eval.pool import Fitted, FitWorker, fit_all
from eval.run import Run
from eval.sid import sid
from eval.store import FILENAME, Store
from methods.base import Method, Status

GIB = 1 << 30

# One method, or several, or several by the label of their rows; `methods.registry.as_method` says what a method is.
Methods = str | Method | Callable[..., Any] | Iterable[Any] | Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Progress:
    """Told after each finished row, and once before the first.

    Attributes:
        done: Rows finished, those of earlier starts included.
        total: Rows planned.
        row: The row just finished (columns of `eval.store.COLUMNS`), None at the start.
        rate: Rows a second since this start.
    """

    done: int
    total: int
    row: dict[str, Any] | None
    rate: float


def run(
    scenarios: Iterable[Scenario],
    methods: Methods,
    *,
    out: str | Path,
    splits: str | Sequence[str] = SPLITS,
    replicates: int | None = None,
    timeout: float | None = 3600.0,
    memory: float | None = 4 * GIB,
    jobs: int = 1,
    seed: int = 0,
    retry: bool = False,
    progress: Callable[[Progress], None] | None = None,
    command: Sequence[str] = (),
    worker: Callable[[], FitWorker] | None = None,
) -> Run:
    """Fit every method to every table of every scenario, score the answers, and keep each row as it is
    finished.

    A failure is a row with a status and a reason, never a score. A run that was stopped, however, goes on
    where it was when it is called again with the same `out`.

    Args:
        scenarios: What is scored on.
        methods: Names, `Method`s or callables from table to matrix, or a single one; a mapping gives the labels of
            the rows, so that one method can run with several settings.
        out: The run directory.
        splits: `obs`, `obs_int` or both; one that a scenario lacks is left out, one that a method does not take
            becomes an `unsupported` row.
        replicates: At most so many replicates a scenario; None for all.
        timeout: Wall time of one fit in seconds, None for no limit.
        memory: Memory of one worker in bytes, None for no limit.
        jobs: Worker processes at a time.
        seed: Every fit's seed follows from it and from the content of the table, so that every method, under
            whatever label, gets the same one.
        retry: Also do again the rows that are not `completed`.
        progress: Called in this thread.
        command: How the run was started, for the record.
        worker: Makes the isolated workers; `methods.isolate.Worker` by default.

    Returns:
        The run as far as it was asked for here; `Run.open(out)` shows all that the directory holds.

    Raises:
        RunError: If an option is out of range, `out` holds other results, another process runs there, or there is
            nothing to run.
        MethodError: If a method is unknown.
        KeyboardInterrupt: After closing the workers; finished rows are kept.
    """
    check_limits(seed=seed, jobs=jobs, replicates=replicates, timeout=timeout, memory=memory)
    scenarios, chosen, splits, out = list(scenarios), resolve(methods), check_splits(splits), Path(out)
    tasks = plan(scenarios, chosen, splits, replicates, int(seed))

    out.mkdir(parents=True, exist_ok=True)
    with Store(out / FILENAME, write=True) as store:
        todo = in_blocks(remaining(tasks, store.finished(), retry), BLOCK * jobs)
        options = {"splits": splits, "replicates": replicates, "timeout": timeout, "memory": memory}
        _record(out, chosen, tasks, {"seed": seed, "jobs": jobs, **options, "command": list(command)})

        done, began = len(tasks) - len(todo), time.monotonic()
        tell = progress or (lambda event: None)
        tell(Progress(done, len(tasks), None, 0.0))
        fits = fit_all(todo, worker or _isolated(memory), jobs=jobs, timeout=timeout)
        try:
            for count, fitted in enumerate(fits, 1):
                row, arrays, info = score_row(fitted)
                store.add(row, arrays, info)
                rate = count / max(time.monotonic() - began, 1e-9)
                tell(Progress(done + count, len(tasks), row, rate))
        finally:
            fits.close()
    return Run(out, planned=[task.key for task in tasks])


def score_row(fitted: Fitted) -> tuple[dict[str, Any], dict[str, np.ndarray | None] | None, dict[str, Any]]:
    """The row of one fit, the arrays kept beside it (None unless completed), the method's own remarks."""
    task, truth, estimate = fitted.task, fitted.truth, fitted.estimate
    row = {
        **task.key._asdict(),
        "family": task.scenario.family,
        "control": int(task.method.capabilities.control),
        "status": str(fitted.status),
        "reason": fitted.reason,
        "detail": fitted.detail,
        "n": fitted.n,
        "seconds_load": fitted.seconds.get("load"),
        "seconds_fit": fitted.seconds.get("fit"),
        "seed": task.seed,
        "data_hash": task.data_hash,
        "settings": task.settings,
        "factors": json.dumps(task.scenario.factors, sort_keys=True, default=str),
        "versions": json.dumps(provenance.method_versions(task.method)),
        "started": fitted.started,
        "finished": fitted.finished,
    }
    if truth is not None:
        row |= {"d": len(truth), "edges": int(truth.sum())}
    if fitted.status != Status.completed or estimate is None or truth is None:
        return row, None, {}
    # A PAG has marks that a CPDAG lacks, so its distance to one would mean nothing.
    native = estimate.native if task.method.capabilities.output == "cpdag" else None
    began = time.perf_counter()
    try:
        metrics = score(truth, estimate.adjacency, estimate.scores, native, fitted.targets)
        row |= {name: value.item() for name, value in metrics.items()}
        row["sid"] = sid(truth, estimate.adjacency)
    except ValueError as error:
        return row | {"status": str(Status.invalid), "reason": f"cannot be scored: {error}"}, None, {}
    row["seconds_score"] = time.perf_counter() - began
    arrays = {
        "truth": truth,
        "adjacency": estimate.adjacency,
        "native": estimate.native,
        "scores": estimate.scores,
    }
    return row, arrays, estimate.info


def resolve(methods: Methods) -> dict[str, Method]:
    """The methods by row label.

    Raises:
        MethodError: If there is none, or one is unknown.
        RunError: If two have the same label.
    """
    if isinstance(methods, Mapping):
        labelled = list(methods.items())
    elif isinstance(methods, str) or callable(methods) or not isinstance(methods, Iterable):
        labelled = [("", methods)]
    else:
        labelled = [("", method) for method in methods]
    found: dict[str, Method] = {}
    for label, given in labelled:
        method = given if isinstance(given, Method) else _as_method(given)
        label = label or method.name
        if not isinstance(label, str):
            raise MethodError(f"the label of a method is a text, found {label!r}")
        if label in found:
            raise RunError(f"method '{label}' is given twice; name it once, or give a mapping from label to method")
        found[label] = method
    if not found:
        raise MethodError("no method is given; `arena methods` lists them")
    return found


def _as_method(given: Any) -> Method:
    from methods.registry import as_method

    return as_method(given)


def _isolated(memory: float | None) -> Callable[[], FitWorker]:
    from methods.isolate import Worker

    return lambda: Worker(memory_limit=None if memory is None else int(memory))


def _record(out: Path, methods: Mapping[str, Method], tasks: Sequence[Task], options: Mapping[str, Any]) -> None:
    settings = {task.key.method: json.loads(task.settings) for task in tasks}
    entry = {
        **options,
        "rows": len(tasks),
        "scenarios": provenance.tables(task.key for task in tasks),
        "methods": {
            label: {
                "settings": settings[label],
                "licence": method.capabilities.licence,
                "citation": method.capabilities.citation,
                "versions": provenance.method_versions(method),
            }
            for label, method in methods.items()
        },
    }
    provenance.record(out, entry)
