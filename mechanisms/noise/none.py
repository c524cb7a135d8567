"""No noise: a deterministic local equation (paper A.1, No-noise option)."""

from mechanisms.base import Noise


class NoNoise(Noise, family="none"):
    """The signal itself."""

    link = "identity"

    @classmethod
    def prior(cls, rng):
        return {}

    def __call__(self, signal, u, parents):
        return signal
