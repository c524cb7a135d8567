"""A process and all that it started: how much memory they hold, which of them still run, how they are ended."""

import contextlib
import time

import psutil

# Finding children means looking at every process of the machine, which is too slow to do at each look at the
# memory.
_LOOK_EVERY = 0.2


class Family:
    """A process and its descendants. One that was found once stays in, also when its parents are gone.

    Args:
        pid: The process, which must exist.
    """

    def __init__(self, pid: int):
        self._head = psutil.Process(pid)
        self._descendants: list[psutil.Process] = []
        self._looked_at = -float("inf")

    def memory(self) -> int:
        """Resident bytes of all of them now; 0 when they are gone."""
        if time.monotonic() - self._looked_at > _LOOK_EVERY:
            self._look()
        return sum(map(_resident, [self._head, *self._descendants]))

    def left_behind(self) -> bool:
        """Whether a descendant still runs."""
        self._look()
        return any(map(_runs, self._descendants))

    def kill_descendants(self) -> None:
        """Kill all but the process itself."""
        self._look()
        for process in self._descendants:
            with contextlib.suppress(psutil.Error):  # gone already
                process.kill()

    def _look(self) -> None:
        self._looked_at = time.monotonic()
        try:
            found = self._head.children(recursive=True)
        except psutil.Error:  # it is gone; its children may not be
            found = []
        lost = [process for process in set(self._descendants).difference(found) if process.is_running()]
        self._descendants = found + lost


def _resident(process: psutil.Process) -> int:
    try:
        return process.memory_info().rss
    except psutil.Error:
        return 0


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def gib(n: int) -> str:
    """Bytes as text: `1.31 GiB`."""
    return f"{n / 2**30:.2f} GiB"
