"""What commands say: results on standard output, remarks and progress on standard error."""

import contextlib
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import typer

EXIT_INTERRUPTED = 130


@contextlib.contextmanager
def interruptible() -> Iterator[Callable[[], None]]:
    """Say what an interrupt leaves; whatever calls us would pass it on without a word.

    Yields a function that raises KeyboardInterrupt if one came and was lost: Python drops exceptions that are raised
    while it collects garbage.
    """
    came: list[int] = []

    def note(signum: int, frame: Any) -> NoReturn:
        came.append(signum)
        raise KeyboardInterrupt

    def check() -> None:
        if came:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, note)
    try:
        yield check
        check()
    except KeyboardInterrupt:
        print("interrupted; the same command goes on from here", file=sys.stderr)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    finally:
        signal.signal(signal.SIGINT, before)


def split_names(names: str | None) -> list[str] | None:
    """Names from a comma-separated list."""
    return None if names is None else [name.strip() for name in names.split(",") if name.strip()]


def console(stderr: bool = False) -> Any:
    """Where text goes; a file or a pipe is wide."""
    from rich.console import Console

    found = Console(stderr=stderr, highlight=False)
    if not found.is_terminal:
        found.width = 160  # a file or a pipe has no width of its own
    return found


def say(text: str, style: str = "") -> None:
    """A remark for the person; standard output is kept for results."""
    console(stderr=True).print(text, style=style, soft_wrap=True, markup=False)


def print_json(value: Any) -> None:
    """A result for programs."""
    import json

    print(json.dumps(value, indent=2, ensure_ascii=False))


def print_table(columns: tuple[str, ...], rows: list[list[str]]) -> None:
    """A result for people."""
    from rich.box import SIMPLE
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns, box=SIMPLE)
    for row in rows:
        table.add_row(*map(Text, row))
    console().print(table)


class progress_bar:  # noqa: N801  (used like a function)
    """A bar with count, rate and time left on standard error; where that is no terminal, a line now and then."""

    SECONDS_BETWEEN_LINES = 15.0

    def __init__(self, unit: str, check: Callable[[], None]):
        self.check = check
        self.unit, self.bar, self.began, self.said, self.first = unit, None, time.monotonic(), time.monotonic(), 0

    def __enter__(self) -> "progress_bar":
        return self

    def __call__(self, done: int, total: int, note: str) -> None:
        self.check()
        now = time.monotonic()
        if self.bar is None:
            self.bar, self.began, self.first = self._start(total, done), now, done
        rate = (done - self.first) / max(now - self.began, 1e-9)
        self.bar.update(self.bar.task_ids[0], completed=done, rate=f"{rate:.1f}/s" if rate else "", note=note)
        if self.bar.disable and now - self.said > self.SECONDS_BETWEEN_LINES:
            self.said = now
            left = f", {(total - done) / rate:.0f} s left" if rate else ""
            print(f"{done}/{total} {self.unit}, {rate:.1f}/s{left}", file=sys.stderr)

    def _start(self, total: int, done: int) -> Any:
        from rich import progress

        to, text = console(stderr=True), progress.TextColumn
        columns = (progress.BarColumn(30), progress.MofNCompleteColumn(), text(self.unit), text("{task.fields[rate]}"),
                   progress.TimeRemainingColumn(), text("{task.fields[note]}", style="dim", markup=False))  # fmt: skip
        bar = progress.Progress(*columns, console=to, transient=True, disable=not to.is_terminal)
        bar.add_task(self.unit, total=total, completed=done, rate="", note="")
        bar.start()
        return bar

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()
