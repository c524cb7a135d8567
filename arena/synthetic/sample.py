"""Random specs of the synthetic family (paper A.1): a graph, then families, then parameters for every node."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from arena.errors import SpecError
from arena.spec import SCMSpec
from arena.spec_errors import did_you_mean, listed
from arena.synthetic import graphs
from mechanisms import registry
from mechanisms.base import Kind

#: Active mechanism and noise families, (least, most), up to each dimension (paper A.1, Family mixing).
FAMILY_COUNTS = ((10, (2, 4)), (20, (3, 5)), (30, (4, 6)), (50, (5, 8)), (float("inf"), (6, 10)))
#: Active root families, (least, most), up to each number of roots (paper A.1, Family mixing).
ROOT_COUNTS = ((1, (1, 1)), (3, (1, 2)), (8, (2, 4)), (float("inf"), (3, 6)))
#: At most this share of the nodes is without noise (paper A.1, No-noise option).
MAX_NOISE_FREE = 0.1
#: What the values of a root family are, where not continuous.
ROOT_KINDS = {"bernoulli": "binary"}


def sample_spec(
    key: jax.Array,
    *,
    d: int,
    graph: str = "erdos_renyi",
    mechanisms: Sequence[str] | None = None,
    noises: Sequence[str] | None = None,
    roots: Sequence[str] | None = None,
    name: str = "synthetic",
) -> SCMSpec:
    """A random SCM of the synthetic family.

    Args:
        key: A typed JAX key; the same key gives the same spec.
        d: Number of variables, named X0 ... in an order that says nothing about the graph.
        graph: A graph family.
        mechanisms: Families to draw from, all registered ones when omitted; likewise `noises` and `roots`.
            How many of them are active depends on d (paper A.1, Family mixing).
        name: The spec's name.

    Raises:
        SpecError: If a family is unknown, or no valid graph of that size is found.
    """
    if graph not in graphs.FAMILIES:
        raise SpecError(f"no graph family '{graph}'{did_you_mean(graph, graphs.FAMILIES)}: {listed(graphs.FAMILIES)}")
    rng = generator(key)
    cap = graphs.in_degree_caps(d)[rng.integers(3)]
    adjacency = graphs.FAMILIES[graph].sample(rng, d, cap)
    is_root = ~adjacency.any(axis=0)
    n_roots = int(is_root.sum())

    equations = iter(_mix(rng, "mechanism", mechanisms, FAMILY_COUNTS, d, d - n_roots))
    channels = iter(_mix(rng, "noise", noises, FAMILY_COUNTS, d, d - n_roots, rare={"none": int(MAX_NOISE_FREE * d)}))
    sources = iter(_mix(rng, "root", roots, ROOT_COUNTS, n_roots, n_roots))
    names = [f"X{j}" for j in range(d)]
    nodes = []
    for j in range(d):
        parents = [names[i] for i in np.flatnonzero(adjacency[:, j])]
        if not parents:
            family = next(sources)
            kind = ROOT_KINDS.get(family, "continuous")
            nodes.append({"name": names[j], "kind": kind, "root": _draw(rng, "root", family)})
        else:
            equation = _draw(rng, "mechanism", next(equations), parents)
            nodes.append({"name": names[j], "parents": parents, "mechanism": equation,
                          "noise": _draw(rng, "noise", next(channels))})  # fmt: skip

    active = lambda field: sorted({node[field]["family"] for node in nodes if field in node})  # noqa: E731
    factors = {
        "graph_family": graph,
        "d": d,
        "n_edges": int(adjacency.sum()),
        "mechanisms": active("mechanism"),
        "noises": active("noise"),
        "roots": active("root"),
        "root_dependency": "independent",
        "difficulty": "baseline",
    }
    return SCMSpec.from_dict({"name": name, "nodes": nodes, "factors": factors})


def generator(key: jax.Array) -> np.random.Generator:
    """The numpy generator of a typed JAX key: drawing a spec is host work, thousands of small draws."""
    return np.random.Generator(np.random.Philox(key=int(np.asarray(jax.random.bits(key, dtype=np.uint32)))))


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
    families, rare = _known(kind, among), rare or {}
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
    families = registry.families(kind)
    for family in among or ():
        if family not in families:
            raise SpecError(f"no {kind} family '{family}'{did_you_mean(family, families)}: {listed(families)}")
    return sorted(among or families)


def _draw(rng: np.random.Generator, kind: Kind, family: str, *parents: Any) -> dict[str, Any]:
    return {"family": family, **registry.families(kind)[family].prior(rng, *parents)}  # type: ignore[attr-defined]
