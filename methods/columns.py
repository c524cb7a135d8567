"""An order of columns that follows from what is in them."""

import numpy as np


def content_order(values: np.ndarray) -> np.ndarray:
    """`[d]`: the columns of a table `[n, d]` sorted by their first row, then by the second, and so on.

    A method whose answer depends on the order of the columns gives the same answer to a table and to one with its
    columns permuted if it works in this order. Nothing about causes can be read from it.
    """
    return np.lexsort(values[::-1])
