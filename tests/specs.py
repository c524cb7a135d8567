"""Specs that several tests use, and closed forms for linear-Gaussian SCMs."""

import copy

import jax
import numpy as np

import arena
from arena.spec import SCMSpec

PARAMETRIC = ("linear_additive", "piecewise_threshold", "random_neural", "rff_gp")


def random_spec(seed: int, d: int = 10, **options) -> SCMSpec:
    return arena.synthetic.sample_spec(jax.random.key(seed), d=d, **options)


def linear_gaussian(seed: int, d: int = 6) -> SCMSpec:
    """A random linear-Gaussian SCM, columns in random order."""
    rng = np.random.default_rng(seed)
    order, names = rng.permutation(d), [f"v{j}" for j in range(d)]
    nodes: list = [None] * d
    for place, j in enumerate(order):
        parents = [names[i] for i in order[:place] if rng.random() < 0.6]
        if not parents:
            root = {"family": "gaussian", "mean": rng.normal(), "scale": rng.uniform(0.5, 1.5)}
            nodes[j] = {"name": names[j], "root": root}
            continue
        weight = rng.uniform(-1.2, 1.2, size=len(parents)).tolist()
        nodes[j] = {
            "name": names[j],
            "parents": parents,
            "mechanism": {"family": "linear_additive", "weight": weight, "bias": rng.normal()},
            "noise": {"family": "gaussian", "scale": rng.uniform(0.3, 0.8)},
        }
    return SCMSpec.from_dict({"name": f"linear-{seed}", "nodes": nodes})


def moments(spec: SCMSpec, do=None, shift=None) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of a linear-Gaussian SCM, in closed form, under do() and shift interventions."""
    d, index = len(spec.nodes), {name: j for j, name in enumerate(spec.names)}
    weights, intercept, variance = np.zeros((d, d)), np.zeros(d), np.zeros(d)
    for j, node in enumerate(spec.nodes):
        if node.parents:
            for parent, w in zip(node.parents, node.mechanism.weight, strict=True):
                weights[index[parent], j] = w
            intercept[j], variance[j] = node.mechanism.bias, node.noise.scale**2
        else:
            intercept[j], variance[j] = node.root.mean, node.root.scale**2
    for name, value in (do or {}).items():
        j = index[name]
        weights[:, j], intercept[j], variance[j] = 0.0, value, 0.0
    for name, value in (shift or {}).items():
        intercept[index[name]] += value
    total = np.linalg.inv(np.eye(d) - weights)
    return intercept @ total, total.T @ np.diag(variance) @ total


def descendants(adjacency: np.ndarray, targets) -> set[int]:
    """Columns reachable from the targets, these included."""
    reached = set(targets)
    while True:
        more = {int(j) for i in reached for j in np.flatnonzero(adjacency[i])} - reached
        if not more:
            return reached
        reached |= more


GOOD = {
    "schema_version": 1,
    "name": "small",
    "nodes": [
        {"name": "load", "root": {"family": "gaussian", "mean": 0.0, "scale": 1.5}, "unit": "kg", "range": [-9, 9]},
        {"name": "alarm", "kind": "binary", "root": {"family": "bernoulli", "probability": 0.4}},
        {
            "name": "speed",
            "parents": ["load", "alarm"],
            "mechanism": {"family": "linear_additive", "weight": [1.0, -0.5], "bias": 0.1},
            "noise": {"family": "laplace", "scale": 0.2},
        },
        {
            "name": "heat",
            "parents": ["speed"],
            "mechanism": {"family": "formula", "expression": "k * speed**2", "constants": {"k": 0.5}},
        },
        {
            "name": "wear",
            "parents": ["heat", "load"],
            "mechanism": {"family": "rff_gp", "n_features": 64, "length_scale": 1.0, "output_scale": 1.0, "seed": 7},
            "noise": {"family": "heteroskedastic", "base": 0.1, "slope": 0.1},
        },
    ],
    "edges": [
        {"source": "load", "target": "speed", "reason": "a heavier load is moved faster", "sign": "+"},
        {"source": "alarm", "target": "speed", "sign": "-"},
        {"source": "speed", "target": "heat"},
        {"source": "heat", "target": "wear"},
        {"source": "load", "target": "wear"},
    ],
    "factors": {"d": 5, "mechanisms": ["formula", "linear_additive"]},
}


def edited(edit):
    data = copy.deepcopy(GOOD)
    edit({node["name"]: node for node in data["nodes"]}, data)
    return data
