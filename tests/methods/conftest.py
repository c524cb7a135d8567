"""Small tables with a known graph, for the tests of methods."""

import numpy as np
import pytest

from arena.dataset import Dataset


def _noise(rng: np.random.Generator, n: int) -> np.ndarray:
    """Unit-variance uniform noise: not Gaussian, so that every edge can be oriented by someone."""
    return rng.uniform(-np.sqrt(3), np.sqrt(3), n)


@pytest.fixture(scope="session")
def collider() -> Dataset:
    """left -> effect <- right, with the effect neither first nor last."""
    rng = np.random.default_rng(0)
    left, right = _noise(rng, 1000), _noise(rng, 1000)
    effect = left + right + 0.5 * _noise(rng, 1000)
    adjacency = np.array([[0, 1, 0], [0, 0, 0], [0, 1, 0]])
    return Dataset(("left", "effect", "right"), np.stack([left, effect, right], 1), adjacency=adjacency)


@pytest.fixture(scope="session")
def network() -> Dataset:
    """A sparse linear network of six variables, columns in no particular order."""
    rng = np.random.default_rng(1)
    a, b, e = (_noise(rng, 1000) for _ in range(3))
    c = a + b + 0.5 * _noise(rng, 1000)
    d = c + 0.5 * _noise(rng, 1000)
    f = d + e + 0.5 * _noise(rng, 1000)
    names = ("d", "b", "f", "a", "e", "c")
    edges = ["ac", "bc", "cd", "df", "ef"]
    adjacency = np.array([[int(i + j in edges) for j in names] for i in names])
    return Dataset(names, np.stack([d, b, f, a, e, c], 1), adjacency=adjacency)


@pytest.fixture(scope="session", params=["forward", "backward"])
def intervened_pair(request) -> Dataset:
    """Two Gaussian variables, half of the rows with the effect set; the cause is column 0 or column 1."""
    rng = np.random.default_rng(2)
    cause = rng.normal(size=1000)
    effect = cause + rng.normal(size=1000)
    effect[500:] = 2.0 * rng.normal(size=500)
    mask = np.zeros((1000, 2), bool)
    mask[500:, 1] = True
    values, adjacency = np.stack([cause, effect], 1), np.array([[0, 1], [0, 0]])
    if request.param == "backward":
        values, mask, adjacency = values[:, ::-1], mask[:, ::-1], adjacency.T
    return Dataset(("x", "y"), values, mask, adjacency)
