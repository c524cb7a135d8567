"""What a run may be asked for, checked before anything is written."""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

from arena.dataset import SPLITS
from arena.errors import RunError


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
    *, seed: Any = 0, jobs: Any = 1, replicates: Any = None, timeout: Any = None, memory: Any = None
) -> None:
    """RunError that names the first of these that is out of range; None stands for no limit."""
    for name, value, least in (("seed", seed, 0), ("jobs", jobs, 1), ("replicates", replicates, 1)):
        if value is None and name == "replicates":
            continue
        if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
            raise RunError(f"{name} must be a whole number of at least {least}, found {value!r}")
    for name, value, unit in (("timeout", timeout, "seconds"), ("memory", memory, "bytes")):
        if value is None:
            continue
        if not isinstance(value, Real) or isinstance(value, bool) or not 0 < float(value) < math.inf:
            raise RunError(f"{name} must be a positive number of {unit}, or None for no limit, found {value!r}")
