"""The method protocol: `fit(dataset, key) -> Estimate`, and what a method declares about itself."""

import abc
import dataclasses
import enum
import importlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import jax
import numpy as np

from arena.dataset import SPLITS, Dataset, Split
from methods.checkpoints import Checkpoint

Output = Literal["dag", "digraph", "cpdag", "pag"]
Assumption = Literal["equal_noise", "nonlinear"]

#: Endpoint marks of a PAG: `marks[i, j]` is the mark at j of the edge between i and j, 0 where there is none.
CIRCLE, ARROW, TAIL = 1, 2, 3


class Status(enum.StrEnum):
    """How one fit ended. A failure is never an empty graph."""

    completed = "completed"
    failed = "failed"
    timed_out = "timed_out"
    invalid = "invalid"
    unsupported = "unsupported"


@dataclasses.dataclass(frozen=True)
class Capabilities:
    """What a method can do and needs.

    Attributes:
        splits: Splits that it accepts; `obs_int` only where the intervention mask is truly used.
        scores: Whether it returns edge scores (AUROC and AP are missing otherwise).
        output: What it natively returns.
        packages: Import names that must be present.
        install: The command that would bring them.
        max_d: Largest number of variables, None for no limit.
        distinct_columns: Whether exact copies of a column (correlation 1 or -1) must be left out, because the
            method divides by a residual variance or inverts a correlation matrix.
        needs_gpu: Whether it refuses to run without a GPU.
        licence: Licence of the wrapped code.
        citation: The paper to cite.
        environment: Name of the environment it runs in (`methods.environments`), None for ours.
        checkpoint: The published weights that it reads, None if it has none.
        batched: Whether `predict_batch` is faster than one `fit` after another.
        assumes: What its edge directions rest on, where a linear model with non-Gaussian noise would not do:
            `equal_noise`, the same noise variance in every variable, which a standardised table does not have
            (Reisach et al. 2021); `nonlinear`, additive noise around nonlinear functions.
        positional: Whether its answer depends on the order of the columns. It then gets them in an order that follows
            from what is in them (`methods.columns`), so that permuting the columns of a table permutes the answer.
        raw: Whether it gets the columns in their own units. Everything else gets them standardised.
        oracle_edges: Whether it is told how many edges the true graph has, as `dataset.info["n_edges"]`. Nothing
            else about the truth is ever handed over.
        discovers: Whether its directions are meant to be causal ones. RandomRegress and the floors do not claim that.
        control: Whether it is a floor, there to show what artefacts alone would score, and not ranked.
    """

    splits: tuple[Split, ...] = SPLITS
    scores: bool = False
    output: Output = "dag"
    packages: tuple[str, ...] = ()
    install: str = ""
    max_d: int | None = None
    distinct_columns: bool = False
    needs_gpu: bool = False
    licence: str = ""
    citation: str = ""
    environment: str | None = None
    checkpoint: Checkpoint | None = None
    batched: bool = False
    assumes: Assumption | None = None
    positional: bool = False
    raw: bool = False
    oracle_edges: bool = False
    discovers: bool = True
    control: bool = False


@dataclasses.dataclass(frozen=True)
class Estimate:
    """What a method says of a table.

    Attributes:
        adjacency: `[d, d]` int8, `adjacency[i, j] == 1` for i -> j. May be cyclic.
        scores: `[d, d]` edge scores, larger is more likely, or None.
        native: The equivalence class, where the method returns one, `[d, d]` int8; else None. How it is read follows
            from the declared output. `cpdag`: `native[i, j] == 1` alone is i -> j, both directions are an undirected
            edge. `pag`: `native[i, j]` is the mark at j of the edge between i and j, 0 where there is none, 1 a
            circle, 2 an arrowhead, 3 a tail (`CIRCLE`, `ARROW`, `TAIL`).
        info: Whatever else should be kept, as JSON values.
    """

    adjacency: np.ndarray
    scores: np.ndarray | None = None
    native: np.ndarray | None = None
    info: dict[str, Any] = dataclasses.field(default_factory=dict)


