"""`Fitted`: how one task ended, and what can be said of it before any worker is asked."""

import dataclasses

from arena.dataset import Dataset
from arena.errors import ArenaError
from eval.plan import Task
from eval.table import Table, Tables
from methods.base import Estimate, Outcome, Status
from methods.preflight import blind


@dataclasses.dataclass(frozen=True)
class Fitted:
    """How one task ended.

    Attributes:
        task: The task.
        status: How it ended.
        reason: One line that says why, empty when completed.
        detail: More of it, for example a traceback.
        estimate: The answer, when completed.
        seconds: `load` and `fit` wall time, where known.
        batch: How many tables were fitted in the same call; `seconds` are then a share.
        table: The table; None if it could not be had, or was not asked for.
        started: When, UTC.
        finished: When, UTC.
    """

    task: Task
    status: Status
    reason: str = ""
    detail: str = ""
    estimate: Estimate | None = None
    seconds: dict[str, float] = dataclasses.field(default_factory=dict)
    batch: int = 1
    table: Table | None = None
    started: str = ""
    finished: str = ""


@dataclasses.dataclass(frozen=True)
class Ready:
    """A task and its table."""

    task: Task
    table: Table

    def hidden(self) -> Dataset:
        """The table without what the method must not see."""
        return blind(self.table.dataset, oracle_edges=self.task.method.capabilities.oracle_edges)

    def ended(self, outcome: Outcome, started: str, finished: str) -> Fitted:
        """The task with the outcome of its fit."""
        return Fitted(
            self.task,
            outcome.status,
            outcome.reason,
            outcome.detail,
            outcome.estimate,
            outcome.seconds,
            outcome.batch,
            self.table,
            started,
            finished,
        )


def prepare(task: Task, tables: Tables) -> Ready | Fitted:
    """The task with its table; or how it ended, where there is nothing to fit."""
    if not task.supported:
        splits = ", ".join(task.method.capabilities.splits)
        reason = f"split {task.key.split} is not one that the method takes ({splits})"
        return Fitted(task, Status.unsupported, reason)
    if task.damage:
        return Fitted(task, Status.failed, task.damage)
    try:
        return Ready(task, tables.get(task))
    except Exception as error:  # a damaged table costs its own rows, not the run
        told = str(error) if isinstance(error, ArenaError) else f"{type(error).__name__}: {error}"
        return Fitted(task, Status.failed, told or type(error).__name__)
