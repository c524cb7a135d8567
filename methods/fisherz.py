"""Fisher's z test for causal-learn that is defined also where variables determine each other."""

import numpy as np
from causallearn.utils.cit import NO_SPECIFIED_PARAMETERS_MSG, CIT_Base, register_ci_test
from scipy.stats import norm

NAME = "fisherz_singular"

# Share of a variable's variance left given others below which they determine it.
_DETERMINED = 1e-9


class SingularFisherZ(CIT_Base):
    """Fisher's z where the correlation matrix has no inverse, as when one column is the sum of others.

    The library's own test stops with an error there. Here partial correlations come from the pseudo-inverse;
    a variable that the conditioning set determines is a constant given it, and so independent of everything;
    and too few rows for the size of the conditioning set are no evidence against independence.
    """

    def __init__(self, data: np.ndarray, **kwargs):
        super().__init__(data, **kwargs)
        self.check_cache_method_consistent(NAME, NO_SPECIFIED_PARAMETERS_MSG)
        self.correlation = np.corrcoef(data.T)
        self._p_values: dict[str, float] = {}

    def __call__(self, X, Y, condition_set=None) -> float:  # noqa: N803  (the library's names)
        x, y, given, name = self.get_formatted_XYZ_and_cachekey(X, Y, condition_set)
        if name not in self._p_values:
            self._p_values[name] = self._p_value(x + y, given)
        return self._p_values[name]

    def _p_value(self, pair: list[int], given: list[int]) -> float:
        across = self.correlation[np.ix_(pair, given)]
        inverse = np.linalg.pinv(self.correlation[np.ix_(given, given)], hermitian=True)
        left = self.correlation[np.ix_(pair, pair)] - across @ inverse @ across.T
        freedom = self.sample_size - len(given) - 3
        if freedom <= 0 or left[0, 0] < _DETERMINED or left[1, 1] < _DETERMINED:
            return 1.0
        limit = 1.0 - np.finfo(float).eps
        r = np.clip(left[0, 1] / np.sqrt(left[0, 0] * left[1, 1]), -limit, limit)
        return float(2 * norm.sf(np.sqrt(freedom) * abs(np.arctanh(r))))


register_ci_test(NAME, SingularFisherZ)
