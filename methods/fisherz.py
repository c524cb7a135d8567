"""Fisher's z test for causal-learn that is defined also where variables determine each other."""

import numpy as np
from causallearn.utils.cit import NO_SPECIFIED_PARAMETERS_MSG, CIT_Base, register_ci_test

from methods.partial_correlation import p_values

NAME = "fisherz_singular"


class SingularFisherZ(CIT_Base):
    """Fisher's z where the correlation matrix has no inverse, as when one column is the sum of others.

    The library's own test stops with an error there; `methods.partial_correlation` says what is done instead.
    """

    def __init__(self, data: np.ndarray, **kwargs):
        super().__init__(data, **kwargs)
        self.check_cache_method_consistent(NAME, NO_SPECIFIED_PARAMETERS_MSG)
        self.correlation = np.corrcoef(data.T)
        self._p_values: dict[str, float] = {}

    def __call__(self, X, Y, condition_set=None) -> float:  # noqa: N803  (the library's names)
        x, y, given, name = self.get_formatted_XYZ_and_cachekey(X, Y, condition_set)
        if name not in self._p_values:
            sets = np.array([given], dtype=np.intp).reshape(1, len(given))
            self._p_values[name] = float(p_values(self.correlation, self.sample_size, x[0], y[0], sets)[0])
        return self._p_values[name]


register_ci_test(NAME, SingularFisherZ)
