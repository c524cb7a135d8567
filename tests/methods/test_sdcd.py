"""SDCD: what is asked of the package, and what it answers where its environment is built."""

import dataclasses

import jax
import numpy as np
import pytest

from arena.dataset import Dataset
from arena.errors import MethodError
from methods import environments, sdcd
from methods.base import Status
from methods.fit import fit
from methods.sdcd import SDCD

KEY = jax.random.key(0)

built = pytest.mark.skipif(
    not environments.get("sdcd").ready, reason="needs environment 'sdcd'; run: arena env build sdcd"
)


@pytest.fixture
def asked(monkeypatch):
    """Records what the package would be asked, and answers with weights."""
    requests = []

    def call(environment, script, arrays, settings, seed):
        requests.append((environment.name, script, arrays, settings, seed))
        weights = np.array([[0.5, 0.4], [0.0, 0.5]])
        return {"scores": weights, "adjacency": np.array([[0, 1], [0, 0]], np.int8)}, {}

    monkeypatch.setattr(sdcd, "call", call)
    return requests


def test_the_published_schedule(asked, intervened_pair):
    estimate = SDCD().fit(intervened_pair, KEY)
    (name, script, arrays, settings, seed), *_ = asked
    assert name == "sdcd" and script.is_file()
    assert settings == {
        "threshold": 0.1,
        "stage1": {"n_epochs": 2000},
        "stage2": {"n_epochs": 2000, "gamma_increment": 0.005, "threshold": 0.1},
    }
    np.testing.assert_array_equal(arrays["values"], intervened_pair.values)
    np.testing.assert_array_equal(arrays["mask"], intervened_pair.mask)
    np.testing.assert_array_equal(estimate.adjacency, [[0, 1], [0, 0]])
    np.testing.assert_array_equal(estimate.scores, [[0, 0.4], [0, 0]])
    assert estimate.info == {"reduced": False, "epochs": 2000}
    SDCD().fit(intervened_pair, jax.random.key(1))
    assert asked[1][-1] != seed


def test_a_reduced_schedule_is_recorded_and_ends_at_the_same_penalty(asked, intervened_pair):
    estimate = SDCD(share=0.1).fit(intervened_pair, KEY)
    settings = asked[0][3]
    assert settings["stage1"]["n_epochs"] == settings["stage2"]["n_epochs"] == 200
    assert settings["stage2"]["gamma_increment"] * 200 == pytest.approx(0.005 * 2000)
    assert estimate.info == {"reduced": True, "epochs": 200}
    assert SDCD(share=0.1).settings() == {"threshold": 0.1, "share": 0.1}


def test_settings_and_rows_are_checked(asked):
    for settings in ({"threshold": 0.0}, {"threshold": 1.0}, {"share": 0.0}, {"share": 1.5}):
        with pytest.raises(MethodError, match=f"sdcd: {next(iter(settings))} is"):
            SDCD(**settings)
    with pytest.raises(MethodError, match="at least 10 rows, found 5"):
        SDCD().fit(Dataset(("a", "b"), np.eye(5)[:, :2]), KEY)


def test_a_failure_of_the_package_is_a_failure(monkeypatch, collider):
    def call(*_, **__):
        raise RuntimeError("in environment 'sdcd': ValueError: no")

    monkeypatch.setattr(sdcd, "call", call)
    monkeypatch.setattr(environments.Environment, "ready", True)
    outcome = fit(SDCD(), collider, KEY)
    assert outcome.status is Status.failed and "ValueError: no" in outcome.reason


def pushed_collider(n: int) -> Dataset:
    """left -> effect <- right, each of them set in a part of the last 40 % of the rows."""
    rng = np.random.default_rng(0)
    left, right, noise = rng.uniform(-np.sqrt(3), np.sqrt(3), (3, n))
    part = np.arange(n) * 10 // n
    mask = np.stack([np.isin(part, kept) for kept in ([6], [7], [8, 9])], 1)
    left = np.where(mask[:, 0], 2 + 0.5 * left, left)
    right = np.where(mask[:, 2], -2 + 0.5 * right, right)
    effect = np.where(mask[:, 1], 3 + 0.5 * noise, left + right + 0.5 * noise)
    adjacency = np.array([[0, 1, 0], [0, 0, 0], [0, 1, 0]])
    return Dataset(("left", "effect", "right"), np.stack([left, effect, right], 1), mask, adjacency)


def answer(dataset: Dataset, key: jax.Array, share: float):
    outcome = fit(SDCD(share=share), dataset, key)
    assert outcome.estimate is not None, (outcome.reason, outcome.detail)
    return outcome.estimate


@built
def test_a_collider_is_not_transposed():
    data = pushed_collider(1000)
    found = answer(data, KEY, 0.1)
    np.testing.assert_array_equal(found.adjacency, data.truth)
    assert found.scores is not None
    assert found.scores[0, 1] > found.scores[1, 0] and found.scores[2, 1] > found.scores[1, 2]


@built
def test_targets_reach_the_package_and_so_does_the_key():
    data = pushed_collider(100)
    plain = dataclasses.replace(data, intervention_mask=None, split="obs")
    first, again, other, without = (
        answer(table, jax.random.key(seed), 0.06).scores
        for table, seed in [(data, 0), (data, 0), (data, 1), (plain, 0)]
    )
    assert first is not None and other is not None and without is not None
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other) and not np.array_equal(first, without)
