"""What a suite holds: an SCM, and how it is measured."""

import dataclasses

import numpy as np

from arena.protocols import PROTOCOLS, Protocol
from arena.spec import SCMSpec


@dataclasses.dataclass(frozen=True)
class Variant:
    """How an SCM is measured.

    Attributes:
        name: What ids end with; empty where a suite has one variant.
        protocol: How rows are intervened on (paper A.2).
        n: Rows of each split; as the protocol has them when None.
    """

    name: str = ""
    protocol: str = "default_resampling"
    n: int | None = None

    @property
    def rules(self) -> Protocol:
        """The protocol with that many rows."""
        protocol = PROTOCOLS[self.protocol]
        return protocol if self.n is None else protocol.with_rows(self.n)


@dataclasses.dataclass(frozen=True)
class Member:
    """One SCM of a suite.

    Attributes:
        id: As `Cell.scm`.
        family: `synthetic`, or a family of written scenarios.
        spec: The SCM.
        baseline: `[n, d]` observational values of the calibration sample.
        weak_edges: Edges whose parent hardly moves the child, as (parent, child, response).
        rejected: Why candidates before this one were not taken.
    """

    id: str
    family: str
    spec: SCMSpec
    baseline: np.ndarray
    weak_edges: list[tuple[str, str, float]]
    rejected: list[str]
