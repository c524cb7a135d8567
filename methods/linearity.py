"""Whether a table's regressions are linear, judged by how well they predict rows that they have not seen."""

import numpy as np

from methods.splines import basis

_FOLDS = 5
_SPLINES = 6
_NEIGHBOURS = 5
# Variables that nothing predicts say nothing about linearity.
_PREDICTABLE = 0.1
_RIDGE = 1e-6


def spline_gain(values: np.ndarray, key: np.random.Generator) -> float:
    """How much more of the variables' variance splines predict than straight lines do.

    Each variable is regressed on the five others that go with it most, by the R2 of a spline alone: on the others
    themselves, and on six splines of each. Both are judged by the R2 of five-fold cross-validation, not below 0. The
    gain is the mean difference over the variables of which either predicts a tenth.

    Args:
        values: `[n, d]`, standardised.
        key: Draws the folds.

    Returns:
        The gain, from -1 to 1; 0 where no variable can be predicted or there are less than two rows to a fold.
    """
    n, d = values.shape
    if n < 2 * _FOLDS:
        return 0.0
    splines = [_centred(basis(column, _SPLINES)(column)) for column in values.T]
    fold = key.permutation(np.arange(n) % _FOLDS)
    alone = np.stack([_explained(block, values) for block in splines])
    np.fill_diagonal(alone, -1.0)
    gains = []
    for j in range(d):
        near = np.argsort(-alone[:, j], kind="stable")[: min(_NEIGHBOURS, d - 1)]
        straight = _predicted(values[:, near], values[:, j], fold)
        curved = _predicted(np.concatenate([splines[i] for i in near], axis=1), values[:, j], fold)
        if max(straight, curved) >= _PREDICTABLE:
            gains.append(curved - straight)
    return float(np.mean(gains)) if gains else 0.0


def _centred(block: np.ndarray) -> np.ndarray:
    return block - block.mean(axis=0)


def _explained(block: np.ndarray, values: np.ndarray) -> np.ndarray:
    """`[d]`: the share of each column's sum of squares that the block explains."""
    moment = block.T @ values
    inverse = np.linalg.pinv(block.T @ block, rcond=_RIDGE, hermitian=True)
    return (moment * (inverse @ moment)).sum(axis=0) / len(values)


def _predicted(design: np.ndarray, target: np.ndarray, fold: np.ndarray) -> float:
    """The R2 of cross-validation, at least 0."""
    residual = np.empty_like(target)
    for k in range(_FOLDS):
        seen, unseen = fold != k, fold == k
        centre, middle = design[seen].mean(axis=0), target[seen].mean()
        inside = design[seen] - centre
        gram = inside.T @ inside + _RIDGE * seen.sum() * np.eye(design.shape[1])
        slope = np.linalg.solve(gram, inside.T @ (target[seen] - middle))
        residual[unseen] = target[unseen] - middle - (design[unseen] - centre) @ slope
    return max(0.0, 1.0 - float((residual**2).mean() / target.var()))
