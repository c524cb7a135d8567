"""RandomRegress: regression along a random order, the control that every method should beat."""

import dataclasses
import warnings

import jax
import numpy as np

from arena.dataset import Dataset
from methods.base import Capabilities, Estimate, Method, generator


@dataclasses.dataclass(frozen=True)
class RandomRegress(Method):
    """Regress each variable on those before it in a random order; an edge is a nonzero coefficient.

    The regression is the adaptive lasso with its penalty chosen by BIC, as in the sort-and-regress baselines
    of Reisach et al. (2021): the least-squares coefficients weigh the lasso, whose support is the parent set.
    Scores are absolute coefficients. The order comes from the key. (Paper B.4.)
    """

    name = "random_regress"
    title = "RandomRegress"
    capabilities = Capabilities(
        splits=("obs",),
        scores=True,
        output="dag",
        discovers=False,
        packages=("sklearn.linear_model",),
        install="pip install 'causal-arena[classical]'",
        licence="BSD-3-Clause (scikit-learn)",
        citation="Reisach, Seiler and Weichwald (2021). Beware of the Simulated DAG! NeurIPS",
    )

    def fit(self, dataset: Dataset, key: jax.Array) -> Estimate:
        order = generator(key).permutation(dataset.d)
        weights = sort_regress(dataset.values, order)
        return Estimate(
            adjacency=(weights != 0).astype(np.int8),
            scores=np.abs(weights),
            info={"order": [dataset.names[j] for j in order]},
        )


def sort_regress(values: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Weights `[d, d]`, row causes column: each column, standardised, regressed on those before it in `order`."""
    d = values.shape[1]
    weights = np.zeros((d, d))
    for place in range(1, d):
        before, target = order[:place], order[place]
        weights[before, target] = _adaptive_lasso(values[:, before], values[:, target])
    return weights


def _adaptive_lasso(predictors: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Coefficients `[k]` of the adaptive lasso of `target [n]` on `predictors [n, k]`, both standardised."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LassoLarsIC

    n, k = predictors.shape
    weight = np.abs(np.linalg.lstsq(predictors, target, rcond=None)[0])
    # With as many predictors as rows no residual is left to estimate the noise from; the variance of the
    # target, which is 1, is its upper bound.
    noise = 1.0 if n <= k + 1 else None
    lasso = LassoLarsIC(criterion="bic", noise_variance=noise)
    with warnings.catch_warnings():
        # Collinear predictors: LARS says that it drops one, which is what the answer then shows.
        warnings.simplefilter("ignore", ConvergenceWarning)
        lasso.fit(predictors * weight, target)
    return lasso.coef_ * weight
