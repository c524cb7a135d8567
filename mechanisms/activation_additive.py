"""Additive activations (paper A.1, Activation additive)."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Float, Int

from mechanisms.base import Array, Mechanism, param
from mechanisms.priors import BIAS, signed_weights

# Paper A.1, Activation additive.
PERIOD = (0.75, 3.0)
STEP = (0.2, 1.0)
SHIFT = (-0.5, 0.5)  # not in the paper
LEAK = 0.1
SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772


def _exponential_below(z):
    """z above 0, exp(z) - 1 below."""
    return jnp.maximum(z, 0.0) + jnp.exp(jnp.minimum(z, 0.0)) - 1.0


#: By the names of the paper, of z, the modulo's period and the rounding's step.
ACTIVATIONS = {
    "relu": lambda z, period, step: jnp.maximum(z, 0.0),
    "leaky_relu": lambda z, period, step: jnp.where(z > 0.0, z, LEAK * z),
    "softplus": lambda z, period, step: jnp.maximum(z, 0.0) + jnp.log(1.0 + jnp.exp(-jnp.abs(z))),
    "sigmoid": lambda z, period, step: jax.nn.sigmoid(z),
    "absolute_value": lambda z, period, step: jnp.abs(z),
    "sign": lambda z, period, step: jnp.sign(z),
    "step": lambda z, period, step: jnp.where(z > 0.0, 1.0, 0.0).astype(z.dtype),
    "hard_tanh": lambda z, period, step: jnp.clip(z, -1.0, 1.0),
    "relu6": lambda z, period, step: jnp.clip(z, 0.0, 6.0),
    "elu": lambda z, period, step: _exponential_below(z),
    "selu": lambda z, period, step: SELU_SCALE * jnp.where(z > 0.0, z, SELU_ALPHA * _exponential_below(z)),
    "silu": lambda z, period, step: z * jax.nn.sigmoid(z),
    "modulo": lambda z, period, step: z - period * jnp.floor(z / period),
    "round": lambda z, period, step: step * jnp.round(z / step),
    "rank": lambda z, period, step: 0.5 + 0.5 * jax.lax.erf(z * math.sqrt(0.5)),
}


class ActivationAdditive(Mechanism, family="activation_additive"):
    """f(x) = sum_k weight_k g(x_k + shift_k) + bias, g one of the 15 activations of the paper.

    The rank is that of x among standard normal values, its cumulative probability: a unit's value must not depend on
    which other units are sampled. The leaky ReLU has slope 0.1 below 0.

    Prior (paper A.1): modulo periods in [0.75, 3.0], rounding steps in [0.2, 1.0]; one activation for all parents,
    shifts in [-0.5, 0.5], weights and bias as in the linear family.
    """

    activation: Int[Array, ""] = param("the activation", choices=tuple(ACTIVATIONS))
    weight: Float[Array, "parents"] = param("effect of each activated parent")
    shift: Float[Array, "parents"] = param("added to each parent before the activation")
    bias: Float[Array, ""] = param("constant term")
    period: Float[Array, ""] = param("period of `modulo`; the others ignore it", gt=0, default=1.0)
    step: Float[Array, ""] = param("step of `round`; the others ignore it", gt=0, default=0.5)

    @classmethod
    def prior(cls, rng, parents):
        activation = str(rng.choice(list(ACTIVATIONS)))
        extra = {"modulo": {"period": rng.uniform(*PERIOD)}, "round": {"step": rng.uniform(*STEP)}}
        return {
            "activation": activation,
            "weight": signed_weights(rng, len(parents)),
            "shift": rng.uniform(*SHIFT, size=len(parents)).tolist(),
            "bias": rng.uniform(*BIAS),
            **extra.get(activation, {}),
        }

    def __call__(self, parents):
        z = parents + self.shift
        response = jax.lax.switch(self.activation, list(ACTIVATIONS.values()), z, self.period, self.step)
        return jnp.sum(self.weight * response) + self.bias