class InvalidAnswer(ValueError):
    """What a function or library returned is no answer; raised by `fit`, it makes the fit `invalid`, not `failed`."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How one fit of one method on one table ended.

    Attributes:
        status: One of the five `Status` values.
        reason: One line for people, empty when completed.
        estimate: The answer in the columns of the caller's table; there if and only if completed.
        seconds: `load` (starting, sending, importing, reading checkpoints) and `fit`, as far as they were
            reached.
        detail: Where there is more to know about a failure: the end of a traceback or of what was printed.
        batch: How many tables were fitted in the same call; `seconds` are then this one's share.

    Raises:
        ValueError: If an estimate comes with a failure, or none with a success.
    """

    status: Status
    reason: str = ""
    estimate: Estimate | None = None
    seconds: dict[str, float] = dataclasses.field(default_factory=dict)
    detail: str = ""
    batch: int = 1

    def __post_init__(self):
        if (self.status is Status.completed) != (self.estimate is not None):
            raise ValueError(f"an outcome '{self.status}' {'with' if self.estimate else 'without'} an estimate")


class Method(abc.ABC):
    """A causal discovery method. Concrete methods are frozen dataclasses whose fields are their settings.

    `fit` gets a table whose columns are standardised, finite and not constant, and must not modify it.

    Attributes:
        name: What is typed to get it.
        title: What tables call it.
        capabilities: What it can do and needs.
        quick: Settings with which a small table takes about a second, for tests that ask for any answer and not for
            the right one.
        reduced: Settings of its reduced configuration (paper B.3), for tables on which the full one was seen to be
            impractical; empty if it has none. Never used unless it is asked for, and recorded where it was.
    """

    name: str
    title: str
    capabilities: Capabilities
    quick: ClassVar[Mapping[str, Any]] = {}
    reduced: ClassVar[Mapping[str, Any]] = {}

    @abc.abstractmethod
    def fit(self, dataset: Dataset, key: jax.Array) -> Estimate:
        """Estimate the graph.

        Args:
            dataset: The table; `dataset.adjacency` is always None here.
            key: A typed JAX key; all randomness comes from it.

        Raises:
            MethodError: If the method is not meant for such a table; the fit is then `unsupported`.
            InvalidAnswer: If what it wraps returned something that is no answer.
        """

    def predict_batch(self, datasets: Sequence[Dataset], keys: Sequence[jax.Array]) -> list[Estimate]:
        """The estimates of many tables, each as `fit` would give it (up to rounding).

        A method that is `batched` extends it to one call of its network for tables of similar shape.
        """
        return [self.fit(dataset, key) for dataset, key in zip(datasets, keys, strict=True)]

    def prepare(self) -> None:
        """Load what `fit` needs, so that its time is counted as loading and not as fitting.

        Imports the declared packages. A method that reads a checkpoint extends it.

        Raises:
            ImportError: If a package cannot be imported; the fit is then `unsupported`.
            MethodError: If something else is missing, with the command or path that would mend it; likewise.
        """
        for package in self.capabilities.packages:
            importlib.import_module(package)

    def as_reduced(self) -> "Method | None":
        """The method in its reduced configuration; None if it has none, or is in it."""
        values = self.settings()
        if all(values.get(name) == value for name, value in self.reduced.items()):
            return None
        assert dataclasses.is_dataclass(self)
        return dataclasses.replace(self, **self.reduced)

    def settings(self) -> dict[str, Any]:
        """The settings by name, as JSON values."""
        assert dataclasses.is_dataclass(self)
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: value for name, value in values.items() if not callable(value) and name != "name"}


def generator(key: jax.Array) -> np.random.Generator:
    """A NumPy generator that is a function of a typed JAX key; for code that draws outside JAX."""
    return np.random.default_rng(np.asarray(jax.random.key_data(key)).ravel().tolist())
