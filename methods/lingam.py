"""LiNGAM: linear causal order from non-Gaussian noise, from the package lingam."""

import dataclasses
import warnings

import jax
import numpy as np

from arena.dataset import Dataset
from arena.errors import MethodError
from methods.base import Capabilities, Estimate, Method


@dataclasses.dataclass(frozen=True)
class LiNGAM(Method):
    """DirectLiNGAM with the library's defaults (paper B.4). Scores are absolute coefficients."""

    name = "lingam"
    title = "DirectLiNGAM"
    capabilities = Capabilities(
        splits=("obs",),
        scores=True,
        output="dag",
        positional=True,
        packages=("lingam",),
        install="pip install 'causal-arena[classical]'",
        distinct_columns=True,
        licence="MIT (lingam)",
        citation="Shimizu et al. (2011). DirectLiNGAM: A Direct Method for Learning a Linear Non-Gaussian "
        "Structural Equation Model. JMLR 12",
    )

    def fit(self, dataset: Dataset, key: jax.Array) -> Estimate:
        """Estimate the graph.

        Raises:
            MethodError: If there are not more rows than variables, which the library's BIC needs.
        """
        from lingam import DirectLiNGAM
        from sklearn.exceptions import ConvergenceWarning

        if dataset.n <= dataset.d:
            raise MethodError(f"lingam needs more rows than variables, found {dataset.n} and {dataset.d}")
        # Columns that are linear functions of others leave a residual of 0, by whose spread the library
        # divides.
        with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = DirectLiNGAM().fit(dataset.values)
        # The library's matrix holds at [i, j] the coefficient of j in the equation of i.
        weights = np.asarray(model.adjacency_matrix_).T
        order: list[int] = model.causal_order_ or []
        return Estimate(
            adjacency=(weights != 0).astype(np.int8),
            scores=np.abs(weights),
            info={"order": [dataset.names[j] for j in order]},
        )
