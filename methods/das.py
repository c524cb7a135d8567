"""DAS: causal order from the curvature of the log density, and parents from the same, written from its paper."""

import dataclasses
from typing import Any

import jax
import numpy as np
from scipy.stats import ttest_ind

from arena.dataset import Dataset
from arena.errors import MethodError
from methods.base import Capabilities, Estimate, Method
from methods.splines import additive_p_values
from methods.stein import Curvature


@dataclasses.dataclass(frozen=True)
class DAS(Method):
    """Discovery At Scale for additive noise models (Montagna et al. 2023), with the settings of the paper (B.4).

    From the last variable of the order to the first: of those left, the one whose second derivative of log p varies
    least over the sample is a leaf (SCORE, Rolland et al. 2022). Its parents are among those by which the derivative
    of its score changes: the `min_parents` with the largest median are kept, and of the others, up to `max_parents` in
    all, those whose absolute values are larger than the least one's by Welch's t-test. At the end each variable is
    regressed on splines of its parents and those that are not needed go (CAM; Bühlmann et al. 2014). That regression
    has no penalty, so that its F tests are exact for Gaussian noise.

    Attributes:
        eta_gradient: Ridge of the Stein estimate of the gradient.
        eta_hessian: Ridge of the Stein estimate of the Hessian.
        alpha: Level of the t-tests and of the pruning.
        n_splines: Splines a parent.
        degree: Of the splines.
        min_parents: Candidates kept without a test.
        max_parents: Most candidates of a variable.

    Raises:
        MethodError: If a setting is out of range.
    """

    eta_gradient: float = 0.001
    eta_hessian: float = 0.001
    alpha: float = 0.05
    n_splines: int = 10
    degree: int = 3
    min_parents: int = 5
    max_parents: int = 20

    name = "das"
    title = "DAS"
    capabilities = Capabilities(
        splits=("obs",),
        output="dag",
        distinct_columns=True,
        assumes="nonlinear",
        citation="Montagna, Noceti, Rosasco, Zhang and Locatello (2023). Scalable Causal Discovery with Score "
        "Matching. CLeaR",
    )

    def __post_init__(self):
        positive = ("eta_gradient", "eta_hessian", "degree", "max_parents")
        wrong = next((name for name in positive if not getattr(self, name) > 0), None)
        if wrong:
            raise MethodError(f"das: {wrong} is {getattr(self, wrong)}; it must be positive")
        if not 0 < self.alpha < 1:
            raise MethodError(f"das: alpha is {self.alpha}; it must lie between 0 and 1")
        if self.n_splines <= self.degree:
            raise MethodError(f"das: n_splines is {self.n_splines}; it must be larger than degree, {self.degree}")
        if not 0 <= self.min_parents <= self.max_parents:
            raise MethodError(f"das: min_parents is {self.min_parents}; it must lie between 0 and max_parents")

    def fit(self, dataset: Dataset, key: jax.Array) -> Estimate:
        values, d = dataset.values, dataset.d
        order, candidates = self._order(values)
        adjacency = np.zeros((d, d), np.int8)
        for child, parents in candidates.items():
            if parents:
                p_values = additive_p_values(values[:, parents], values[:, child], self.n_splines, self.degree)
                adjacency[np.array(parents)[p_values < self.alpha], child] = 1
        info = {
            "order": [dataset.names[j] for j in order],
            "candidates": sum(map(len, candidates.values())),
        }
        return Estimate(adjacency, info=info)

    def _order(self, values: np.ndarray) -> tuple[list[int], dict[int, list[int]]]:
        """The causal order, causes first, and for each variable the candidates for its parents."""
        left, leaves, candidates = list(range(values.shape[1])), [], {}
        while len(left) > 1:
            curvature = Curvature.of(values[:, left], self.eta_gradient, self.eta_hessian)
            leaf = int(curvature.diagonal().var(axis=0).argmin())
            child = left.pop(leaf)
            chosen = self._candidates(np.delete(curvature.column(leaf), leaf, axis=1))
            leaves.append(child)
            candidates[child] = [left[k] for k in chosen]
        return [*left, *reversed(leaves)], candidates

    def _candidates(self, derivatives: np.ndarray) -> list[int]:
        """Which of the columns `[n, k]` can be parents, judged by how the leaf's score changes with each."""
        size = np.abs(np.median(derivatives, axis=0))
        largest = np.argsort(-size, kind="stable")[: self.max_parents]
        kept, doubtful = largest[: self.min_parents].tolist(), largest[self.min_parents :]
        if not len(doubtful):
            return kept
        absolute = np.abs(derivatives)
        # The least of them stands for a variable without influence.
        reference = absolute[:, largest[-1]]
        test: Any = ttest_ind(absolute[:, doubtful], reference[:, None], axis=0, equal_var=False, alternative="greater")
        return kept + doubtful[test.pvalue < self.alpha].tolist()
