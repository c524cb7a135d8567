"""Counts out of a fixed number of trials, each with the signal as its chance: germinated seeds, failed parts."""

import jax
import jax.numpy as jnp
from jaxtyping import Float

from mechanisms.base import Array, Noise, ParameterError, param

TRIALS = (5, 50)  # ours; the paper has no binomial noise
#: A chance is at least this far from 0 and 1.
MARGIN = 1e-7


class Binomial(Noise, family="binomial"):
    """The number of `trials` that succeed, each with chance `signal` (cut to [0, 1]): the quantile function at u.

    In float32 it is one count off for some units, 3 in 100 of 1000 trials.

    Prior: 5 to 50 trials.
    """

    link = "chance"

    trials: Float[Array, ""] = param("number of trials, a whole number", ge=1, le=1000, pad=1.0)

    @classmethod
    def arrays(cls, parameters, parents):
        if parameters.trials != int(parameters.trials):
            raise ParameterError("trials", f"is {parameters.trials:g}, expected a whole number")
        return super().arrays(parameters, parents)

    @classmethod
    def prior(cls, rng):
        return {"trials": int(rng.integers(TRIALS[0], TRIALS[1] + 1))}

    def __call__(self, signal, u, parents):
        chance = jax.lax.stop_gradient(jnp.clip(signal, MARGIN, 1.0 - MARGIN))  # a count has no slope by its chance
        # Counted from the nearer end: a sum of masses is exact enough while it is small.
        failures, n, u = u > 0.5, jax.lax.stop_gradient(self.trials), jax.lax.stop_gradient(u)
        chance, tail = jnp.where(failures, 1.0 - chance, chance), jnp.where(failures, 1.0 - u, u)
        odds = jnp.log(chance) - jnp.log1p(-chance)

        def step(k, state):
            log_mass, below, count = state  # log P(X = k), P(X < k), how many k have P(X <= k) < tail
            below, k = below + jnp.exp(log_mass), k.astype(chance.dtype)
            return log_mass + jnp.log((n - k) / (k + 1.0)) + odds, below, count + (below < tail)

        start = (n * jnp.log1p(-chance), jnp.zeros_like(chance), jnp.zeros_like(chance))
        count = jax.lax.fori_loop(0, n.astype(jnp.int32), step, start)[2]
        return jnp.where(failures, n - count, count).astype(signal.dtype)
