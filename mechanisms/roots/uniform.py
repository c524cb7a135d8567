"""Uniform roots (paper A.1)."""

from jaxtyping import Float

from mechanisms.base import Array, ParameterError, Root, param

# Paper A.1, Uniform roots.
LOW = (-2.0, 0.0)
HIGH = (0.5, 3.0)


class UniformRoot(Root, family="uniform"):
    """Uniform on [low, high]. Prior: low in [-2, 0], high in [0.5, 3]."""

    low: Float[Array, ""] = param("lower end")
    high: Float[Array, ""] = param("upper end, above low", pad=1.0)

    @classmethod
    def prior(cls, rng):
        return {"low": rng.uniform(*LOW), "high": rng.uniform(*HIGH)}

    @classmethod
    def arrays(cls, parameters, parents):
        if not parameters.high > parameters.low:
            raise ParameterError("high", f"is {parameters.high}, expected more than low = {parameters.low}")
        return super().arrays(parameters, parents)

    def __call__(self, u):
        return self.low + (self.high - self.low) * u
