"""Named suites of SCMs. What a suite holds follows from its name and a seed; a part of it is the same SCMs."""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from arena import stressors
from arena.calibrate import Scaling, calibrate
from arena.errors import SourceError
from arena.keys import key_of
from arena.quality import problem
from arena.selection import Selection
from arena.spec import SCMSpec
from arena.spec_errors import did_you_mean, listed
from arena.synthetic.difficulty import stressors_of
from arena.synthetic.sample import draft_spec, generator

MAX_CANDIDATES = 100
#: What the SCMs of a grid are, and the first part of their ids.
FAMILY = "synthetic"
#: An edge whose response (see `arena.calibrate.Calibrated`) is below this is counted as weak.
RESPONSE_FLOOR = 0.02
#: One in five SCMs of the full grid has dependent roots: 200 of 1,000 (paper A.1, Root dependency).
DEPENDENT_ROOTS = ("correlated_normal", "random_covariance_normal", "uniform_ball")


@dataclasses.dataclass(frozen=True)
class Suite:
    """A grid of synthetic configurations (paper A.1): `per_cell` SCMs for each graph family and dimension.

    Families are listed, not looked up, so that a suite stays what it is when more are registered.

    Attributes:
        scheduled: Whether difficulty and root dependency cycle within each cell; else all are baseline, independent.
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


@dataclasses.dataclass(frozen=True)
class Cell:
    """The place of one SCM in a suite."""

    suite: Suite
    graph: str
    d: int
    index: int

    @property
    def id(self) -> str:
        """For example `synthetic/main/erdos_renyi-d10-000`."""
        return f"{FAMILY}/{self.suite.name}/{self.graph}-d{self.d}-{self.index:03d}"

    def settings(self) -> dict[str, Any]:
        """Root dependency and stressors, by the schedule of the suite (paper A.1)."""
        if not self.suite.scheduled:
            return {}
        graph, d = self.suite.graphs.index(self.graph), self.suite.dimensions.index(self.d)
        dependent = self.index % 5 == 4
        turn = (graph + d + self.index // 5) % len(DEPENDENT_ROOTS)
        return {
            "root_dependency": DEPENDENT_ROOTS[turn] if dependent else "independent_roots",
            "stressors": stressors_of(graph, d, self.index),
        }


@dataclasses.dataclass(frozen=True)
class Member:
    """One SCM of a suite.

    Attributes:
        id: As `Cell.id`.
        family: `synthetic`.
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
)  # fmt: skip
SUITES = {suite.name: suite for suite in (MINI, MAIN)}


def get(name: str) -> Suite:
    """The suite of that name.

    Raises:
        SourceError: If there is none.
    """
    if name not in SUITES:
        raise SourceError(f"no suite '{name}'{did_you_mean(name, SUITES)}; suites are {listed(SUITES)}")
    return SUITES[name]


def cells(name: str, select: Selection | None = None) -> list[Cell]:
    """The places of a suite, or a part of them, sorted by id.

    Raises:
        SourceError: If there is no such suite, or nothing of it is selected.
    """
    suite, select = get(name), select or Selection()
    grid = (Cell(suite, *place) for place in itertools.product(suite.graphs, suite.dimensions, range(suite.per_cell)))
    chosen = select.choose(grid, id=lambda cell: cell.id, family=lambda cell: FAMILY, d=lambda cell: cell.d)
    if not chosen:
        raise SourceError(
            f"nothing of suite '{name}' is selected by families={select.families}, max_d={select.max_d}; it holds "
            f"{FAMILY} SCMs with {min(suite.dimensions)} to {max(suite.dimensions)} variables"
        )
    return chosen


def members(name: str, select: Selection | None = None) -> list[Member]:
    """The SCMs of a suite, or a part of them; the same SCM whatever part is asked for.

    Raises:
        SourceError: As `cells`.
    """
    select = select or Selection()
    return [member(cell, select.seed) for cell in cells(name, select)]


def member(cell: Cell, seed: int = 0, scaling: Scaling = "paper", rejected: Sequence[str] = ()) -> Member:
    """The SCM at a place: the first candidate whose calibration sample passes the quality rules.

    Args:
        cell: The place.
        seed: Another seed, another SCM.
        scaling: As in `arena.calibrate`.
        rejected: Why so many candidates were not taken before; they are passed over.

    Raises:
        SourceError: If none passes.
    """
    suite, faults = cell.suite, list(rejected)
    for attempt in range(len(faults), MAX_CANDIDATES):
        draft = draft_spec(
            key_of(cell.id, seed, attempt),
            d=cell.d,
            graph=cell.graph,
            mechanisms=suite.mechanisms,
            noises=suite.noises,
            roots=suite.roots,
            name=cell.id,
            **cell.settings(),
        )
        spec, values, response = calibrate(draft, scaling)
        spec = _stressed(spec, values, cell, seed)
        found = problem(values.T) or problem(_measured(spec, values.T, cell, seed))
        if found is None:
            weak = [(*edge, round(moved, 5)) for edge, moved in response.items() if moved < RESPONSE_FLOOR]
            return Member(cell.id, FAMILY, spec, values.T, weak, faults)
        faults.append(found)
    raise SourceError(f"no acceptable SCM for {cell.id} in {MAX_CANDIDATES} candidates; the last failed {faults[-1]}")


def _measured(spec: SCMSpec, values: np.ndarray, cell: Cell, seed: int) -> np.ndarray:
    """The calibration sample `[n, d]` as the stressors would have it measured."""
    rng, rows = generator(key_of("measured", cell.id, seed)), np.zeros(len(values), bool)
    return stressors.apply(spec.stressors, values, spec.names, rows, rng)


def _stressed(spec: SCMSpec, values: np.ndarray, cell: Cell, seed: int) -> SCMSpec:
    """The spec with the stressors that act on its tables and interventions, as data; `values` `[d, n]`."""
    families = [name for name in cell.settings().get("stressors", ()) if name in stressors.FAMILIES]
    rng = generator(key_of("stressors", cell.id, seed))
    drawn = [stressors.draw(name, rng, spec.names, values.mean(axis=1), values.std(axis=1)) for name in families]
    return spec.model_copy(update={"stressors": tuple(drawn)}) if drawn else spec
