"""Which part of a suite or a folder is meant: the selectors that generating and running share."""

import dataclasses
import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from arena.errors import SourceError
from arena.spec_errors import did_you_mean

FAMILIES = ("synthetic", "semantic", "formula", "real", "table")
T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Selection:
    """A part of a source; None is all of it.

    Attributes:
        families: SCM families.
        max_d: At most so many variables.
        limit: At most so many scenarios, in an order that depends on their ids alone: a fair sample, and the same one
            from a suite and from the folder that it was written to.
        replicates: At most so many tables of each split; for a suite, how many are made.
        seed: Of a suite's SCMs and tables, and of the methods.

    Raises:
        SourceError: If a family is unknown or a number is not positive (the seed: not negative).
    """

    families: Sequence[str] | None = None
    max_d: int | None = None
    limit: int | None = None
    replicates: int | None = None
    seed: int = 0

    def __post_init__(self):
        if isinstance(self.families, str):
            object.__setattr__(self, "families", (self.families,))
        for family in self.families or ():
            if family not in FAMILIES:
                hint = did_you_mean(family, FAMILIES)
                raise SourceError(f"no SCM family '{family}'{hint}; families are {', '.join(FAMILIES)}")
        for name, least in (("max_d", 1), ("limit", 1), ("replicates", 1), ("seed", 0)):
            value = getattr(self, name)
            if value is None and name != "seed":
                continue
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise SourceError(f"{name} is {value!r}; it must be a whole number, at least {least}")

    def choose(
        self, items: Iterable[T], *, id: Callable[[T], str], family: Callable[[T], str], d: Callable[[T], int]
    ) -> list[T]:
        """The selected ones of `items`, sorted by id."""
        kept = [
            item
            for item in items
            if (self.families is None or family(item) in self.families)
            and (self.max_d is None or d(item) <= self.max_d)
        ]
        return sorted(sorted(kept, key=lambda item: _fair(id(item)))[: self.limit], key=id)


def _fair(id: str) -> str:
    return hashlib.sha256(id.encode()).hexdigest()
