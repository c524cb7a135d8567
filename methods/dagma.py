"""DAGMA: structure learning with a log-determinant acyclicity constraint, from the package dagma."""

import contextlib
import dataclasses
import io
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from arena.dataset import Dataset
from arena.errors import MethodError
from methods.base import Capabilities, Estimate, Method, generator
from methods.linearity import spline_gain
from methods.notears import cut

# Steps of the nonlinear model where the library's own 230,000 would take ten minutes for ten variables: larger, fewer.
_REDUCED = {"lr": 5e-3, "warm_iter": 800, "max_iter": 2_000}


@dataclasses.dataclass(frozen=True)
class DAGMA(Method):
    """DAGMA, linear or nonlinear, with the library's penalties (Bello et al. 2022; paper B.4). Scores are weights.

    Which model is fitted follows from the data: the nonlinear one where splines predict the variables better than
    straight lines do, by more than `curvature` of their variance (`methods.linearity.spline_gain`). `info` has the
    choice and the gain. Both take all noise variances to be equal, which a standardised table cannot show
    (`methods.notears`).

    Attributes:
        model: `auto`, `linear` or `nonlinear`.
        curvature: The gain above which `auto` takes the nonlinear model.
        schedule: Of the nonlinear model: `library` is what its authors advise; `reduced` takes fewer and larger
            steps, and is recorded in `info` as `reduced`.
        threshold: Weights up to this size are no edges.
        hidden: Hidden units of each network.

    Raises:
        MethodError: If a setting is out of range.
    """

    model: str = "auto"
    curvature: float = 0.05
    schedule: str = "reduced"
    threshold: float = 0.3
    hidden: int = 10

    name = "dagma"
    title = "DAGMA"
    capabilities = Capabilities(
        splits=("obs",),
        scores=True,
        output="digraph",
        positional=True,
        packages=("dagma", "torch"),
        install="pip install 'causal-arena[torch]'",
        assumes="equal_noise",
        licence="Apache-2.0 (dagma)",
        citation="Bello, Aragam and Ravikumar (2022). DAGMA: Learning DAGs via M-matrices and a Log-Determinant "
        "Acyclicity Characterization. NeurIPS",
    )

    def __post_init__(self):
        for name, allowed in (("model", ("auto", "linear", "nonlinear")), ("schedule", ("library", "reduced"))):
            if getattr(self, name) not in allowed:
                raise MethodError(f"dagma: {name} is '{getattr(self, name)}'; it must be {' or '.join(allowed)}")
        if not self.threshold >= 0:
            raise MethodError(f"dagma: threshold is {self.threshold}; it must not be negative")
        if self.hidden < 1:
            raise MethodError(f"dagma: hidden is {self.hidden}; it must be at least 1")

    def fit(self, dataset: Dataset, key: jax.Array) -> Estimate:
        info: dict[str, Any] = {}
        chosen = self.model
        values = dataset.values.copy()  # the library centres it in place
        if chosen == "auto":
            gain = spline_gain(values, generator(key))
            info["spline_gain"] = gain
            chosen = "nonlinear" if gain > self.curvature else "linear"
        reduced = chosen == "nonlinear" and self.schedule == "reduced"
        with _contained():
            weights = self._linear(values) if chosen == "linear" else self._nonlinear(values)
        return cut(weights, self.threshold, {"model": chosen, "reduced": reduced, **info})

    def _linear(self, values: np.ndarray) -> np.ndarray:
        from dagma.linear import DagmaLinear

        return DagmaLinear(loss_type="l2").fit(values, w_threshold=0.0)

    def _nonlinear(self, values: np.ndarray) -> np.ndarray:
        from dagma.nonlinear import DagmaMLP, DagmaNonlinear

        network = DagmaMLP(dims=[values.shape[1], self.hidden, 1], bias=True)
        steps: dict[str, Any] = _REDUCED if self.schedule == "reduced" else {}
        return DagmaNonlinear(network).fit(values, w_threshold=0.0, **steps)


@contextlib.contextmanager
def _contained() -> Iterator[None]:
    """Put torch's default dtype back, which the library makes float64, and drop its progress bar."""
    import torch

    dtype = torch.get_default_dtype()
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        torch.set_default_dtype(dtype)
