"""Random specs of the synthetic family (paper A.1): a graph, then families, then parameters for every node."""

import operator
from collections.abc import Iterable, Sequence
from typing import Any, Literal, get_args

import jax
import numpy as np

from arena.calibrate import Scaling, calibrate
from arena.checks import as_key
from arena.errors import SpecError
from arena.keys import generator
from arena.pool import Frame
from arena.spec import SCMSpec
from arena.spec_errors import did_you_mean, listed
from arena.synthetic import graphs
from arena.synthetic.difficulty import HIGH_NOISE, STRESSORS, WEAK_SIGNAL
from arena.synthetic.graphs.base import MAX_TRIES
from arena.vocabulary import vocabulary
from mechanisms import registry
from mechanisms.base import Kind

#: Active mechanism and noise families, (least, most), up to each dimension (paper A.1, Family mixing).
FAMILY_COUNTS = ((10, (2, 4)), (20, (3, 5)), (30, (4, 6)), (50, (5, 8)), (float("inf"), (6, 10)))
#: Active root families, (least, most), up to each number of roots (paper A.1, Family mixing).
ROOT_COUNTS = ((1, (1, 1)), (3, (1, 2)), (8, (2, 4)), (float("inf"), (3, 6)))
#: At most this share of the nodes is without noise (paper A.1, No-noise option).
MAX_NOISE_FREE = 0.1
#: Stressors that are built into the nodes.
STRUCTURAL = ("weak_signal", "high_noise")
#: How roots depend on each other (paper A.1, Root dependency).
RootDependency = Literal["independent_roots", "correlated_normal", "random_covariance_normal", "uniform_ball"]
RHO = (0.25, 0.75)
BALL_SCALE, BALL_CENTER = (0.75, 2.0), (-0.5, 0.5)


def sample_spec(key: jax.Array, *, d: int, scaling: Scaling = "paper", **options: Any) -> SCMSpec:
    """A random SCM of the synthetic family, calibrated.

    Args:
        key: A typed JAX key; the same key gives the same spec.
        d: Number of variables, named X0 ... in an order that says nothing about the graph.
        scaling: `paper`, or `internal` for an internally standardised SCM; see `arena.calibrate`.
        options: As in `draft_spec`: graph, mechanisms, noises, roots, root_dependency, stressors, name.

    Raises:
        SpecError: If a family is unknown, or no valid graph of that size is found.
    """
    return sample_specs([key], d=d, scaling=scaling, **options)[0]


def sample_specs(
    keys: Iterable[jax.Array], *, d: int, scaling: Scaling = "paper", jobs: int | None = None, **options: Any
) -> list[SCMSpec]:
    """As `sample_spec` for each of many keys, calibrated together, which is faster.

    Args:
        keys: Typed JAX keys.
        jobs: Threads, one a core when omitted.
    """
    if scaling not in get_args(Scaling):
        raise SpecError(f"no scaling '{scaling}'; scalings are {listed(get_args(Scaling))}")
    for name in _stressors(options.get("stressors", ())):
        if name not in STRUCTURAL:
            raise SpecError(f"stressor '{name}' acts on tables, which suites make; here there are {listed(STRUCTURAL)}")
    drafts = [draft_spec(key, d=d, **options) for key in keys]
    if not drafts:
        return []
    among = [_known(kind, options.get(f"{kind}s")) for kind in get_args(Kind)]
    return [one.spec for one in calibrate(drafts, scaling, frame=Frame(vocabulary(*among)), jobs=jobs)]


