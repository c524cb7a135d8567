"""Named suites of SCMs. What a suite holds follows from its name and a seed; a part of it is the same SCMs."""

import dataclasses
import hashlib
import itertools
from collections.abc import Sequence

import jax
import numpy as np

from arena.compiler import compile_on_host
from arena.errors import SourceError
from arena.quality import problem
from arena.sampling import sample_values
from arena.selection import Selection
from arena.spec import SCMSpec
from arena.spec_errors import did_you_mean, listed
from arena.synthetic.sample import sample_spec

#: Rows of the calibration sample, from which a candidate is judged and intervention values are taken.
N_CALIBRATION = 1000
MAX_CANDIDATES = 50


@dataclasses.dataclass(frozen=True)
class Suite:
    """A grid of synthetic configurations (paper A.1): `per_cell` SCMs for each graph family and dimension.

    Families are listed, not looked up, so that a suite stays what it is when more are registered.
    """

    name: str
    description: str
    graphs: tuple[str, ...]
    dimensions: tuple[int, ...]
    mechanisms: tuple[str, ...]
    noises: tuple[str, ...]
    roots: tuple[str, ...]
    per_cell: int
    replicates: int


@dataclasses.dataclass(frozen=True)
class Member:
    """One SCM of a suite.

    Attributes:
        id: For example `synthetic/erdos_renyi-d10-000`.
        family: `synthetic`.
        spec: The SCM.
        baseline: `[N_CALIBRATION, d]` observational values, from a key that follows from the spec.
        rejected: Candidates that failed the quality rules before this one.
    """

    id: str
    family: str
    spec: SCMSpec
    baseline: np.ndarray
    rejected: int


#: What the SCMs of a grid are, and the first part of their ids.
FAMILY = "synthetic"

MINI = Suite(
    name="mini",
    description="small random SCMs of five mechanism families",
    graphs=("erdos_renyi", "scale_free"),
    dimensions=(5, 10),
    mechanisms=("formula", "linear_additive", "piecewise_threshold", "random_neural", "rff_gp"),
    noises=("gaussian", "heteroskedastic", "laplace", "none", "uniform"),
    roots=("bernoulli", "gaussian", "lognormal", "uniform"),
    per_cell=3,
    replicates=2,
)
SUITES = {suite.name: suite for suite in (MINI,)}


def get(name: str) -> Suite:
    """The suite of that name.

    Raises:
        SourceError: If there is none.
    """
    if name not in SUITES:
        raise SourceError(f"no suite '{name}'{did_you_mean(name, SUITES)}; suites are {listed(SUITES)}")
    return SUITES[name]


def members(name: str, select: Selection | None = None) -> list[Member]:
    """The SCMs of a suite, or a part of them; the same SCM whatever part is asked for.

    Raises:
        SourceError: If there is no such suite, or nothing of it is selected.
    """
    suite, select = get(name), select or Selection()
    cells = itertools.product(suite.graphs, suite.dimensions, range(suite.per_cell))
    chosen = select.choose(cells, id=lambda cell: _id(*cell), family=lambda cell: FAMILY, d=lambda cell: cell[1])
    if not chosen:
        raise SourceError(
            f"nothing of suite '{name}' is selected by families={select.families}, max_d={select.max_d}; it holds "
            f"{FAMILY} SCMs with {min(suite.dimensions)} to {max(suite.dimensions)} variables"
        )
    return sorted(_draw(suite, chosen, select.seed), key=lambda member: member.id)


def _draw(suite: Suite, cells: Sequence[tuple[str, int, int]], seed: int) -> list[Member]:
    """Candidates for every cell at once; those that fail the quality rules are drawn anew."""
    done: list[Member] = []
    waiting = list(cells)
    for attempt in range(MAX_CANDIDATES):
        specs = [_candidate(suite, cell, seed, attempt) for cell in waiting]
        baselines = calibration(specs)
        good = [problem(values) is None for values in baselines]
        for (graph, d, index), spec, values, ok in zip(waiting, specs, baselines, good, strict=True):
            if ok:
                done.append(Member(_id(graph, d, index), FAMILY, spec, values, rejected=attempt))
        waiting = [cell for cell, ok in zip(waiting, good, strict=True) if not ok]
        if not waiting:
            return done
    raise SourceError(f"no acceptable SCM for {_id(*waiting[0])} in {MAX_CANDIDATES} candidates")


def calibration(specs: Sequence[SCMSpec]) -> list[np.ndarray]:
    """`[N_CALIBRATION, d]` observational values of each spec, from a key that follows from the spec."""
    if not specs:
        return []
    keys = jax.numpy.stack([key_of("calibration", spec.content_hash) for spec in specs])
    return sample_values([compile_on_host(spec) for spec in specs], keys, N_CALIBRATION)


def key_of(*parts: str | int) -> jax.Array:
    """A typed JAX key that follows from text and numbers."""
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return jax.random.key(int.from_bytes(digest[:4], "little"))


def _candidate(suite: Suite, cell: tuple[str, int, int], seed: int, attempt: int) -> SCMSpec:
    graph, d, _ = cell
    name = _id(*cell)
    return sample_spec(
        key_of(name, seed, attempt),
        d=d,
        graph=graph,
        mechanisms=suite.mechanisms,
        noises=suite.noises,
        roots=suite.roots,
        name=name,
    )


def _id(graph: str, d: int, index: int) -> str:
    return f"{FAMILY}/{graph}-d{d}-{index:03d}"
