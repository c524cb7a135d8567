"""An order of columns that follows from what is in them."""

import numpy as np

# Of standardised values; what lies behind is rounding.
_DIGITS = 9


def content_order(values: np.ndarray) -> np.ndarray:
    """`[d]`: the columns of a table `[n, d]` sorted by the size of their largest entry, then of the next, and so on.

    Columns that agree in that, as balanced binary ones do, are sorted by their largest correlation with another, then
    the next, and so on. All up to rounding.

    A method whose answer depends on the order of the columns gives the same answer to a table and to one with its
    columns permuted if it works in this order; signs and the order of the rows do not matter either. Nothing about
    causes can be read from it.
    """
    centred = values - values.mean(axis=0)
    size = np.sqrt((centred**2).sum(axis=0))
    unit = centred / np.where(size > 0, size, 1.0)
    keys = [np.sort(np.abs(matrix), axis=0) for matrix in (unit.T @ unit, values)]
    return np.lexsort(np.round(np.concatenate(keys), _DIGITS))
