"""Where a run's numbers came from: versions and machine, kept in `run.json` beside the rows."""

import datetime
import importlib.metadata
import json
import os
import platform
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from arena.errors import RunError
from eval.store import Key
from methods.base import Method

FILENAME = "run.json"
PACKAGES = ("causal-arena", "jax", "jaxlib", "equinox", "numpy", "scipy", "pandas", "gadjid")


def now() -> str:
    """The present time in UTC, ISO 8601."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


@cache
def version(distribution: str) -> str:
    """The installed version of a distribution, or `absent`."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "absent"


def method_versions(method: Method) -> dict[str, str]:
    """The versions that a row depends on: this package and what the method declares that it imports."""
    found = {"causal-arena": version("causal-arena")}
    for package in method.capabilities.packages:
        module = package.partition(".")[0]
        distribution = _distributions().get(module, [module])[0]
        found[distribution] = version(distribution)
    return found


@cache
def _distributions() -> Mapping[str, list[str]]:
    return importlib.metadata.packages_distributions()


def machine() -> dict[str, Any]:
    """Platform, processor count and JAX's device kind."""
    import jax

    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cpu_count": os.cpu_count(),
        "jax_devices": sorted({device.device_kind for device in jax.devices()}),
    }


def record(directory: Path, entry: Mapping[str, Any]) -> None:
    """Append one start of the run to `run.json`, which lists them all, oldest first.

    Args:
        directory: The run directory.
        entry: The plan and options of this start, as JSON values.
    """
    path = directory / FILENAME
    starts = read(directory)["starts"] if path.exists() else []
    versions = {name: version(name) for name in PACKAGES}
    starts.append({"started": now(), **entry, "versions": versions, **machine()})
    # Renaming is atomic: a reader, or the next start, never sees half a file.
    draft = path.with_suffix(".json.new")
    draft.write_text(json.dumps({"starts": starts}, indent=1, default=str))
    os.replace(draft, path)


def tables(keys: Iterable[Key]) -> dict[str, dict[str, int]]:
    """The tables of a start in brief: how many replicates, the first ones, of each scenario and split."""
    found: dict[str, dict[str, int]] = {}
    for key in keys:
        splits = found.setdefault(key.scenario, {})
        splits[key.split] = max(splits.get(key.split, 0), key.replicate + 1)
    return found


def planned(starts: Iterable[Mapping[str, Any]]) -> set[Key]:
    """The keys of all rows that any of the starts was to make; every method was to see every table of its start."""
    return {
        Key(scenario, split, replicate, method)
        for start in starts
        for scenario, splits in start["scenarios"].items()
        for split, count in splits.items()
        for replicate in range(count)
        for method in start["methods"]
    }


def read(directory: Path) -> dict[str, Any]:
    """The content of `run.json`; without any start if there is none.

    Raises:
        RunError: If it is damaged.
    """
    path = directory / FILENAME
    if not path.exists():
        return {"starts": []}
    try:
        found = json.loads(path.read_text())
    except ValueError as error:
        raise RunError(
            f"{path} is damaged: {error}; move it away to go on without the record of earlier starts"
        ) from None
    if not isinstance(found, dict) or not isinstance(found.get("starts"), list):
        raise RunError(f"{path} is damaged: it holds no list of starts; move it away to go on without it")
    return found
