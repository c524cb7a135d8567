"""What a run may be asked for, checked before anything is written."""

import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

from arena.dataset import SPLITS
from arena.errors import RunError

# Seconds of wall time for a fit (paper B.3: one hour a graph row).
TIMEOUT = 3600.0
EXECUTORS = ("local", "ray")


def check_splits(splits: str | Sequence[str]) -> list[str]:
    """The splits as a list; a single one may be given by its name alone.

    Raises:
        RunError: If one is unknown, or there is none.
    """
    splits = [splits] if isinstance(splits, str) else list(splits)
    for split in splits:
        if split not in SPLITS:
            raise RunError(f"unknown split '{split}'; splits are {', '.join(SPLITS)}")
    if not splits:
        raise RunError(f"no split is given; splits are {', '.join(SPLITS)}")
    return splits


def check_limits(
    *, seed: Any = 0, jobs: Any = 1, replicates: Any = None, timeout: Any = None, memory: Any = None, batch: Any = 1
) -> None:
    """RunError that names the first of these that is out of range; None stands for no limit."""
    whole = (("seed", seed, 0), ("jobs", jobs, 1), ("replicates", replicates, 1), ("batch", batch, 1))
    for name, value, least in whole:
        if value is None and name == "replicates":
            continue
        if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
            raise RunError(f"{name} must be a whole number of at least {least}, found {value!r}")
    times = {"timeout": timeout}
    if isinstance(timeout, Mapping):
        times = {f"timeout of '{label}'": value for label, value in timeout.items()}
    for name, value, unit in (*((name, one, "seconds") for name, one in times.items()), ("memory", memory, "bytes")):
        if value is None:
            continue
        if not isinstance(value, Real) or isinstance(value, bool) or not 0 < float(value) < math.inf:
            raise RunError(f"{name} must be a positive number of {unit}, or None for no limit, found {value!r}")


def budgets(timeout: float | None | Mapping[str, float | None], labels: Iterable[str]) -> dict[str, float | None]:
    """Seconds that a fit may take, for every row label.

    Args:
        timeout: The same for all; or by label, where those that are left out have `TIMEOUT`.
        labels: The row labels of the run.

    Raises:
        RunError: If a label is of no method of the run.
    """
    labels = list(labels)
    if not isinstance(timeout, Mapping):
        return dict.fromkeys(labels, timeout)
    for label in timeout:
        if label not in labels:
            raise RunError(f"a budget is given for '{label}', which is not run; methods are {', '.join(labels)}")
    return {label: timeout.get(label, TIMEOUT) for label in labels}


def parse_budgets(text: str | None) -> dict[str, float]:
    """`pc=600,cdis=7200` as label -> seconds.

    Raises:
        RunError: If it is something else.
    """
    found: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in (text or "").split(","))):
        label, _, seconds = part.rpartition("=")
        try:
            found[label.strip()] = float(seconds)
        except ValueError:
            label = ""
        if not label.strip():
            raise RunError(f"budget '{part}' is not METHOD=SECONDS, as in pc=600,cdis=7200")
    return found


def check_executor(executor: str, address: str | None) -> None:
    """RunError if there is no such executor, or an address is given to one that has none."""
    if executor not in EXECUTORS:
        raise RunError(f"unknown executor '{executor}'; executors are {', '.join(EXECUTORS)}")
    if address is not None and executor != "ray":
        raise RunError(f"an address is of a Ray cluster; the executor is '{executor}'")
