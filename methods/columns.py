"""An order of columns that follows from what is in them."""

import numpy as np


def content_order(values: np.ndarray) -> np.ndarray:
    """`[d]`: the columns of a table `[n, d]` sorted by the size of their largest entry, then of the next, and so on.

    A method whose answer depends on the order of the columns gives the same answer to a table and to one with its
    columns permuted if it works in this order; signs and the order of the rows do not matter either. Nothing about
    causes can be read from it.
    """
    return np.lexsort(np.sort(np.abs(values), axis=0))
