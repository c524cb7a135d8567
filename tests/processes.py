"""What tests ask of processes that they started."""

import time
from collections.abc import Callable

import psutil


def within(seconds: float, condition: Callable[[], object]) -> bool:
    """Whether a condition comes true within that time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
