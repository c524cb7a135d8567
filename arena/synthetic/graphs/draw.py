"""Draws that graph families are made of."""

import numpy as np
from jaxtyping import Bool, Float, Int


def edge_count(d: int, density: float) -> int:
    """Edges of a DAG with d nodes and this density, a share of the d (d - 1) / 2 pairs."""
    return round(density * d * (d - 1) / 2)


def weighted_edges(rng: np.random.Generator, weight: Float[np.ndarray, "d d"], edges: int) -> Bool[np.ndarray, "d d"]:
    """`edges` pairs i < j, drawn one after the other with probability proportional to `weight[i, j]`.

    Pairs of infinite weight are always in, pairs of weight zero never; so there are more or fewer edges where these
    leave no choice. (The smallest of exponential variables with rates w are such a draw: Efraimidis & Spirakis 2006.)
    """
    weight = np.triu(weight, k=1)
    arrival = np.full(weight.shape, np.inf)
    np.divide(rng.standard_exponential(weight.shape), weight, out=arrival, where=weight > 0)
    edges = min(edges, arrival.size)
    last = np.partition(arrival, edges - 1, axis=None)[edges - 1] if edges else 0.0
    return (arrival <= last) & (weight > 0)


def one_parent(rng: np.random.Generator, allowed: Bool[np.ndarray, "d d"]) -> Bool[np.ndarray, "d d"]:
    """A random one of the allowed parents for every node that has any."""
    parent = np.where(allowed, rng.random(allowed.shape), -1.0).argmax(axis=0)
    chosen = np.zeros(allowed.shape, bool)
    chosen[parent, np.arange(len(allowed))] = True
    return chosen & allowed


def split(rng: np.random.Generator, d: int, groups: int) -> Int[np.ndarray, " d"]:
    """Labels 0, 0, ..., 1, ... of d nodes in random group sizes, each at least half an equal share."""
    groups = max(1, min(groups, d))
    least = max(1, d // (2 * groups)) if d else 0
    sizes = least + rng.multinomial(d - groups * least, np.full(groups, 1 / groups))
    return np.repeat(np.arange(groups), sizes)


def layer_count(rng: np.random.Generator, d: int) -> int:
    """Layers of a layered graph with d nodes: 3 to about the root of d."""
    return int(rng.integers(3, max(3, round(d**0.5)) + 1))
