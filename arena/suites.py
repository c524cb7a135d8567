"""Named suites of SCMs. What a suite holds follows from its name and a seed; a part of it is the same SCMs."""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from arena import stressors
from arena.calibrate import Scaling, calibrate
from arena.compiler import PARENTS_STEP
from arena.errors import SourceError
from arena.keys import key_of, rng_of
from arena.members import Member, Variant, weak_edges
from arena.pool import Frame
from arena.protocols import PROTOCOLS
from arena.quality import problem
from arena.selection import Selection
from arena.spec import SCMSpec
from arena.spec_errors import did_you_mean, listed
from arena.synthetic import graphs
from arena.synthetic.difficulty import stressors_of
from arena.synthetic.sample import draft_spec
from arena.vocabulary import vocabulary
from arena.written import Place, places

MAX_CANDIDATES = 100
#: SCMs that are drawn together.
BATCH = 64
#: What the SCMs of a grid are, and the first part of their ids.
FAMILY = "synthetic"
#: One in five SCMs of the full grid has dependent roots: 200 of 1,000 (paper A.1, Root dependency).
DEPENDENT_ROOTS = ("correlated_normal", "random_covariance_normal", "uniform_ball")


@dataclasses.dataclass(frozen=True)
class Suite:
    """A grid of synthetic configurations (paper A.1): `per_cell` SCMs for each graph family and dimension.

    Families are listed, not looked up, so that a suite stays what it is when more are registered.

    Attributes:
        scheduled: Whether difficulty and root dependency cycle within each cell; else all are baseline, independent.
        variants: How each SCM is measured.
        pool: The suite whose SCMs these are, where they are not its own.
        written: Families of written scenarios that belong to it, all of them.
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
    scheduled: bool = False
    variants: tuple[Variant, ...] = (Variant(),)
    pool: "Suite | None" = None
    written: tuple[str, ...] = ()

    @property
    def source(self) -> "Suite":
        """The suite that its SCMs come from."""
        return self.pool or self

    @property
    def frame(self) -> Frame:
        """What any batch of its SCMs needs; see `Pool`."""
        if self.pool:
            return self.pool.frame
        # Only small dense graphs have more than a few parents.
        most_parents = max(cap or d - 1 for d in self.dimensions for cap in graphs.in_degree_caps(d))
        among = vocabulary(self.mechanisms, self.noises, self.roots)
        return Frame(among, BATCH, max(self.dimensions), (PARENTS_STEP, most_parents), self.scheduled)


@dataclasses.dataclass(frozen=True)
class Cell:
    """The place of one SCM, measured in one way, in a suite."""

    suite: Suite
    graph: str
    d: int
    index: int
    variant: Variant = Variant()

    @property
    def id(self) -> str:
        """For example `synthetic/main/erdos_renyi-d10-000`."""
        return self._id(self.suite) + (f"-{self.variant.name}" if self.variant.name else "")

    @property
    def scm(self) -> str:
        """The name of the SCM: its id in the suite that it comes from."""
        return self._id(self.suite.source)

    def _id(self, suite: Suite) -> str:
        return f"{FAMILY}/{suite.name}/{self.graph}-d{self.d}-{self.index:03d}"

    @property
    def frame(self) -> Frame:
        """What any batch of the suite's SCMs needs."""
        return self.suite.frame

    @property
    def family(self) -> str:
        """The family of the SCM."""
        return FAMILY

    def settings(self) -> dict[str, Any]:
        """Root dependency and stressors, by the schedule of the suite that the SCM comes from (paper A.1)."""
        pool = self.suite.source
        if not pool.scheduled:
            return {}
        graph, d = pool.graphs.index(self.graph), pool.dimensions.index(self.d)
        dependent = self.index % 5 == 4
        turn = (graph + d + self.index // 5) % len(DEPENDENT_ROOTS)
        return {
            "root_dependency": DEPENDENT_ROOTS[turn] if dependent else "independent_roots",
            "stressors": stressors_of(graph, d, self.index),
        }


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
MAIN = Suite(
    name="main",
    description="the synthetic pool of the paper: 10 graph families x 5 dimensions x 20",
    graphs=(
        "erdos_renyi", "scale_free", "chain", "tree", "layered", "bipartite_layered", "small_world",
        "block_sparse_layered", "dense_local_modules", "collider_rich",
    ),
    dimensions=(10, 20, 30, 50, 100),
    mechanisms=(
        "linear_additive", "polynomial_power", "multiplicative_product", "random_function_product",
        "linear_interaction", "rational_ratio", "exp_log", "trig_periodic", "piecewise_threshold", "saturation_clip",
        "mixture_regime", "random_neural", "rff_gp", "activation_additive", "tree_based", "discrete_assignment",
        "aggregation_nonlinearity",
    ),
    noises=(
        "gaussian", "uniform", "laplace", "student_t", "multiplicative_lognormal", "heteroskedastic",
        "rff_heteroskedastic", "target_r2_gaussian", "mixture_outlier", "quantized", "censored", "beta",
        "exponential", "gumbel", "none",
    ),
    roots=(
        "uniform", "gaussian", "truncated_gaussian", "lognormal", "gamma", "scaled_beta", "exponential", "gumbel",
        "bernoulli", "poisson", "ordinal", "mixture_gaussian", "multinomial", "zipf",
    ),
    per_cell=20,
    replicates=5,
    scheduled=True,
    written=("formula",),
)  # fmt: skip
#: The part of the main suite that the two sensitivity suites measure again (paper A.2).
_REPRESENTATIVE: dict[str, Any] = {"dimensions": (30,), "per_cell": 10, "pool": MAIN, "written": ()}
SAMPLE_SIZE = dataclasses.replace(
    MAIN,
    name="sample-size",
    description="100 SCMs of the main suite with 30 variables, 100 to 10,000 rows",
    variants=tuple(Variant(f"n{n}", n=n) for n in (100, 200, 500, 1000, 2000, 5000, 10000)),
    **_REPRESENTATIVE,
)
PROTOCOL_SENSITIVITY = dataclasses.replace(
    MAIN,
    name="protocols",
    description="100 SCMs of the main suite with 30 variables, six intervention protocols",
    variants=tuple(Variant(protocol, protocol) for protocol in PROTOCOLS),
    **_REPRESENTATIVE,
)
SUITES = {suite.name: suite for suite in (MINI, MAIN, SAMPLE_SIZE, PROTOCOL_SENSITIVITY)}


def get(name: str) -> Suite:
    """The suite of that name.

    Raises:
        SourceError: If there is none.
    """
    if name not in SUITES:
        raise SourceError(f"no suite '{name}'{did_you_mean(name, SUITES)}; suites are {listed(SUITES)}")
    return SUITES[name]


def cells(name: str, select: Selection | None = None) -> list[Cell | Place]:
    """The places of a suite, or a part of them, sorted by id.

    Raises:
        SourceError: If there is no such suite, or nothing of it is selected.
    """
    suite, select = get(name), select or Selection()
    asked = [family for family in suite.written if select.families is None or family in select.families]
    written = (place for family in asked for place in places(suite.name, family, suite.variants))
    everything = itertools.chain(grid(name), written)
    chosen = select.choose(everything, id=lambda cell: cell.id, family=lambda cell: cell.family, d=lambda cell: cell.d)
    if not chosen:
        held = ", ".join((FAMILY, *suite.written))
        raise SourceError(
            f"nothing of suite '{name}' is selected by families={select.families}, max_d={select.max_d}; it holds "
            f"{held} SCMs with {min(suite.dimensions)} to {max(suite.dimensions)} variables"
        )
    return chosen


def grid(name: str) -> list[Cell]:
    """The places of a suite's synthetic SCMs, all of them.

    Raises:
        SourceError: If there is no such suite.
    """
    suite = get(name)
    cells = itertools.product(suite.graphs, suite.dimensions, range(suite.per_cell), suite.variants)
    return [Cell(suite, *cell) for cell in cells]


def accepted(
    places: Sequence[Cell],
    seed: int = 0,
    scaling: Scaling = "paper",
    *,
    rejected: Mapping[str, Sequence[str]] | None = None,
    jobs: int | None = None,
) -> list[Member]:
    """The SCM at each place: the first candidate whose calibration sample passes the quality rules.

    Args:
        places: In one suite, each of another SCM.
        seed: Another seed, another SCM.
        scaling: As in `arena.calibrate`.
        rejected: By SCM, why so many candidates were not taken before; they are passed over.
        jobs: As in `members`.

    Raises:
        SourceError: If none passes.
    """
    faults = {cell.scm: list((rejected or {}).get(cell.scm, ())) for cell in places}
    found: dict[str, Member] = {}
    while waiting := [cell for cell in places if cell.scm not in found]:
        for cell in waiting:
            if len(faults[cell.scm]) >= MAX_CANDIDATES:
                last = faults[cell.scm][-1]
                raise SourceError(
                    f"no acceptable SCM for {cell.scm} in {MAX_CANDIDATES} candidates; the last failed {last}"
                )
        drafts = [_draft(cell, seed, len(faults[cell.scm])) for cell in waiting]
        sampled = calibrate(drafts, scaling, frame=waiting[0].suite.frame, jobs=jobs)
        for cell, (spec, values, response) in zip(waiting, sampled, strict=True):
            spec = _stressed(spec, values, cell, seed)
            fault = problem(values.T) or problem(_measured(spec, values.T, cell, seed))
            if fault:
                faults[cell.scm].append(fault)
            else:
                weak = weak_edges(response)
                found[cell.scm] = Member(cell.scm, FAMILY, spec, values.T, weak, faults[cell.scm])
    return [found[cell.scm] for cell in places]


def _draft(cell: Cell, seed: int, attempt: int) -> SCMSpec:
    suite = cell.suite.source
    return draft_spec(
        key_of(cell.scm, seed, attempt),
        d=cell.d,
        graph=cell.graph,
        mechanisms=suite.mechanisms,
        noises=suite.noises,
        roots=suite.roots,
        name=cell.scm,
        **cell.settings(),
    )


def _measured(spec: SCMSpec, values: np.ndarray, cell: Cell, seed: int) -> np.ndarray:
    """The calibration sample `[n, d]` as the stressors would have it measured."""
    rng, rows = rng_of("measured", cell.scm, seed), np.zeros(len(values), bool)
    return stressors.apply(spec.stressors, values, spec.names, rows, rng)


def _stressed(spec: SCMSpec, values: np.ndarray, cell: Cell, seed: int) -> SCMSpec:
    """The spec with the stressors that act on its tables and interventions, as data; `values` `[d, n]`."""
    families = [name for name in cell.settings().get("stressors", ()) if name in stressors.FAMILIES]
    rng = rng_of("stressors", cell.scm, seed)
    drawn = [stressors.draw(name, rng, spec.names, values.mean(axis=1), values.std(axis=1)) for name in families]
    return spec.model_copy(update={"stressors": tuple(drawn)}) if drawn else spec
