"""Linear mechanism with interactions (paper A.1, Additive interaction)."""

import itertools
from typing import Annotated, Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int
from pydantic import Field, Strict

from mechanisms.base import Array, Mechanism, Number, ParameterError, Parameters, param
from mechanisms.parameters import ONLY_LISTS, Many
from mechanisms.priors import BIAS, INPUT_LIMIT, signed_weights
from mechanisms.tails import compress

# Paper A.1, Additive interaction.
MAX_PAIRS = 3
PAIR_SCALE = 0.5

Pair = Annotated[tuple[str, str], Strict(False), ONLY_LISTS]


class LinearInteractionParameters(Parameters, frozen=True):
    """Weights of the parents, and of the products of some pairs of them."""

    family: Literal["linear_interaction"]
    weight: Annotated[Many[Number], Field(description="linear effect of each parent")]
    pairs: Annotated[Many[Pair], Field(description="names of the parents that interact")]
    interaction: Annotated[Many[Number], Field(description="effect of each pair's product")]
    bias: Annotated[Number, Field(description="constant term")]


class LinearInteraction(Mechanism, family="linear_interaction"):
    """f(x) = sum_k weight_k x_k + sum_p interaction_p z_first(p) z_second(p) + bias.

    z is x, compressed beyond |x| = 3.

    Prior (paper A.1): 1-3 different pairs, as many as there are at most; interactions +-[0.5, 1.5] times
    0.5/sqrt(pairs); weights and bias as in the linear family. A single parent pairs with itself: its square.
    """

    granularity = {"pairs": MAX_PAIRS}

    weight: Float[Array, "parents"] = param("linear effect of each parent")
    first: Int[Array, "pairs"] = param("position of a parent of each pair")
    second: Int[Array, "pairs"] = param("position of the other one")
    interaction: Float[Array, "pairs"] = param("effect of each pair's product")
    bias: Float[Array, ""] = param("constant term")

    @classmethod
    def parameters(cls):
        return LinearInteractionParameters

    @classmethod
    def arrays(cls, parameters, parents):
        _expect("weight", parameters.weight, len(parents), f"one per parent: {', '.join(parents)}")
        _expect("interaction", parameters.interaction, len(parameters.pairs), "as in 'pairs'")
        for name in itertools.chain(*parameters.pairs):
            if name not in parents:
                raise ParameterError("pairs", f"names '{name}', expected parents: {', '.join(parents)}")
        places = np.array([[parents.index(name) for name in pair] for pair in parameters.pairs], np.int32)
        first, second = places.reshape(-1, 2).T
        weight, interaction = np.asarray(parameters.weight, float), np.asarray(parameters.interaction, float)
        bias = np.asarray(parameters.bias, float)
        return {"weight": weight, "first": first, "second": second, "interaction": interaction, "bias": bias}

    @classmethod
    def prior(cls, rng, parents):
        pairs = list(itertools.combinations(parents, 2)) or [(parents[0], parents[0])]
        n_pairs = int(rng.integers(1, min(MAX_PAIRS, len(pairs)) + 1))
        return {
            "weight": signed_weights(rng, len(parents)),
            "pairs": [pairs[i] for i in rng.choice(len(pairs), size=n_pairs, replace=False)],
            "interaction": signed_weights(rng, n_pairs, PAIR_SCALE),
            "bias": rng.uniform(*BIAS),
        }

    def __call__(self, parents):
        z = compress(parents, INPUT_LIMIT)
        products = self.interaction * z[self.first] * z[self.second]
        return jnp.sum(self.weight * parents) + jnp.sum(products) + self.bias


def _expect(field, values, wanted, why):
    if len(values) != wanted:
        raise ParameterError(field, f"has {len(values)} entries, expected {wanted} ({why})")
