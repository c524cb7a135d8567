"""The inverse covariance matrix that SEA and CauScale are given as a first guess."""

import numpy as np


def precision_matrix(table: np.ndarray) -> np.ndarray:
    """The inverse covariance `[d, d]` of a table `[n, d]`, as both published programs estimate it.

    The pseudo-inverse of the sample covariance, or from 100 variables on the inverse of the Ledoit-Wolf estimate.
    """
    if table.shape[1] < 100:
        return np.linalg.pinv(np.cov(table.T), rcond=1e-10)
    from sklearn.covariance import LedoitWolf

    return np.asarray(LedoitWolf().fit(table).get_precision())
