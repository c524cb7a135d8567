"""Any callable from a table to a matrix, as a method."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from arena.dataset import Dataset
from arena.errors import MethodError
from methods.base import Capabilities, Estimate, Method


@dataclasses.dataclass(frozen=True)
class FunctionMethod(Method):
    """A function of the standardised table `[n, d]` that returns a `[d, d]` matrix, row causes column.

    A matrix of zeros and ones is the graph. Any other is taken for weights: `abs(weight) > threshold` is an
    edge, and `abs(weight)` its score. The default threshold of 0.3 is the one that weighted graphs are
    usually cut at (paper B.4); probabilities want 0.5. The function sees no intervention mask, so it gets
    observational tables only.

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
        matrix = np.asarray(self.function(dataset.values))
        if matrix.dtype.kind not in "biuf" or np.isin(matrix, (0, 1)).all():
            return Estimate(matrix)
        weights = np.abs(matrix)
        return Estimate((weights > self.threshold).astype(np.int8), scores=weights)
