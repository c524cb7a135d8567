"""What a run has to do: one task per scenario, split, replicate and method, in a fixed order."""

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from arena.dataset import SPLITS, Split
from arena.errors import ArenaError, RunError
from arena.scenario import Scenario
from eval.fingerprint import fingerprint, qualified_name
from eval.store import Key
from methods.base import Method, Status
from methods.padding import bucket

# Tables that a lane of the pool takes to one method before it goes on to the next.
BLOCK = 32


@dataclasses.dataclass(frozen=True)
class Task:
    """One fit.

    Attributes:
        key: Names the row that it will become.
        scenario: Where the table is from.
        method: What is fitted.
        split: The split, as in the key.
        seed: Seed of the fit, 31 bits: fixed by the table (and the run's seed), so the same for every method, label
            and scenario name.
        settings: The method's settings as canonical JSON.
        data_hash: Hash of the table and graph; empty where `damage` says why it could not be had.
        damage: Why the data cannot be used, or empty.
        timeout: Seconds of wall time that the fit may take, None for no limit.
        before: For a fit with the reduced configuration, how the full one ended; else empty.
    """

    key: Key
    scenario: Scenario
    method: Method
    split: Split
    seed: int
    settings: str
    data_hash: str
    damage: str = ""
    timeout: float | None = None
    before: str = ""

    @property
    def supported(self) -> bool:
        """Whether the method accepts the split."""
        return self.split in self.method.capabilities.splits


def plan(
    scenarios: Iterable[Scenario],
    methods: Mapping[str, Method],
    splits: Sequence[str],
    replicates: int | None,
    seed: int,
    timeout: float | None | Mapping[str, float | None] = None,
) -> list[Task]:
    """All tasks. A split that a scenario lacks is not planned; one that a method refuses is (as unsupported).

    The order takes the first replicate of every scenario before the second of any, and the scenarios in the
    order of a hash of their names, so that an early look at a run is a fair sample of it.

    Args:
        scenarios: With unique ids.
        methods: Row label to method.
        splits: Splits to run.
        replicates: At most so many replicates a scenario; None for all.
        seed: The run's seed.
        timeout: Seconds that a fit may take, or that for every row label.

    Raises:
        RunError: If two scenarios share an id, or nothing is left to do.
    """
    scenarios = list(scenarios)
    ids = [scenario.id for scenario in scenarios]
    for name in ids:
        if ids.count(name) > 1:
            raise RunError(f"scenario '{name}' is given more than once; ids must be unique within a run")
    settings = {label: settings_json(method) for label, method in methods.items()}

    tables: list[tuple[int, Scenario, Split]] = []
    for scenario in sorted(scenarios, key=lambda scenario: stable_hash(scenario.id)):
        count = scenario.n_replicates()
        for replicate in range(count if replicates is None else min(replicates, count)):
            for split in SPLITS:
                if split in splits and split in scenario.splits:
                    tables.append((replicate, scenario, split))
    tasks = []
    for replicate, scenario, split in sorted(tables, key=lambda table: table[0]):
        data_hash, damage = "", ""
        try:
            data_hash = scenario.content_hash(split, replicate)
        except ArenaError as error:
            damage = str(error)
        fit_seed = stable_hash([seed, data_hash]) >> 33
        for label, method in methods.items():
            key = Key(scenario.id, split, replicate, label)
            limit = timeout[label] if isinstance(timeout, Mapping) else timeout
            tasks.append(Task(key, scenario, method, split, fit_seed, settings[label], data_hash, damage, limit))
    if not tasks:
        raise RunError(f"nothing to run: no scenario has a replicate of {' or '.join(splits) or 'any split'}")
    return tasks


