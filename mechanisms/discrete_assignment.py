"""Discretising mechanism (paper A.1, Discretization/assignment)."""

from typing import Annotated, Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from pydantic import Field, Strict

from mechanisms.base import Array, Mechanism, Number, ParameterError, Parameters, param
from mechanisms.parameters import ONLY_LISTS, Many
from mechanisms.priors import signed_weights

LEVELS = (3, 7)  # paper A.1, Discretization/assignment; the ranges below are not in the paper
CUTOFF = (-1.2, 1.2)
VALUE = (-1.5, 1.5)
NEVER = -1e30

Numbers = Many[Number]


class DiscreteAssignmentParameters(Parameters, frozen=True):
    """Which level a unit is assigned to, and the value of each level."""

    family: Literal["discrete_assignment"]
    assignment: Annotated[
        Literal["bins", "clusters"],
        Field(description="bins of a weighted sum of the parents, or the nearest center in their space"),
    ]
    value: Annotated[
        tuple[Number, ...], Strict(False), Field(min_length=1, description="value of each level"), ONLY_LISTS
    ]
    weight: Annotated[Numbers, Field(description="of `bins`: effect of each parent on the sum")] = ()
    cutoff: Annotated[Numbers, Field(description="of `bins`: ends of all bins but the last, ascending")] = ()
    center: Annotated[Many[Numbers], Field(description="of `clusters`: a point a level")] = ()


class DiscreteAssignment(Mechanism, family="discrete_assignment"):
    """f(x) = value of the bin of weight . x, or of the center nearest to x.

    Both are the level i with the largest slope_i . x + intercept_i. For centers c_i, |x - c_i|^2 less |x|^2 is
    |c_i|^2 - 2 c_i . x. For bins of s = weight . x, the lines i s - (cutoff_1 + ... + cutoff_i) cross at the cutoffs.

    Prior (paper A.1): 3-7 levels, bins or clusters; cutoffs in [-1.2, 1.2], standard normal centers, values in
    [-1.5, 1.5], those of bins ascending; weights as in the linear family.
    """

    slope: Float[Array, "levels parents"] = param("slope of each level's score")
    intercept: Float[Array, "levels"] = param("score of each level at the origin", pad=NEVER)
    value: Float[Array, "levels"] = param("value of each level")

    @classmethod
    def parameters(cls):
        return DiscreteAssignmentParameters

    @classmethod
    def arrays(cls, parameters, parents):
        scores = {"bins": _bin_scores, "clusters": _cluster_scores}[parameters.assignment]
        slope, intercept = scores(parameters, parents, len(parameters.value))
        return {"slope": slope, "intercept": intercept, "value": np.asarray(parameters.value, np.float64)}

    @classmethod
    def prior(cls, rng, parents):
        k, n = len(parents), int(rng.integers(LEVELS[0], LEVELS[1] + 1))
        value = rng.uniform(*VALUE, size=n)
        if rng.random() < 0.5:
            center = rng.normal(size=(n, k)).tolist()
            return {"assignment": "clusters", "value": value.tolist(), "center": center}
        cutoff = np.sort(rng.uniform(*CUTOFF, size=n - 1)).tolist()
        weight = signed_weights(rng, k)
        return {"assignment": "bins", "value": np.sort(value).tolist(), "weight": weight, "cutoff": cutoff}

    def __call__(self, parents):
        # Not `@`: on some accelerators it rounds to ten bits, and a score near a border would change sides.
        scores = jnp.sum(self.slope * parents, axis=1) + self.intercept
        best, out = scores[0], self.value[0]
        for score, value in zip(scores[1:], self.value[1:], strict=True):
            better = score > best
            best, out = jnp.where(better, score, best), jnp.where(better, value, out)
        return out


def _bin_scores(parameters, parents, n_levels):
    _expect("weight", parameters.weight, len(parents), f"one per parent: {', '.join(parents)}")
    _expect("cutoff", parameters.cutoff, n_levels - 1, "one less than values")
    _expect("center", parameters.center, 0, "bins have none")
    cutoff = np.asarray(parameters.cutoff, np.float64)
    if (np.diff(cutoff) < 0).any():
        raise ParameterError("cutoff", f"found {cutoff.tolist()}, expected ascending numbers")
    return np.outer(np.arange(n_levels), np.asarray(parameters.weight)), -np.append(0.0, np.cumsum(cutoff))


def _cluster_scores(parameters, parents, n_levels):
    _expect("weight", parameters.weight, 0, "clusters have none")
    _expect("cutoff", parameters.cutoff, 0, "clusters have none")
    _expect("center", parameters.center, n_levels, "one per value")
    for point in parameters.center:
        _expect("center", point, len(parents), f"in each, one per parent: {', '.join(parents)}")
    center = np.asarray(parameters.center, np.float64)
    return center, -0.5 * (center**2).sum(axis=1)


def _expect(field, values, wanted, why):
    if len(values) != wanted:
        raise ParameterError(field, f"has {len(values)} entries, expected {wanted} ({why})")
