"""Tree mechanism (paper A.1, Tree-based)."""

import itertools
import math
from typing import Annotated, Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int
from pydantic import Field, Strict

from mechanisms.base import Array, Mechanism, Number, ParameterError, Parameters, param
from mechanisms.parameters import ONLY_LISTS, Many

# Paper A.1, Tree-based; it does not say what the leaves are.
DEPTH = (2, 4)
THRESHOLD = (-0.8, 0.8)
LEAF = (-1.5, 1.5)

N_SPLITS, N_LEAVES = 2 ** DEPTH[1] - 1, 2 ** DEPTH[1]


Numbers = Many[Number]


class TreeBasedParameters(Parameters, frozen=True):
    """Complete binary trees, level by level: below split i come 2i+1 (at or below its threshold) and 2i+2 (above)."""

    family: Literal["tree_based"]
    parent: Annotated[
        tuple[Many[str], ...],
        Strict(False),
        Field(min_length=1, description="what splits look at, by tree"),
        ONLY_LISTS,
    ]
    threshold: Annotated[Many[Numbers], Field(description="threshold of each split, by tree")]
    leaf: Annotated[Many[Numbers], Field(description="leaves from left to right, by tree")]


class TreeBased(Mechanism, family="tree_based"):
    """f(x) = sum_t leaf of tree t that x falls into.

    Prior (paper A.1): a tree of depth 2-4 with thresholds in [-0.8, 0.8] and leaves in [-1.5, 1.5]. Every path from the
    root to a leaf looks at every parent, so that no edge is void: the depth is at least the number of parents, and
    beyond 4 parents there are more trees, which share out the parents; their leaves are divided by the square root of
    the number of trees.
    """

    granularity = {"trees": 2, "splits": N_SPLITS, "leaves": N_LEAVES}

    parent: Int[Array, "trees splits"] = param("position of the parent that each split looks at")
    threshold: Float[Array, "trees splits"] = param("threshold of each split")
    leaf: Float[Array, "trees leaves"] = param("values of the leaves")

    @classmethod
    def parameters(cls):
        return TreeBasedParameters

    @classmethod
    def arrays(cls, parameters, parents):
        # A tree of less depth is one of full depth, whose lowest splits part equal leaves.
        n = len(parameters.parent)
        arrays = {
            "parent": np.zeros((n, N_SPLITS), np.int32),
            "threshold": np.zeros((n, N_SPLITS)),
            "leaf": np.zeros((n, N_LEAVES)),
        }
        _check_trees(parameters, parents)
        for t, (names, threshold, leaf) in enumerate(_trees(parameters)):
            arrays["parent"][t, : len(names)] = [parents.index(name) for name in names]
            arrays["threshold"][t, : len(threshold)] = threshold
            arrays["leaf"][t] = np.repeat(leaf, N_LEAVES // len(leaf))
        return arrays

    @classmethod
    def prior(cls, rng, parents):
        groups = np.array_split(rng.permutation(parents), math.ceil(len(parents) / DEPTH[1]))
        trees = [_random_tree(rng, group.tolist(), 1 / math.sqrt(len(groups))) for group in groups]
        return {field: [tree[field] for tree in trees] for field in trees[0]}

    def __call__(self, parents):
        right = parents[self.parent] > self.threshold
        values = self.leaf
        for depth in reversed(range(DEPTH[1])):  # from the leaves up, each split chooses between its two children
            splits = right[:, 2**depth - 1 : 2 ** (depth + 1) - 1]
            values = jnp.where(splits, values[:, 1::2], values[:, 0::2])
        return jnp.sum(values)


def _random_tree(rng, parents, scale):
    depth = int(rng.integers(max(DEPTH[0], len(parents)), DEPTH[1] + 1))
    leaf = (scale * rng.uniform(*LEAF, size=2**depth)).tolist()
    threshold = rng.uniform(*THRESHOLD, size=2**depth - 1).tolist()
    chosen: list[str] = []
    for split in range(2**depth - 1):
        above, place = [], split
        while place:
            place = (place - 1) // 2
            above.append(chosen[place])
        chosen.append(min(rng.permutation(parents).tolist(), key=above.count))
    return {"parent": chosen, "threshold": threshold, "leaf": leaf}


def _trees(parameters):
    return zip(parameters.parent, parameters.threshold, parameters.leaf, strict=True)


def _check_trees(parameters, parents):
    for field in ("threshold", "leaf"):
        if len(getattr(parameters, field)) != len(parameters.parent):
            found, wanted = len(getattr(parameters, field)), len(parameters.parent)
            raise ParameterError(field, f"is of {found} trees, expected {wanted} (as in 'parent')")
    for names, threshold, leaf in _trees(parameters):
        if len(leaf) not in (2, 4, 8, N_LEAVES):
            raise ParameterError("leaf", f"has {len(leaf)} entries for a tree, expected 2, 4, 8 or {N_LEAVES}")
        for field, values in (("parent", names), ("threshold", threshold)):
            if len(values) != len(leaf) - 1:
                wanted = f"expected {len(leaf) - 1} (one per split of {len(leaf)} leaves)"
                raise ParameterError(field, f"has {len(values)} entries for a tree, {wanted}")
    used = set(itertools.chain(*parameters.parent))
    if unknown := used - set(parents):
        raise ParameterError("parent", f"names '{min(unknown)}', expected parents: {', '.join(parents)}")
    if unused := set(parents) - used:
        raise ParameterError("parent", f"does not name '{min(unused)}', expected a split on every parent")
