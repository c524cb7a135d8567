"""Written scenarios as members of a suite: where each one stands in it, and its SCM with a sample."""

import dataclasses
from collections.abc import Sequence

from arena import authored
from arena.members import Member, Variant, weak_edges
from arena.pool import Frame
from arena.spec import SCMSpec


@dataclasses.dataclass(frozen=True)
class Place:
    """The place of one written scenario, measured in one way, in a suite.

    Attributes:
        suite: The suite's name.
        name: The scenario's.
    """

    suite: str
    family: str
    name: str
    variant: Variant = Variant()

    @property
    def id(self) -> str:
        """For example `formula/main/barometric_reduction`."""
        return self.scm + (f"-{self.variant.name}" if self.variant.name else "")

    @property
    def scm(self) -> str:
        """The name of the SCM."""
        return f"{self.family}/{self.suite}/{self.name}"

    @property
    def spec(self) -> SCMSpec:
        """Its spec."""
        return authored.spec(self.family, self.name)

    @property
    def d(self) -> int:
        """Number of variables."""
        return len(self.spec.nodes)

    @property
    def frame(self) -> Frame:
        """What any batch of the family's SCMs needs."""
        return authored.frame(self.family)


def places(suite: str, family: str, variants: Sequence[Variant] = (Variant(),)) -> list[Place]:
    """Every scenario of a family in a suite, measured in each way."""
    return [Place(suite, family, name, variant) for name in authored.files(family) for variant in variants]


def members(places: Sequence[Place], *, jobs: int | None = None) -> list[Member]:
    """The SCM at each place, as it is written."""
    found = authored.sampled([place.spec for place in places], places[0].frame, jobs=jobs)
    return [
        Member(place.scm, place.family, one.spec, one.values.T, weak_edges(one.response), [])
        for place, one in zip(places, found, strict=True)
    ]
