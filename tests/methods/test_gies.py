import dataclasses

import jax
import numpy as np

from arena.dataset import Dataset
from methods.base import Status
from methods.fit import fit
from methods.gies import GIES, environments

KEY = jax.random.key(0)


def test_targets_orient_an_edge(intervened_pair):
    estimate = fit(GIES(), intervened_pair, KEY).estimate
    assert estimate is not None
    np.testing.assert_array_equal(estimate.native, intervened_pair.truth)
    np.testing.assert_array_equal(estimate.adjacency, intervened_pair.truth)


def test_the_mask_changes_the_answer(intervened_pair):
    without = dataclasses.replace(intervened_pair, intervention_mask=None, split="obs")
    estimate = fit(GIES(), without, KEY).estimate
    assert estimate is not None
    np.testing.assert_array_equal(estimate.native, [[0, 1], [1, 0]])


def test_rows_are_grouped_by_their_targets():
    mask = np.array([[0, 1, 0], [0, 0, 0], [1, 0, 1], [0, 1, 0]], bool)
    values = np.arange(12.0).reshape(4, 3)
    tables, targets = environments(Dataset(("a", "b", "c"), values, mask))
    assert targets == [[], [1], [0, 2]]
    np.testing.assert_array_equal(tables[1], values[[0, 3]])
    assert [len(table) for table in tables] == [1, 2, 1]


def test_a_variable_set_in_every_row_is_refused():
    rng = np.random.default_rng(0)
    mask = np.zeros((50, 2), bool)
    mask[:, 1] = True
    outcome = fit(GIES(), Dataset(("x", "y"), rng.normal(size=(50, 2)), mask), KEY)
    assert outcome.status is Status.unsupported and "'y' is set in every row" in outcome.reason
