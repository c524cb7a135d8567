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
from eval.store import Key
from methods.base import Method, Status


@dataclasses.dataclass(frozen=True)
class Task:
    """One fit.

    Attributes:
        key: Names the row that it will become.
        scenario: Where the table is from.
        method: What is fitted.
        split: The split, as in the key.
        seed: Seed of the fit, 31 bits.
        settings: The method's settings as canonical JSON.
        data_hash: Hash of the table and graph; empty where `damage` says why it could not be had.
        damage: Why the data cannot be used, or empty.
    """

    key: Key
    scenario: Scenario
    method: Method
    split: Split
    seed: int
    settings: str
    data_hash: str
    damage: str = ""

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
        for label, method in methods.items():
            key = Key(scenario.id, split, replicate, label)
            fit_seed = stable_hash([seed, *key]) >> 33
            tasks.append(Task(key, scenario, method, split, fit_seed, settings[label], data_hash, damage))
    if not tasks:
        raise RunError(f"nothing to run: no scenario has a replicate of {' or '.join(splits) or 'any split'}")
    return tasks


def check_splits(splits: Sequence[str]) -> None:
    """RunError if one of the splits is unknown, or there is none."""
    for split in splits:
        if split not in SPLITS:
            raise RunError(f"unknown split '{split}'; splits are {', '.join(SPLITS)}")
    if not splits:
        raise RunError(f"no split is given; splits are {', '.join(SPLITS)}")


def remaining(tasks: Sequence[Task], finished: Mapping[Key, Mapping[str, Any]], retry: bool) -> list[Task]:
    """The tasks without a finished row; with `retry` also those whose row is not `completed`.

    Raises:
        RunError: If a finished row that would be kept was made from other data, settings or another seed.
    """
    todo = []
    for task in tasks:
        row = finished.get(task.key)
        if row is None or (retry and row["status"] != Status.completed):
            todo.append(task)
            continue
        for what in ("data_hash", "settings", "seed"):
            found, wanted = row[what], getattr(task, what)
            # A hash is unknown while the data are damaged; that says nothing about the row.
            if found != wanted and "" not in (found, wanted):
                label = {"data_hash": "data", "settings": "settings", "seed": "seeds"}[what]
                raise RunError(
                    f"run directory holds results of other {label} for {' / '.join(map(str, task.key))} "
                    f"(found {found}, now {wanted}); choose another --out"
                )
    return todo


def settings_json(method: Method) -> str:
    """The settings of a method as canonical JSON, the same in every process; functions by qualified name."""
    fields = dataclasses.fields(method) if dataclasses.is_dataclass(method) else ()
    functions = {field.name: getattr(method, field.name) for field in fields}
    functions = {name: value for name, value in functions.items() if callable(value)}
    return json.dumps({**method.settings(), **functions}, sort_keys=True, default=_describe)


def stable_hash(value: Any) -> int:
    """A 64-bit hash of a JSON value that is the same in every process."""
    return int.from_bytes(hashlib.sha256(json.dumps(value).encode()).digest()[:8], "big")


def _describe(value: Any) -> Any:
    # repr() would hold a memory address, and resuming would see other settings.
    if isinstance(value, np.ndarray):
        return {"sha256": hashlib.sha256(value.tobytes()).hexdigest(), "shape": value.shape}
    if isinstance(value, np.generic):
        return value.item()
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{named.__module__}.{named.__qualname__}"