def draft_spec(
    key: jax.Array,
    *,
    d: int,
    graph: str = "erdos_renyi",
    mechanisms: Sequence[str] | None = None,
    noises: Sequence[str] | None = None,
    roots: Sequence[str] | None = None,
    root_dependency: RootDependency = "independent_roots",
    stressors: Sequence[str] = (),
    name: str = "synthetic",
) -> SCMSpec:
    """A random SCM whose calibrated fields are still to be determined.

    Args:
        key: A typed JAX key.
        d: Number of variables.
        graph: A graph family.
        mechanisms: Families to draw from, those of this package (without formula) when omitted; likewise `noises` and
            `roots`. How many of them are active depends on d (paper A.1, Family mixing).
        root_dependency: How roots depend on each other; all but the first give the roots' joint distribution.
        stressors: Names in `arena.synthetic.difficulty.STRESSORS`. `weak_signal` and `high_noise` are built into the
            nodes; the others act on tables and interventions, and only a suite adds them (`arena.suites`).
        name: The spec's name.
    """
    if graph not in graphs.FAMILIES:
        raise SpecError(f"no graph family '{graph}'{did_you_mean(graph, graphs.FAMILIES)}: {listed(graphs.FAMILIES)}")
    if root_dependency not in get_args(RootDependency):
        raise SpecError(f"no root dependency '{root_dependency}': {listed(get_args(RootDependency))}")
    stressors = _stressors(stressors)
    rng, d = generator(as_key(key)), _size(d)
    adjacency, is_root = _graph(rng, graph, d, 1 if root_dependency == "independent_roots" else 2)
    n_roots = int(is_root.sum())
    names = [f"X{j}" for j in range(d)]

    equations = iter(_mix(rng, "mechanism", mechanisms, FAMILY_COUNTS, d, d - n_roots))
    channels = iter(_mix(rng, "noise", noises, FAMILY_COUNTS, d, d - n_roots, rare={"none": int(MAX_NOISE_FREE * d)}))
    sources = iter(_mix(rng, "root", roots, ROOT_COUNTS, n_roots, n_roots))
    data: dict[str, Any] = {"name": name, "nodes": []}
    if root_dependency != "independent_roots":
        data["root_block"] = _block(rng, root_dependency, [names[j] for j in np.flatnonzero(is_root)])
    for j in range(d):
        parents = [names[i] for i in np.flatnonzero(adjacency[:, j])]
        if parents:
            data["nodes"].append(_structural_node(rng, names[j], parents, next(equations), next(channels), stressors))
        elif "root_block" in data:
            data["nodes"].append({"name": names[j]})
        else:
            family = next(sources)
            kind = registry.families("root")[family].value_kind  # type: ignore[attr-defined]
            data["nodes"].append({"name": names[j], "kind": kind, "root": _draw(rng, "root", family)})
    data["factors"] = _factors(data["nodes"], graph, adjacency, root_dependency, stressors)
    return SCMSpec.from_dict(data)


def _size(d: Any) -> int:
    try:
        size = operator.index(d)
    except TypeError:
        raise SpecError(f"d is {d!r}; expected a whole number of variables") from None
    if size < 1:
        raise SpecError(f"d is {d!r}; expected at least one variable")
    return size


def _stressors(given: Sequence[str]) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else tuple(dict.fromkeys(given))
    for name in names:
        if name not in STRESSORS:
            raise SpecError(f"no stressor '{name}'{did_you_mean(name, STRESSORS)}; stressors are {listed(STRESSORS)}")
    return names


def _graph(rng: np.random.Generator, graph: str, d: int, min_roots: int) -> tuple[np.ndarray, np.ndarray]:
    """A valid graph with enough roots, and which of its nodes are roots."""
    for _ in range(MAX_TRIES):
        caps = graphs.in_degree_caps(d)
        adjacency = graphs.FAMILIES[graph].sample(rng, d, caps[rng.integers(len(caps))])
        is_root = np.asarray(~adjacency.any(axis=0))
        if is_root.sum() >= min_roots:
            return adjacency, is_root
    raise SpecError(f"no {graph} graph with {d} variables and {min_roots} roots in {MAX_TRIES} tries")


