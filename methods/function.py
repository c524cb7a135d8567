"""Any callable from a table to a matrix, as a method."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from arena.dataset import Dataset
from arena.errors import MethodError
from methods.base import Capabilities, Estimate, InvalidAnswer, Method
from methods.fit import one_line


@dataclasses.dataclass(frozen=True)
class FunctionMethod(Method):
    """A function of the standardised table `[n, d]` that returns a `[d, d]` matrix, row causes column.

    A matrix of zeros and ones is the graph, unless all are floating-point zeros. Any other is taken for weights:
    `abs(weight) > threshold` is an edge, and `abs(weight)` its score. The default threshold of 0.3 is the one that
    weighted graphs are usually cut at (paper B.4); probabilities want 0.5. A DataFrame will do as a matrix. The
    function sees no intervention mask, so it gets observational tables only.

    Attributes:
        function: The callable.
        name: What it is called in results.
        threshold: Where weights are cut, not negative.

    Raises:
        MethodError: If `threshold` is negative.
    """

    function: Callable[[np.ndarray], Any]
    name: str
    threshold: float = 0.3

    capabilities = Capabilities(splits=("obs",), scores=True, output="digraph")

    def __post_init__(self):
        if not self.threshold >= 0:
            raise MethodError(f"{self.name}: threshold is {self.threshold}; it must not be negative")

    @property
    def title(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.name

    def fit(self, dataset: Dataset, key: jax.Array) -> Estimate:
        matrix = _numbers(self.function(dataset.values), dataset.names)
        no_weight = matrix.dtype.kind == "f" and not matrix.any()
        if np.isin(matrix, (0, 1)).all() and not no_weight:
            return Estimate(matrix)
        weights = np.abs(matrix.astype(np.float64))
        adjacency = (weights > self.threshold).astype(np.int8)
        info = {}
        if weights.any() and not adjacency.any():
            info["remark"] = f"no weight is above the threshold {self.threshold:g}; the largest is {weights.max():.3g}"
        return Estimate(adjacency, scores=weights, info=info)


def _numbers(answer: Any, names: tuple[str, ...]) -> np.ndarray:
    """What a function returned as an array of numbers.

    Raises:
        InvalidAnswer: If it is something else; it says what, and what would be right.
    """
    d = len(names)
    returned = "None" if answer is None else type(answer).__name__
    wrong = f"the function returned {returned}, expected numbers in a [{d}, {d}] matrix, entry [i, j] for i -> j"
    if answer is None:
        raise InvalidAnswer(wrong)
    if isinstance(answer, Estimate):
        raise InvalidAnswer(f"{wrong}; a class derived from Method may return an Estimate")
    if all(hasattr(answer, name) for name in ("to_numpy", "index", "columns")):  # a DataFrame, and no import of pandas
        for axis in ("index", "columns"):
            labels = list(getattr(answer, axis))
            if labels != list(range(len(labels))) and labels != list(names):
                raise InvalidAnswer(
                    f"the function returned a DataFrame whose {axis} is {_brief(labels)}; the variables are "
                    f"{_brief(names)}, in this order; return the values alone if they are in this order, too"
                )
        answer = answer.to_numpy()
    if np.ma.is_masked(answer):
        raise InvalidAnswer(f"{wrong}; some of its entries are masked")
    try:
        matrix = np.asarray(answer)
    except Exception as error:
        raise InvalidAnswer(f"{wrong} ({one_line(error)})") from error
    if matrix.dtype.kind not in "biuf":
        raise InvalidAnswer(f"{wrong}; its entries are {matrix.dtype}" if matrix.ndim else wrong)
    return matrix


def _brief(labels: Sequence[Any]) -> str:
    return ", ".join(map(str, labels[:6])) + (" ..." if len(labels) > 6 else "")
