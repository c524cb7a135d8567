"""Small tables with a known graph, for the tests of methods.

For every kind of table there is one for each assumption that a method may declare (`Capabilities.assumes`): linear with
non-Gaussian noise, which most methods can orient; nonlinear with additive noise; and equal noise variances.
"""

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
def small(collider) -> Dataset:
    """The first 300 rows of the collider, for what does not depend on the answer being right."""
    return Dataset(collider.names, collider.values[:300], adjacency=collider.truth)


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


def _table(names: tuple[str, ...], edges: list[str], columns: dict[str, np.ndarray]) -> Dataset:
    adjacency = np.array([[int(i + j in edges) for j in names] for i in names])
    return Dataset(names, np.stack([columns[name] for name in names], 1), adjacency=adjacency)


@pytest.fixture(scope="session")
def colliders(collider) -> dict[str | None, Dataset]:
    """left -> effect <- right by assumption."""
    rng = np.random.default_rng(0)
    tables: dict[str | None, Dataset] = {None: collider}
    left, right = rng.normal(size=1000), rng.normal(size=1000)
    bent = 2 * np.sin(1.5 * left) + 2 * np.cos(1.5 * right) + rng.normal(size=1000)
    straight = 1.5 * left - 1.5 * right + rng.normal(size=1000)
    for assumption, effect in {"nonlinear": bent, "equal_noise": straight}.items():
        values = np.stack([left, effect, right], 1)
        tables[assumption] = Dataset(("left", "effect", "right"), values, adjacency=collider.truth)
    return tables


@pytest.fixture(scope="session")
def chains() -> dict[str | None, Dataset]:
    """x -> y -> z by assumption, with the columns as z, x, y."""
    rng = np.random.default_rng(4)
    tables: dict[str | None, Dataset] = {}
    x = _noise(rng, 1000)
    y = x + 0.7 * _noise(rng, 1000)
    tables[None] = _table(("z", "x", "y"), ["xy", "yz"], {"x": x, "y": y, "z": y + 0.7 * _noise(rng, 1000)})
    x = rng.normal(size=1000)
    y = 2 * np.sin(1.5 * x) + rng.normal(size=1000)
    z = 2 * np.cos(y) + rng.normal(size=1000)
    tables["nonlinear"] = _table(("z", "x", "y"), ["xy", "yz"], {"x": x, "y": y, "z": z})
    y = 1.5 * x + rng.normal(size=1000)
    z = -1.5 * y + rng.normal(size=1000)
    tables["equal_noise"] = _table(("z", "x", "y"), ["xy", "yz"], {"x": x, "y": y, "z": z})
    return tables


@pytest.fixture(scope="session")
def networks(network) -> dict[str | None, Dataset]:
    """The network of six variables by assumption."""
    tables: dict[str | None, Dataset] = {None: network}
    names, edges = ("d", "b", "f", "a", "e", "c"), ["ac", "bc", "cd", "df", "ef"]
    rng = np.random.default_rng(5)  # a draw on which tests at level 0.05 find nothing that is not there
    noise = {name: rng.normal(size=1000) for name in names}
    x = {name: noise[name] for name in "abe"}
    x["c"] = 2 * np.sin(1.5 * x["a"]) + 2 * np.cos(1.5 * x["b"]) + noise["c"]
    x["d"] = 2 * np.sin(x["c"]) + noise["d"]
    x["f"] = 2 * np.cos(1.5 * x["d"]) + 2 * np.sin(1.5 * x["e"]) + noise["f"]
    tables["nonlinear"] = _table(names, edges, x)
    x = {name: noise[name] for name in "abe"}
    x["c"] = 1.5 * x["a"] - 1.5 * x["b"] + noise["c"]
    x["d"] = 1.2 * x["c"] + noise["d"]
    x["f"] = -1.2 * x["d"] + 1.5 * x["e"] + noise["f"]
    tables["equal_noise"] = _table(names, edges, x)
    return tables


@pytest.fixture(scope="session", params=["forward", "backward"])
def pushed_pair(request) -> Dataset:
    """Two Gaussian variables, half of the rows with the cause set to larger values."""
    rng = np.random.default_rng(6)
    cause = rng.normal(size=600)
    cause[300:] = 3 + rng.normal(size=300)
    effect = cause + rng.normal(size=600)
    mask = np.zeros((600, 2), bool)
    mask[300:, 0] = True
    values, adjacency = np.stack([cause, effect], 1), np.array([[0, 1], [0, 0]])
    if request.param == "backward":
        values, mask, adjacency = values[:, ::-1], mask[:, ::-1], adjacency.T
    return Dataset(("x", "y"), values, mask, adjacency)
