"""Suites on disk: for every SCM the two matched splits, several replicates of each (paper 4.5, A.1)."""

import concurrent.futures
import dataclasses
import functools
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from arena import __version__, quality, suites
from arena.audit import files_match
from arena.compiler import compile_on_host
from arena.dataset import Dataset, Split
from arena.errors import SourceError
from arena.files import is_scenario, open_scenario, write_scenario
from arena.keys import key_of
from arena.pool import Pool
from arena.protocols import N_OBS, PROTOCOLS, Plan, Protocol, target_pool
from arena.selection import Selection
from arena.spec import Kind
from arena.spec_errors import did_you_mean, listed
from arena.stressors import apply, softness
from arena.suites import Member
from arena.synthetic.sample import generator

#: SCMs whose tables are in memory together.
BATCH = 64
#: Changes when the same suite and seed give other tables.
GENERATION = 1


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
    protocol: str = "default_resampling",
    jobs: int | None = None,
    progress: Callable[[Progress], Any] | None = None,
) -> list[Path]:
    """Write a suite, or a part of it, as scenario directories below `out`.

    A scenario that is already there whole, of the same generation, seed, protocol and number of replicates, is kept: a
    generation that was interrupted goes on where it stopped.

    Args:
        suite: Its name.
        out: The folder; made if absent.
        select: Which part of the suite; how many replicates, if not as many as the suite says.
        protocol: How rows are intervened on (paper A.2).
        jobs: Threads at a time; one a core when omitted.
        progress: Called after each scenario.

    Returns:
        The scenario directories, sorted.

    Raises:
        SourceError: If there is no such suite or protocol, or nothing of the suite is selected.
    """
    if protocol not in PROTOCOLS:
        raise SourceError(f"no protocol '{protocol}'{did_you_mean(protocol, PROTOCOLS)}: {listed(PROTOCOLS)}")
    select = select or Selection()
    replicates, rules = select.replicates or suites.get(suite).replicates, PROTOCOLS[protocol]
    record = {"suite": suite, "seed": select.seed, "protocol": protocol, "generation": GENERATION}
    cells = suites.cells(suite, select)
    paths = {cell.id: Path(out) / cell.id for cell in cells}
    missing = [cell for cell in cells if not _is_written(paths[cell.id], record, replicates)]
    tell = progress or (lambda event: None)
    tell(Progress(len(cells) - len(missing), len(cells), ""))

    done = len(cells) - len(missing)
    rejected: dict[str, list[str]] = {cell.id: [] for cell in missing}
    with concurrent.futures.ThreadPoolExecutor(jobs or os.cpu_count()) as threads:
        while missing:
            draw_member = lambda cell: suites.member(cell, select.seed, rejected=rejected[cell.id])  # noqa: E731
            drawn = draw(list(threads.map(draw_member, missing)), replicates, rules, select.seed, jobs)
            faults = threads.map(lambda one: (one[0], _write(paths[one[0].id], one, record)), drawn)
            for member, fault in faults:
                rejected[member.id] = [*member.rejected, fault] if fault else []
                if not fault:
                    done += 1
                    tell(Progress(done, len(cells), member.id))
            # A table that fails an audit rule after all: the next candidate takes the place.
            missing = [cell for cell in missing if rejected[cell.id]]
    return sorted(paths.values())


Drawn = tuple[Member, list[str], list[dict[Split, Dataset]]]


def draw(
    members: Sequence[Member], replicates: int, protocol: Protocol, seed: int = 0, jobs: int | None = None
) -> Iterator[Drawn]:
    """For each SCM its target pool and its replicates, each with both splits.

    The splits of a replicate are the same units: the observational rows of `obs_int` are rows of `obs`, its intervened
    rows are what other units of `obs` show when they are intervened on. Columns are permuted, once for a scenario.
    """
    pool = Pool([compile_on_host(member.spec) for member in members])
    for start in range(0, len(members), BATCH):
        batch = members[start : start + BATCH]
        plans = [_plans(member, replicates, protocol, seed) for member in batch]
        pairs = list(itertools.product(range(len(batch)), range(replicates)))
        keys = jax.numpy.stack([key_of("units", batch[i].spec.content_hash, seed, r) for i, r in pairs])
        edits = [plans[i].of_replicates[r].edits for i, r in pairs]
        tables = iter(pool.draw([start + i for i, _ in pairs], keys, N_OBS, edits, jobs=jobs))
        for member, plan in zip(batch, plans, strict=True):
            out = [_splits(member, plan, r, next(tables), protocol, seed) for r in range(replicates)]
            yield member, [member.spec.names[j] for j in plan.targets], out


