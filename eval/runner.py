"""`run`: the shared protocol of the paper (4.5, B.1) over scenarios and methods, resumable at any row."""

import dataclasses
import json
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from arena.dataset import SPLITS
from arena.errors import MethodError, RunError
from arena.scenario import Scenario
from eval import plan as planning
from eval import provenance
from eval.fitted import Fitted
from eval.metrics import score
from eval.options import TIMEOUT, budgets, check_executor, check_limits, check_splits
from eval.plan import BLOCK, Task
from eval.pool import fit_all
from eval.run import Run
from eval.scenarios import about
from eval.sid import sid
from eval.station import FitWorker
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
    timeout: float | None | Mapping[str, float | None] = TIMEOUT,
    memory: float | None = 4 * GIB,
    jobs: int = 1,
    batch: int = 16,
    seed: int = 0,
    retry: bool = False,
    reduced: bool = False,
    executor: str = "local",
    address: str | None = None,
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
        timeout: Wall time of one fit in seconds, None for no limit; or by row label, an hour where one is left out.
        memory: Memory of one worker in bytes, None for no limit.
        jobs: Worker processes at a time.
        batch: Tables that a method which is `batched` gets at once, 1 for one by one. A table on which that fails is
            fitted alone.
        seed: Every fit's seed follows from it and from the content of the table, so that every method, under
            whatever label, gets the same one.
        retry: Also do again the rows that are not `completed`.
        reduced: Do nothing but fit again, with the reduced configuration of their method, the rows that ended for
            want of time or memory (paper B.3). They are marked.
        executor: `local`, or `ray` for a Ray cluster. A run may be continued on the other.
        address: Of the Ray cluster; None for one that this process is connected to, or else a new one on this
            machine.
        progress: Called in this thread.
        command: How the run was started, for the record.
        worker: Makes the isolated workers; `methods.isolate.Worker` by default. For the local executor.

    Returns:
        The run as far as it was asked for here; `Run.open(out)` shows all that the directory holds.

    Raises:
        RunError: If an option is out of range, `out` holds other results, another process runs there, or there is
            nothing to run.
        MethodError: If a method is unknown.
        KeyboardInterrupt: After closing the workers; finished rows are kept.
    """
    check_limits(seed=seed, jobs=jobs, replicates=replicates, timeout=timeout, memory=memory, batch=batch)
    check_executor(executor, address)
    if retry and reduced:
        raise RunError("retry fits again as before, reduced with another configuration; ask for one of them")
    scenarios, chosen, splits, out = list(scenarios), resolve(methods), check_splits(splits), Path(out)
    limits = budgets(timeout, chosen)
    tasks = planning.plan(scenarios, chosen, splits, replicates, int(seed), limits)

    out.mkdir(parents=True, exist_ok=True)
    with Store(out / FILENAME, write=True) as store:
        finished = store.finished()
        todo = planning.reduced(tasks, finished) if reduced else planning.remaining(tasks, finished, retry)
        stacks = planning.stacks(planning.in_blocks(todo, BLOCK * jobs), batch)
        options = {"splits": splits, "replicates": replicates, "timeout": timeout, "memory": memory}
        how = {"jobs": jobs, "batch": batch, "executor": executor, "address": address, "reduced": reduced}
        _record(out, chosen, tasks, limits, {"seed": seed, **options, **how, "command": list(command)})

        total = len(todo) if reduced else len(tasks)
        done, began = total - len(todo), time.monotonic()
        tell = progress or (lambda event: None)
        tell(Progress(done, total, None, 0.0))
        described = store.described()
        fits = _fits(stacks, executor, address, worker, memory, jobs)
        try:
            for count, fitted in enumerate(fits, 1):
                row, arrays, info = score_row(fitted)
                store.add(row, arrays, info)
                if fitted.table is not None and row["scenario"] not in described:
                    described.add(row["scenario"])
                    scenario, names = fitted.task.scenario, fitted.table.dataset.names
                    store.add_scenario(scenario.id, scenario.family, about(scenario, names, fitted.table.truth))
                rate = count / max(time.monotonic() - began, 1e-9)
                tell(Progress(done + count, total, row, rate))
        finally:
            fits.close()
    return Run(out, planned=[task.key for task in tasks])


def _fits(
    stacks: Sequence[Sequence[Task]],
    executor: str,
    address: str | None,
    worker: Callable[[], FitWorker] | None,
    memory: float | None,
    jobs: int,
) -> Generator[Fitted, None, None]:
    limit = None if memory is None else int(memory)
    if executor == "ray" and stacks:
        from eval.ray_pool import fit_all as on_ray

        return on_ray(stacks, memory=limit, jobs=jobs, address=address)
    return fit_all(stacks, worker or _isolated(limit), jobs=jobs)


def score_row(fitted: Fitted) -> tuple[dict[str, Any], dict[str, np.ndarray | None] | None, dict[str, Any]]:
    """The row of one fit, the arrays kept beside it (None unless completed), the method's own remarks."""
    task, table, estimate = fitted.task, fitted.table, fitted.estimate
    row = {
        **task.key._asdict(),
        "family": task.scenario.family,
        "control": int(task.method.capabilities.control),
        "status": str(fitted.status),
        "reason": fitted.reason,
        "detail": "\n".join(filter(None, [task.before, fitted.detail])),
        "reduced": int(bool(task.before)),
        "batch": fitted.batch,
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
    if table is None:
        return row, None, {}
    truth = table.truth
    row |= {"n": table.dataset.n, "d": table.dataset.d, "edges": int(truth.sum())}
    row |= {"var_sortability": table.var_sortability, "r2_sortability": table.r2_sortability}
    if fitted.status != Status.completed or estimate is None:
        return row, None, {}
    # A PAG has marks that a CPDAG lacks, so its distance to one would mean nothing.
    native = estimate.native if task.method.capabilities.output == "cpdag" else None
    began = time.perf_counter()
    try:
        metrics = score(truth, estimate.adjacency, estimate.scores, native, table.targets)
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


def _isolated(memory: int | None) -> Callable[[], FitWorker]:
    from methods.isolate import Worker

    return lambda: Worker(memory_limit=memory)


def _record(
    out: Path,
    methods: Mapping[str, Method],
    tasks: Sequence[Task],
    limits: Mapping[str, float | None],
    options: Mapping[str, Any],
) -> None:
    settings = {task.key.method: json.loads(task.settings) for task in tasks}
    entry = {
        **options,
        "rows": len(tasks),
        "scenarios": provenance.tables(task.key for task in tasks),
        "methods": {
            label: {
                "settings": settings[label],
                "reduced": dict(method.reduced),
                "timeout": limits[label],
                "licence": method.capabilities.licence,
                "citation": method.capabilities.citation,
                "versions": provenance.method_versions(method),
            }
            for label, method in methods.items()
        },
    }
    provenance.record(out, entry)
