"""FLOP: its codes read the right way, and what its score cannot take refused."""

import jax
import numpy as np
import pytest

from arena.dataset import Dataset
from arena.errors import MethodError
from methods.base import Status
from methods.fit import fit
from methods.flop import FLOP

pytest.importorskip("flopsearch", reason="needs the extra `flop`")
KEY = jax.random.key(0)


def test_directed_and_undirected_edges_are_told_apart():
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(3, 1000))
    d = a + b + 0.5 * rng.normal(size=1000)
    e = c + 0.5 * rng.normal(size=1000)
    outcome = fit(FLOP(), Dataset(("d", "a", "e", "b", "c"), np.stack([d, a, e, b, c], axis=1)), KEY)
    assert outcome.estimate is not None
    expected = np.zeros((5, 5))
    expected[1, 0] = expected[3, 0] = expected[2, 4] = expected[4, 2] = 1
    np.testing.assert_array_equal(outcome.estimate.native, expected)
    assert outcome.estimate.info["undirected"] == 1 and outcome.estimate.adjacency.sum() == 3


def test_what_the_score_cannot_take_is_refused():
    values = np.random.default_rng(1).normal(size=(100, 4))
    dependent = np.column_stack([values, values.sum(axis=1)])
    outcome = fit(FLOP(), Dataset(tuple("abcde"), dependent), KEY)
    assert outcome.status is Status.unsupported and "linear functions of others" in outcome.reason
    outcome = fit(FLOP(), Dataset(tuple("abcd"), values[:4]), KEY)
    assert outcome.status is Status.unsupported and "more rows than variables, found 4 and 4" in outcome.reason


@pytest.mark.parametrize("settings", [{"penalty": 0.0}, {"restarts": -1}])
def test_settings_out_of_range(settings):
    with pytest.raises(MethodError, match=f"flop: {next(iter(settings))} is"):
        FLOP(**settings)
