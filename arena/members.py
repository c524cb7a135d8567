"""What a suite holds: an SCM, and how it is measured."""

import dataclasses
from collections.abc import Mapping

import numpy as np

from arena.protocols import PROTOCOLS, Protocol
from arena.spec import SCMSpec

#: An edge whose response (see `arena.calibrate.Calibrated`) is below this is counted as weak.
RESPONSE_FLOOR = 0.02


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


def weak_edges(response: Mapping[tuple[str, str], float]) -> list[tuple[str, str, float]]:
    """The edges whose parent hardly moves the child, as (parent, child, response)."""
    return [(*edge, round(moved, 5)) for edge, moved in response.items() if moved < RESPONSE_FLOOR]