def in_blocks(tasks: Sequence[Task], tables: int) -> list[Task]:
    """The same tasks, by method within each block of so many tables, so that a worker seldom changes methods."""
    block: dict[tuple[str, str, int], int] = {}
    place: dict[str, int] = {}
    for task in tasks:
        block.setdefault(task.key[:3], len(block) // tables)
        place.setdefault(task.key.method, len(place))
    return sorted(tasks, key=lambda task: (block[task.key[:3]], place[task.key.method]))


def stacks(tasks: Sequence[Task], most: int) -> list[list[Task]]:
    """The same tasks, in about the same order, as lists of those that are fitted in one call.

    That is one task, except for methods that are `batched`: of theirs, up to `most` neighbours with tables of similar
    size (of one `methods.padding.bucket`).
    """
    found: list[list[Task]] = []
    open_: dict[tuple[int, int], list[Task]] = {}
    method = ""
    for task in tasks:
        if task.key.method != method:
            method, open_ = task.key.method, {}
        size = _size(task) if most > 1 else None
        stack = open_.get(size) if size else None
        if stack is None or len(stack) == most:
            stack = []
            found.append(stack)
            if size:
                open_[size] = stack
        stack.append(task)
    return found


def _size(task: Task) -> tuple[int, int] | None:
    """The size that tables in a stack share; None where a task must stay alone."""
    if not task.method.capabilities.batched or not task.supported or task.damage:
        return None
    try:
        n, d = task.scenario.shape(task.split, task.key.replicate)
    except ArenaError:  # found again, and said, when the table is read
        return None
    return bucket(n), bucket(d)


def remaining(tasks: Sequence[Task], finished: Mapping[Key, Mapping[str, Any]], retry: bool) -> list[Task]:
    """The tasks without a finished row; with `retry` also those whose row is not `completed`.

    Raises:
        RunError: If a finished row that would be kept was made from other data, settings or another seed.
    """
    todo = []
    reduced = _reduced_settings(tasks)
    for task in tasks:
        row = finished.get(task.key)
        if row is None or (retry and row["status"] != Status.completed):
            todo.append(task)
            continue
        conflict = _conflict(row, task, reduced[task.key.method] if row["reduced"] else task.settings)
        if conflict:
            raise RunError(f"run directory holds results of other {conflict}; choose another --out")
    return todo


def reduced(tasks: Sequence[Task], finished: Mapping[Key, Mapping[str, Any]]) -> list[Task]:
    """The tasks whose row ended for want of time or memory, with the reduced configuration of their method (B.3).

    Tasks of methods without one, and rows that had it already, are left out.

    Raises:
        RunError: As `remaining`.
    """
    remaining(tasks, finished, retry=False)
    settings, todo = _reduced_settings(tasks), []
    for task in tasks:
        row = finished.get(task.key)
        if row is None or row["reduced"] or not settings[task.key.method] or not out_of_budget(row):
            continue
        method = task.method.as_reduced()
        assert method is not None
        before = f"{row['status']}: {row['reason']}"
        todo.append(dataclasses.replace(task, method=method, settings=settings[task.key.method], before=before))
    return todo


def out_of_budget(row: Mapping[str, Any]) -> bool:
    """Whether a row, by its `status` and `reason`, is one that time or memory were too short for."""
    return row["status"] == Status.timed_out or (
        row["status"] == Status.failed and row["reason"].startswith("out of memory")
    )


def _reduced_settings(tasks: Sequence[Task]) -> dict[str, str]:
    """By row label, the settings of the reduced configuration; empty for a method without one."""
    methods = {task.key.method: task.method.as_reduced() for task in {task.key.method: task for task in tasks}.values()}
    return {label: "" if method is None else settings_json(method) for label, method in methods.items()}


def _conflict(row: Mapping[str, Any], task: Task, settings: str) -> str:
    """What a finished row was made from that the task, with these settings, is not; empty if they agree."""
    where = " / ".join(map(str, task.key))
    # A hash is unknown while the data are damaged, and the seed follows from it; that says nothing about the row.
    known = "" not in (row["data_hash"], task.data_hash)
    if known and row["data_hash"] != task.data_hash:
        return f"data for {where} (found {row['data_hash']}, now {task.data_hash})"
    if row["settings"] != settings:
        changed = _changed_code(json.loads(row["settings"]), json.loads(settings or "{}"))
        if changed:
            return f"settings for {where}: the code of {changed}, or a value that it uses, has changed since"
        return f"settings for {where} (found {row['settings']}, now {settings or 'no reduced configuration'})"
    if known and row["seed"] != task.seed:
        return f"seeds for {where} (found {row['seed']}, now {task.seed})"
    return ""


def _changed_code(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """The functions and classes whose fingerprint is all that differs between two settings; empty if more does."""
    different = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    names = [_fingerprinted(settings.get(name)) for name in different for settings in (before, now)]
    return " and ".join(sorted(set(names))) if names[::2] == names[1::2] and "" not in names else ""


def _fingerprinted(value: Any) -> str:
    return value["name"] if isinstance(value, dict) and value.keys() == {"name", "sha256"} else ""


def settings_json(method: Method) -> str:
    """The settings of a method as canonical JSON, the same in every process.

    Functions and other objects among them are a name and a fingerprint. So is the class of the method, under `class`,
    if it is not one of this package, which the recorded versions tell.
    """
    fields = dataclasses.fields(method) if dataclasses.is_dataclass(method) else ()
    functions = {field.name: getattr(method, field.name) for field in fields}
    values = {**method.settings(), **{name: value for name, value in functions.items() if callable(value)}}
    if not type(method).__module__.startswith("methods."):
        values["class"] = type(method) if fields else method
    return json.dumps(values, sort_keys=True, default=_described)


def stable_hash(value: Any) -> int:
    """A 64-bit hash of a JSON value that is the same in every process."""
    return int.from_bytes(hashlib.sha256(json.dumps(value).encode()).digest()[:8], "big")


def _described(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return {"name": qualified_name(value), "sha256": fingerprint(value)}