def _structural_node(
    rng: np.random.Generator, name: str, parents: list[str], equation: str, channel: str, stressors: Sequence[str]
) -> dict[str, Any]:
    noise = registry.families("noise")[channel]
    disturbance = _draw(rng, "noise", channel)
    node = {
        "name": name,
        "parents": parents,
        "mechanism": _draw(rng, "mechanism", equation, parents),
        "noise": disturbance | noise.placeholders({k: v for k, v in disturbance.items() if k != "family"}),  # type: ignore
    }
    if "weak_signal" in stressors:
        node["strength"] = WEAK_SIGNAL
    if "high_noise" in stressors:
        node["extra_noise"] = HIGH_NOISE
    return node


def _block(rng: np.random.Generator, family: str, roots: list[str]) -> dict[str, Any]:
    r = len(roots)
    match family:
        case "correlated_normal":
            return {"family": family, "roots": roots, "rho": rng.uniform(*RHO),
                    "signs": [int(s) for s in rng.choice((-1, 1), size=r)]}  # fmt: skip
        case "random_covariance_normal":
            return {"family": family, "roots": roots, "loadings": rng.normal(size=(r, rng.integers(1, r + 1))).tolist()}
    return {"family": family, "roots": roots}  # scale and center cancel when the columns are standardised


def _factors(nodes: list[dict[str, Any]], graph: str, adjacency: np.ndarray, dependency: str, stressors) -> dict:
    used = lambda field: {node[field]["family"] for node in nodes if field in node}  # noqa: E731
    tags = {registry.families("mechanism")[f].tag for f in used("mechanism")}  # type: ignore[attr-defined]
    return {
        "graph_family": graph,
        "d": len(nodes),
        "n_edges": int(adjacency.sum()),
        "mechanisms": sorted(tags),
        "noises": sorted(used("noise")),
        "roots": sorted(used("root")),
        "root_dependency": dependency,
        "difficulty": sorted(stressors) or ["baseline"],
    }


def _mix(
    rng: np.random.Generator,
    kind: Kind,
    among: Sequence[str] | None,
    counts: Sequence[tuple[float, tuple[int, int]]],
    size: int,
    n_nodes: int,
    rare: dict[str, int] | None = None,
) -> list[str]:
    """A family for each of `n_nodes`: each active family at least once, `rare` ones at most so often."""
    families, rare = _one_a_tag(rng, kind, _known(kind, among)), rare or {}
    low, high = next(bounds for limit, bounds in counts if size <= limit)
    usable = [family for family in families if rare.get(family, n_nodes) > 0] or families
    n_active = min(int(rng.integers(low, high + 1)), len(usable), max(n_nodes, 1))
    active = rng.choice(usable, size=n_active, replace=False).tolist()
    common = [family for family in active if family not in rare]
    if not common:  # only rare families were asked for, or picked
        common = [family for family in usable if family not in rare] or active
    chosen = [*active, *rng.choice(common, size=max(0, n_nodes - n_active)).tolist()]
    return rng.permutation(chosen[:n_nodes]).tolist()


def _known(kind: Kind, among: Sequence[str] | None) -> list[str]:
    """The families to draw from: those given, or those that this package ships."""
    if among is None:
        return list(registry.drawn(kind))
    families = registry.families(kind)
    for family in [among] if isinstance(among, str) else among:
        if family not in families:
            raise SpecError(f"no {kind} family '{family}'{did_you_mean(family, families)}: {listed(families)}")
    if not among:
        raise SpecError(f"no {kind} family is given; families are {listed(families)}")
    return sorted({among} if isinstance(among, str) else set(among))


def _one_a_tag(rng: np.random.Generator, kind: Kind, families: list[str]) -> list[str]:
    """Mechanism families that are scored as one (the two products) take part as one."""
    tags: dict[str, list[str]] = {}
    for family in families:
        tags.setdefault(getattr(registry.families(kind)[family], "tag", family), []).append(family)
    return [str(rng.choice(same)) if len(same) > 1 else same[0] for same in tags.values()]


def _draw(rng: np.random.Generator, kind: Kind, family: str, *parents: Any) -> dict[str, Any]:
    return {"family": family, **registry.families(kind)[family].prior(rng, *parents)}  # type: ignore[attr-defined]
