"""The components that the SCMs of some families can need, known before any of them is drawn."""

import functools
from collections.abc import Iterable

import numpy as np

from arena.blocks import GivenRoot
from arena.compiler import PARENTS_STEP, bank_key
from mechanisms import registry
from mechanisms.base import Blueprint, Component, Kind, Noise, layout

#: Draws from a prior that show which sizes a family's nodes have. One RFF mechanism in 193 has the least size.
N_DRAWS: dict[Kind, int] = {"mechanism": 1000, "noise": 8, "root": 8}


def vocabulary(mechanisms: Iterable[str], noises: Iterable[str], roots: Iterable[str]) -> tuple[Blueprint, ...]:
    """A component for every bank that nodes of these families can lie in, by what their priors give.

    A size so rare that it is missed costs another compilation when it comes up, and nothing else.
    """
    families: dict[Kind, Iterable[str]] = {"mechanism": mechanisms, "noise": noises, "root": roots}
    classes = [registry.families(kind)[name] for kind, names in families.items() for name in names]
    return (Blueprint(GivenRoot, {}), *(blueprint for cls in classes for blueprint in _sizes_of(cls)))


@functools.cache
def _sizes_of(cls: type[Component]) -> tuple[Blueprint, ...]:
    rng, found = np.random.default_rng(0), {}
    sized = any(dim != "parents" for dims, _ in layout(cls).values() for dim in dims)
    for k in range(N_DRAWS[cls.kind] if sized else 1):
        parents = [f"X{i}" for i in range(1 + k % PARENTS_STEP)] if cls.kind == "mechanism" else []
        drawn = cls.prior(rng, *([parents] if parents else []))  # type: ignore[attr-defined]
        drawn |= {"family": cls.family, **(cls.placeholders(drawn) if issubclass(cls, Noise) else {})}
        blueprint = Blueprint(cls, cls.arrays(cls.parameters().model_validate(drawn), parents))
        found.setdefault(bank_key(blueprint), blueprint)
    return tuple(found.values())
