"""All families that ship with the package: importing this module registers them. A new family is one line here."""

from mechanisms import formula, linear_additive, piecewise_threshold, random_neural, rff_gp  # noqa: F401
from mechanisms.base import REGISTRY, Component, Kind
from mechanisms.noise import gaussian, heteroskedastic, laplace, none, uniform  # noqa: F401
from mechanisms.roots import bernoulli, lognormal  # noqa: F401
from mechanisms.roots import gaussian as gaussian_root  # noqa: F401
from mechanisms.roots import uniform as uniform_root  # noqa: F401

KINDS: tuple[Kind, ...] = ("mechanism", "noise", "root")


def families(kind: Kind) -> dict[str, type[Component]]:
    """The registered families of one kind, by name."""
    return dict(REGISTRY[kind])
