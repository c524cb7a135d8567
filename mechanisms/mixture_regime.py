"""Regime-switching mechanism (paper A.1, Mixture/regime switching)."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from mechanisms.base import Array, Mechanism, param
from mechanisms.priors import BIAS, signed_weights

# Paper A.1, Mixture/regime switching.
GATE_SCALE = (1.0, 4.0)
CUTOFF = (-0.5, 0.5)
ALTERNATE_SCALE = (0.5, 1.8)


class MixtureRegime(Mechanism, family="mixture_regime"):
    """f(x) = (1 - p) weight . x + p alternate_scale alternate . x + bias, p = sigmoid(gate_scale (gate . x - cutoff)).

    Prior (paper A.1): gate scales in [1, 4], cutoffs in [-0.5, 0.5], alternate scales in [0.5, 1.8]; the gate looks in
    a random direction; weights of both regimes and bias as in the linear family.
    """

    weight: Float[Array, "parents"] = param("effect of each parent below the cutoff")
    alternate: Float[Array, "parents"] = param("effect of each parent above the cutoff, before scaling")
    alternate_scale: Float[Array, ""] = param("scale of the regime above the cutoff")
    gate: Float[Array, "parents"] = param("the direction that decides the regime")
    gate_scale: Float[Array, ""] = param("sharpness of the change of regime", gt=0)
    cutoff: Float[Array, ""] = param("where along the gate the regime changes")
    bias: Float[Array, ""] = param("constant term")

    @classmethod
    def prior(cls, rng, parents):
        gate = rng.normal(size=len(parents))
        return {
            "weight": signed_weights(rng, len(parents)),
            "alternate": signed_weights(rng, len(parents)),
            "alternate_scale": rng.uniform(*ALTERNATE_SCALE),
            "gate": (gate / np.linalg.norm(gate)).tolist(),
            "gate_scale": rng.uniform(*GATE_SCALE),
            "cutoff": rng.uniform(*CUTOFF),
            "bias": rng.uniform(*BIAS),
        }

    def __call__(self, parents):
        p = jax.nn.sigmoid(self.gate_scale * (jnp.sum(self.gate * parents) - self.cutoff))
        first = jnp.sum(self.weight * parents)
        second = self.alternate_scale * jnp.sum(self.alternate * parents)
        return first + p * (second - first) + self.bias