@dataclasses.dataclass(frozen=True)
class _Plans:
    """What is drawn once for a scenario, and the plan of each replicate."""

    targets: list[int]
    order: np.ndarray
    of_replicates: list[Plan]


def _plans(member: Member, replicates: int, protocol: Protocol, seed: int) -> _Plans:
    spec = member.spec
    rng = generator(key_of("interventions", spec.content_hash, seed))
    kinds: list[Kind] = [node.kind for node in spec.nodes]
    is_root = np.asarray(~spec.adjacency.any(axis=0))
    targets = target_pool(rng, len(spec.nodes), protocol.candidates(kinds, is_root))
    order = rng.permutation(len(spec.nodes))
    make = functools.partial(protocol.plan, rng, targets, member.baseline, kinds, is_root)
    return _Plans(targets, order, [make(softness=softness(spec.stressors)) for _ in range(replicates)])


def _splits(
    member: Member, plans: _Plans, replicate: int, values: np.ndarray, protocol: Protocol, seed: int
) -> dict[Split, Dataset]:
    """Both splits of one replicate, from the values `[d, n + m]` of its plain and its intervened units."""
    plan, spec, values = plans.of_replicates[replicate], member.spec, values.T
    mask = np.concatenate([np.zeros((N_OBS, values.shape[1]), bool), plan.mask])
    rng = generator(key_of("stressors", spec.content_hash, seed, replicate))
    values = apply(spec.stressors, values, spec.names, np.asarray(mask.any(axis=1)), rng)
    mixed = np.r_[: protocol.n_obs, N_OBS : len(values)]
    return {
        "obs": _table(member, plans.order, values[:N_OBS], None),
        "obs_int": _table(member, plans.order, values[mixed], mask[mixed]),
    }


def _table(member: Member, order: np.ndarray, values: np.ndarray, mask: np.ndarray | None) -> Dataset:
    """The table with its columns in the scenario's order."""
    spec = member.spec
    return Dataset(
        names=tuple(spec.names[j] for j in order),
        values=values[:, order],
        intervention_mask=None if mask is None else mask[:, order],
        adjacency=spec.adjacency[np.ix_(order, order)],
        name=member.id,
    )


def _write(path: Path, drawn: Drawn, record: dict[str, Any]) -> str | None:
    """Write the scenario, or nothing and return the rule that one of its tables fails."""
    member, targets, tables = drawn
    faults = (quality.fault(table) for replicate in tables for table in replicate.values())
    fault = next(filter(None, faults), None)
    if fault:
        return fault
    write_scenario(
        path,
        id=member.id,
        family=member.family,
        factors=member.spec.factors,
        adjacency=tables[0]["obs"].truth,
        names=tables[0]["obs"].names,
        spec_json=member.spec.to_json(),
        replicates=tables,
        provenance={
            **record,
            "spec_hash": member.spec.content_hash,
            "target_pool": targets,
            "weak_edges": [list(edge) for edge in member.weak_edges],
            "rejected_candidates": member.rejected,
            "arena": __version__,
            "jax": jax.__version__,
        },
        overwrite=True,
    )
    return None


def _is_written(path: Path, record: dict[str, Any], replicates: int) -> bool:
    """Whether the scenario is there, whole, and as it would be written."""
    if not is_scenario(path):
        return False
    scenario = open_scenario(path)
    known = scenario.manifest["provenance"]
    same = all(known.get(name) == value for name, value in record.items())
    return same and scenario.n_replicates() == replicates and files_match(scenario)[2]
