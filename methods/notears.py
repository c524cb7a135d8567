"""NOTEARS: linear structure learning as a smooth program with an acyclicity constraint, written from its paper."""

import dataclasses

import jax
import numpy as np
from scipy.linalg import expm

from arena.dataset import Dataset
from arena.errors import MethodError
from methods.augmented import Bounds, minimise
from methods.base import Capabilities, Estimate, Method


@dataclasses.dataclass(frozen=True)
class NOTEARS(Method):
    """Linear NOTEARS with least squares and an L1 penalty (Zheng et al. 2018; paper B.4). Scores are absolute weights.

    Least squares takes every variable's noise to have the same variance. Standardising, which every table here goes
    through, undoes that where it was so: edges are then turned, or lost below the threshold (Reisach et al. 2021;
    Kaiser and Sipos 2022). `info` records it, with the largest weight that was cut.

    Attributes:
        lambda1: Weight of the L1 penalty.
        threshold: Weights up to this size are no edges.
        max_rounds: Most rounds of the augmented Lagrangian.

    Raises:
        MethodError: If a setting is out of range.
    """

    lambda1: float = 0.1
    threshold: float = 0.3
    max_rounds: int = 100

    name = "notears"
    title = "NOTEARS"
    capabilities = Capabilities(
        splits=("obs",),
        scores=True,
        output="digraph",
        positional=True,
        assumes="equal_noise",
        citation="Zheng, Aragam, Ravikumar and Xing (2018). DAGs with NO TEARS: Continuous Optimization for Structure "
        "Learning. NeurIPS",
    )

    def __post_init__(self):
        if not self.lambda1 >= 0:
            raise MethodError(f"notears: lambda1 is {self.lambda1}; it must not be negative")
        if not self.threshold >= 0:
            raise MethodError(f"notears: threshold is {self.threshold}; it must not be negative")
        if self.max_rounds < 1:
            raise MethodError(f"notears: max_rounds is {self.max_rounds}; it must be at least 1")

    def fit(self, dataset: Dataset, key: jax.Array) -> Estimate:
        weights, rounds, left = linear_weights(dataset.values, self.lambda1, self.max_rounds)
        return cut(weights, self.threshold, {"rounds": rounds, "acyclicity": left})


def linear_weights(values: np.ndarray, lambda1: float, max_rounds: int = 100) -> tuple[np.ndarray, int, float]:
    """The weights `[d, d]`, row causes column, before any threshold; the rounds taken, and how cyclic they are."""
    n, d = values.shape
    centred = values - values.mean(axis=0)
    covariance = centred.T @ centred / n
    # Weights are a difference of two parts that are not negative, so that the penalty is smooth.
    free = np.tile(~np.eye(d, dtype=bool).ravel(), 2)

    def objective(parts: np.ndarray, rho: float, alpha: float) -> tuple[float, np.ndarray]:
        weights = (parts[: d * d] - parts[d * d :]).reshape(d, d)
        residual = np.eye(d) - weights
        product = covariance @ residual
        h, slope = acyclicity(weights)
        value = 0.5 * np.vdot(residual, product) + h * (0.5 * rho * h + alpha) + lambda1 * parts.sum()
        smooth = ((rho * h + alpha) * slope - product).ravel()
        return value, np.concatenate([smooth, -smooth]) + lambda1

    def cyclic(parts: np.ndarray) -> float:
        return acyclicity((parts[: d * d] - parts[d * d :]).reshape(d, d))[0]

    bounds: Bounds = [(0.0, None if may else 0.0) for may in free]
    parts, rounds, left = minimise(objective, cyclic, np.zeros(2 * d * d), bounds, max_rounds)
    return (parts[: d * d] - parts[d * d :]).reshape(d, d), rounds, left


def acyclicity(weights: np.ndarray) -> tuple[float, np.ndarray]:
    """tr(exp(W * W)) - d, zero for the weights of a DAG and positive for others, and its gradient."""
    powers = expm(weights * weights)
    return float(np.trace(powers) - len(weights)), powers.T * weights * 2


def cut(weights: np.ndarray, threshold: float, info: dict) -> Estimate:
    """The estimate with an edge where abs(weight) > threshold, and what there is to know about what was cut."""
    size = np.abs(weights)
    adjacency = (size > threshold).astype(np.int8)
    remark = "on standardised columns equal noise variances cannot be told; edges may be turned or below the threshold"
    largest = float(size[adjacency == 0].max())
    return Estimate(adjacency, scores=size, info={**info, "remark": remark, "largest_cut": largest})
