"""How much memory a process and its descendants hold."""

import time

import psutil

# Finding children means looking at every process of the machine, which is too slow to do at each look at the
# memory.
_FIND_CHILDREN_EVERY = 0.2


class MemoryWatch:
    """Resident memory of a process and everything that it started.

    Args:
        pid: The process.
    """

    def __init__(self, pid: int):
        self._pid = pid
        self._family: list[psutil.Process] = []
        self._found_at = -float("inf")

    def used(self) -> int:
        """Bytes in use now; 0 when the process is gone."""
        if time.monotonic() - self._found_at > _FIND_CHILDREN_EVERY:
            self._found_at = time.monotonic()
            self._family = self._find()
        return sum(map(_resident, self._family))

    def _find(self) -> list[psutil.Process]:
        try:
            parent = psutil.Process(self._pid)
            return [parent, *parent.children(recursive=True)]
        except psutil.Error:
            return []


def _resident(process: psutil.Process) -> int:
    try:
        return process.memory_info().rss
    except psutil.Error:
        return 0


def gib(n: int) -> str:
    """Bytes as text: `1.31 GiB`."""
    return f"{n / 2**30:.2f} GiB"
