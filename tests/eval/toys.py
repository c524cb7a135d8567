"""Small scenarios, methods and workers for the tests of `eval`."""

import dataclasses
import time
from typing import ClassVar

import jax
import numpy as np

from arena.dataset import Dataset
from arena.errors import DataError
from arena.scenario import Scenario
from methods.base import Capabilities, Estimate, Method, Outcome
from methods.batch import fit_batch
from methods.fit import fit


class ToyScenario(Scenario):
    """A linear SCM over `d` variables; obs_int rows set the first variable."""

    def __init__(self, id="toy/a", family="toy", d=4, replicates=2, splits=("obs", "obs_int"), n=40, damaged=()):
        self.id, self.family, self.splits = id, family, splits
        self.d, self.n, self.replicates, self.damaged = d, n, replicates, damaged
        self.factors = {"dimension": d, "mechanisms": ["linear"]}
        self.version = 1

    def n_replicates(self):
        return self.replicates

    def content_hash(self, split, replicate):
        return f"{self.id}-{split}-{replicate}-v{self.version}"

    def load(self, split, replicate):
        if (split, replicate) in self.damaged:
            raise DataError(f"{self.id}: {split} is damaged; restore the file")
        rng = np.random.default_rng([len(self.id), sum(self.id.encode()), replicate, split == "obs"])
        graph = np.triu(rng.random((self.d, self.d)) < 0.5, 1)
        values, mask = np.zeros((self.n, self.d)), np.zeros((self.n, self.d), bool)
        if split == "obs_int":
            mask[self.n // 2 :, 0] = True
        for j in range(self.d):
            values[:, j] = values @ graph[:, j] + rng.normal(size=self.n)
        return Dataset(
            names=tuple(f"x{j}" for j in range(self.d)),
            values=values,
            intervention_mask=mask,
            adjacency=graph,
            name=self.id,
            split=split,
            noise=values,
            info={"secret": 1},
        )


@dataclasses.dataclass(frozen=True)
class Toy(Method):
    """Answers a random graph after `sleep` seconds, or fails in the way that `mode` says."""

    name: str = "toy"
    mode: str = "random"
    sleep: float = 0.0
    capabilities = Capabilities(scores=True, output="digraph")

    @property
    def title(self):
        return self.name

    def fit(self, dataset, key):
        time.sleep(self.sleep)
        assert dataset.adjacency is None and dataset.noise is None and "secret" not in dataset.info
        d = dataset.d
        scores = np.asarray(jax.random.uniform(key, (d, d))) * (1 - np.eye(d))
        if self.mode == "raise":
            raise RuntimeError("no luck <b>today</b>")
        if self.mode == "shape":
            return Estimate(np.zeros((d, d + 1), np.int8))
        if self.mode == "empty":
            return Estimate(np.zeros((d, d), np.int8))
        return Estimate((scores > 0.6).astype(np.int8), scores=scores)


@dataclasses.dataclass(frozen=True)
class ObsOnly(Toy):
    """The same, for observational tables only."""

    name: str = "obs_only"
    capabilities = Capabilities(splits=("obs",), scores=True, output="digraph")


class InlineWorker:
    """Fits in this process: quick, and enough wherever isolation is not what is tested."""

    made: ClassVar[list["InlineWorker"]] = []

    def __init__(self):
        self.closed = False
        self.made.append(self)

    def fit(self, method: Method, dataset: Dataset, *, seed: int, timeout: float | None) -> Outcome:
        return fit(method, dataset, jax.random.key(seed))

    def fit_batch(self, method, datasets, *, seeds, timeout):
        return fit_batch(method, datasets, [jax.random.key(seed) for seed in seeds])

    def close(self):
        self.closed = True
