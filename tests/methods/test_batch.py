"""Stacks: the same answers as one by one, and one bad table never costs its neighbours."""

import dataclasses
import os
import time

import jax
import numpy as np
import pytest
from methods.test_avici import publish

from arena.dataset import Dataset
from methods.avici import AVICI
from methods.base import Capabilities, Estimate, InvalidAnswer, Method, Status
from methods.batch import fit_batch
from methods.fit import fit
from methods.isolate import Worker

KEYS = [jax.random.key(seed) for seed in range(5)]


def table(seed: int, n: int = 40, d: int = 4, **more) -> Dataset:
    rng = np.random.default_rng(seed)
    return Dataset(tuple(f"v{j}" for j in range(d)), rng.normal(size=(n, d)), **more)


def constant(seed: int, columns: list[int]) -> Dataset:
    whole = table(seed)
    values = whole.values.copy()
    values[:, columns] = 7.0
    return Dataset(whole.names, values)


@dataclasses.dataclass(frozen=True)
class Stacked(Method):
    """Scores follow from key and table; what a table of fewer columns than four does is `mode`."""

    mode: str = "fine"

    name = "stacked"
    title = "Stacked"
    capabilities = Capabilities(scores=True, output="digraph", batched=True, splits=("obs",))

    def fit(self, dataset, key):
        if dataset.d < 4 and self.mode == "raises":
            raise RuntimeError("three columns")
        if dataset.d < 4 and self.mode == "no answer":
            raise InvalidAnswer("three columns")
        scores = np.abs(np.corrcoef(dataset.values.T)) * np.asarray(jax.random.uniform(key, (dataset.d, dataset.d)))
        np.fill_diagonal(scores, 0.0)
        info = {"calls": 1, "drawn": float(np.random.random())}
        return Estimate((scores > 0.1).astype(np.int8), scores=scores, info=info)

    def predict_batch(self, datasets, keys):
        small = any(dataset.d < 4 for dataset in datasets)
        if small and self.mode == "hangs":
            time.sleep(30)
        if small and self.mode == "dies":
            os._exit(3)
        if small and self.mode == "grows":
            hog = [np.ones(1 << 27) for _ in range(8)]
            time.sleep(len(hog))
        if self.mode == "short":
            return [self.fit(datasets[0], keys[0])]
        found = [self.fit(dataset, key) for dataset, key in zip(datasets, keys, strict=True)]
        for dataset, estimate in zip(datasets, found, strict=True):
            estimate.info["calls"] = len(datasets)
            if dataset.d < 4 and self.mode == "misshapen":
                found[datasets.index(dataset)] = Estimate(np.zeros((2, 2), np.int8))
        return found


TABLES = [table(0), constant(1, [2]), table(2, n=55), constant(3, [0, 1, 2])]


def test_a_stack_has_the_answers_of_single_fits():
    begun = []
    outcomes = fit_batch(Stacked(), TABLES, KEYS[:4], on_begin=lambda: begun.append(1))
    singles = [fit(Stacked(), dataset, key) for dataset, key in zip(TABLES, KEYS[:4], strict=True)]
    assert begun == [1] and [outcome.status for outcome in outcomes] == [one.status for one in singles]
    for outcome, single in zip(outcomes[:3], singles[:3], strict=True):
        np.testing.assert_array_equal(outcome.estimate.scores, single.estimate.scores)
        np.testing.assert_array_equal(outcome.estimate.adjacency, single.estimate.adjacency)
        assert outcome.estimate.info["preflight"] == single.estimate.info["preflight"]
        assert outcome.estimate.info["calls"] == 3 and outcome.batch == 3 and single.batch == 1
        assert outcome.seconds["fit"] == outcomes[0].seconds["fit"] and outcome.seconds["load"] >= 0
    # A constant column is left out of its own table only.
    assert outcomes[1].estimate.adjacency.shape == (4, 4) and not outcomes[1].estimate.scores[2].any()
    assert (outcomes[3].status, outcomes[3].reason) == (Status.unsupported, singles[3].reason)
    assert "1 of 4 columns" in singles[3].reason


@pytest.mark.parametrize("mode", ["raises", "no answer", "short"])
def test_a_stack_that_goes_wrong_says_nothing_of_its_tables(mode):
    outcomes = fit_batch(Stacked(mode), TABLES, KEYS[:4])
    assert outcomes[:3] == [None] * 3 and outcomes[3].status == Status.unsupported


def test_one_invalid_answer_is_left_to_a_single_fit():
    outcomes = fit_batch(Stacked("misshapen"), TABLES[:3], KEYS[:3])
    assert outcomes[1] is None and outcomes[0].batch == outcomes[2].batch == 3


def test_what_is_refused_does_not_reach_the_method():
    mixed = table(5, intervention_mask=np.eye(40, 4, dtype=bool))
    outcomes = fit_batch(Stacked(), [table(0), mixed], KEYS[:2])
    assert outcomes[1].status == Status.unsupported and "takes obs tables" in outcomes[1].reason
    assert outcomes[0].batch == 1


@pytest.fixture(scope="module")
def worker():
    with Worker(memory_limit=2 << 30) as worker:
        yield worker


def test_stacks_in_a_worker(worker):
    outcomes = worker.fit_batch(Stacked(), TABLES, seeds=range(4), timeout=20)
    for outcome, dataset, seed in zip(outcomes[:3], TABLES, range(3), strict=False):
        single = worker.fit(Stacked(), dataset, seed=seed, timeout=20)
        np.testing.assert_array_equal(outcome.estimate.scores, single.estimate.scores)
        assert outcome.batch == 3 and outcome.seconds["fit"] > 0 and outcome.seconds["load"] > 0


@pytest.mark.parametrize("mode", ["hangs", "dies", "grows"])
def test_a_worker_survives_a_stack_that_does_not(worker, mode):
    start = time.perf_counter()
    outcomes = worker.fit_batch(Stacked(mode), TABLES[:2], seeds=[0, 1], timeout=0.5)
    assert outcomes == [None, None] and time.perf_counter() - start < 15
    assert worker.fit(Stacked(mode), TABLES[1], seed=1, timeout=20).status == Status.completed


def test_avici_in_a_stack(tmp_path, monkeypatch):
    publish(tmp_path, monkeypatch)
    tables = [table(0), constant(1, [2]), table(2)]
    outcomes = fit_batch(AVICI(), tables, KEYS[:3])
    for outcome, dataset, key in zip(outcomes, tables, KEYS, strict=False):
        single = fit(AVICI(), dataset, key)
        assert outcome is not None and outcome.batch == 3
        np.testing.assert_allclose(outcome.estimate.scores, single.estimate.scores, atol=1e-5)
        np.testing.assert_array_equal(outcome.estimate.adjacency, single.estimate.adjacency)
