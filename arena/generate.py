"""Suites on disk: for every SCM the two matched splits, several replicates of each (paper 4.5, A.1)."""

import dataclasses
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from arena import __version__, protocols, suites
from arena.compiler import compile_on_host
from arena.dataset import Dataset, Split
from arena.files import is_scenario, open_scenario, write_scenario
from arena.interventions import do_rows
from arena.sampling import sample_values
from arena.selection import Selection
from arena.suites import Member, key_of
from arena.synthetic.sample import generator

#: SCMs that are sampled together; bounds the memory that a large suite needs.
BATCH = 64


@dataclasses.dataclass(frozen=True)
class Progress:
    """How far a generation is."""

    done: int
    total: int
    id: str


def generate(
    suite: str,
    out: str | os.PathLike,
    select: Selection | None = None,
    *,
    jobs: int | None = None,
    progress: Callable[[Progress], Any] | None = None,
) -> list[Path]:
    """Write a suite, or a part of it, as scenario directories below `out`.

    A scenario that is already there, written from the same spec, seed and number of replicates, is kept: a
    generation that was interrupted goes on where it stopped.

    Args:
        suite: Its name.
        out: The folder; made if absent.
        select: Which part of the suite; how many replicates, if not as many as the suite says.
        jobs: Threads at a time; one a core when omitted.
        progress: Called after each scenario.

    Returns:
        The scenario directories, sorted.

    Raises:
        SourceError: If there is no such suite, or nothing of it is selected.
    """
    select = select or Selection()
    seed, replicates = select.seed, select.replicates or suites.get(suite).replicates
    selected = suites.members(suite, select)
    paths = {member.id: Path(out) / member.id for member in selected}
    missing = [member for member in selected if not _is_written(paths[member.id], member, seed, replicates)]
    done = len(selected) - len(missing)
    for start in range(0, len(missing), BATCH):
        batch = missing[start : start + BATCH]
        for member, (pool, tables) in zip(batch, draw(batch, replicates, seed, jobs), strict=True):
            write_scenario(
                paths[member.id],
                id=member.id,
                family=member.family,
                factors=member.spec.factors,
                adjacency=tables[0]["obs"].truth,
                names=tables[0]["obs"].names,
                spec_json=member.spec.to_json(),
                replicates=tables,
                provenance=_provenance(member, pool, seed),
                overwrite=True,
            )
            done += 1
            if progress:
                progress(Progress(done, len(selected), member.id))
    return sorted(paths.values())


def draw(
    members: Sequence[Member], replicates: int, seed: int, jobs: int | None = None
) -> Iterator[tuple[list[str], list[dict[Split, Dataset]]]]:
    """For each SCM its target pool and its replicates, each with both splits.

    The splits of a replicate are the same units: the first 800 rows of `obs_int` are those of `obs`, the last 200
    are what its last 200 units show when intervened on. Columns are permuted, once for a scenario.
    """
    n = protocols.N_OBS
    pairs = list(itertools.product(range(len(members)), range(replicates)))
    scms = [compile_on_host(member.spec) for member in members]
    rngs = [generator(key_of("interventions", member.spec.content_hash, seed)) for member in members]
    pools = [protocols.target_pool(rng, len(m.spec.nodes)) for rng, m in zip(rngs, members, strict=True)]
    orders = [rng.permutation(len(m.spec.nodes)) for rng, m in zip(rngs, members, strict=True)]
    plans = [
        protocols.default_resampling(
            rngs[i], pools[i], members[i].baseline, [node.kind for node in members[i].spec.nodes],
            protocols.N_OBS_OF_MIXED, protocols.N_INT,
        )
        for i, _ in pairs
    ]  # fmt: skip
    keys = jax.numpy.stack([key_of("units", members[i].spec.content_hash, seed, r) for i, r in pairs])
    obs = sample_values([scms[i] for i, _ in pairs], keys, n, jobs=jobs)
    edited = [do_rows(scms[i], plan.mask, plan.values) for (i, _), plan in zip(pairs, plans, strict=True)]
    mixed = sample_values(edited, keys, n, jobs=jobs)

    tables = iter(zip(plans, obs, mixed, strict=True))
    for member, order, pool in zip(members, orders, pools, strict=True):
        out: list[dict[Split, Dataset]] = []
        for _ in range(replicates):
            plan, values, intervened = next(tables)
            out.append({"obs": _table(member, order, values), "obs_int": _table(member, order, intervened, plan.mask)})
        yield [member.spec.names[j] for j in pool], out


def _table(member: Member, order: np.ndarray, values: np.ndarray, mask: np.ndarray | None = None) -> Dataset:
    """The table with its columns in the scenario's order."""
    spec = member.spec
    return Dataset(
        names=tuple(spec.names[j] for j in order),
        values=values[:, order],
        intervention_mask=None if mask is None else mask[:, order],
        adjacency=spec.adjacency[np.ix_(order, order)],
        name=member.id,
    )


def _provenance(member: Member, pool: list[str], seed: int) -> dict[str, Any]:
    return {
        "spec_hash": member.spec.content_hash,
        "seed": seed,
        "target_pool": pool,
        "rejected_candidates": member.rejected,
        "protocol": "default_resampling",
        "arena": __version__,
        "jax": jax.__version__,
    }


def _is_written(path: Path, member: Member, seed: int, replicates: int) -> bool:
    if not is_scenario(path):
        return False
    scenario = open_scenario(path)
    recorded = scenario.manifest["provenance"]
    same = recorded.get("spec_hash") == member.spec.content_hash and recorded.get("seed") == seed
    return same and scenario.n_replicates() == replicates
