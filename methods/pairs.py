"""What SEA and CauScale put out, logits of three classes a pair of variables, as a matrix of edge probabilities."""

import numpy as np
from scipy.special import softmax


def edge_probabilities(logits: np.ndarray, d: int) -> np.ndarray:
    """The probability of each edge, `[d, d]` float64, row causes column, zero on the diagonal.

    The published programs write the same numbers as one list: first those of i -> j for all pairs i < j, row by row,
    then those of j -> i for the same pairs.

    Args:
        logits: `[d (d - 1) / 2, 3]`, pairs i < j row by row: no edge, i -> j, j -> i.
        d: Number of variables.
    """
    probabilities = softmax(np.asarray(logits, np.float64), axis=1)
    i, j = np.triu_indices(d, 1)
    scores = np.zeros((d, d))
    scores[i, j], scores[j, i] = probabilities[:, 1], probabilities[:, 2]
    return scores
