"""Suites on disk: for every SCM the two matched splits, several replicates of each (paper 4.5, A.1)."""

import collections
import concurrent.futures
import dataclasses
import functools
import itertools
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast, get_args

import jax
import numpy as np
import threadpoolctl

from arena import __version__, quality, suites
from arena.audit import files_match
from arena.calibrate import Scaling
from arena.compiler import compile_on_host
from arena.dataset import Dataset, Split
from arena.errors import SourceError
from arena.files import is_scenario, open_scenario, write_scenario
from arena.keys import keys_of, rng_of
from arena.pool import Frame, Pool
from arena.protocols import PROTOCOLS, Plan, Protocol, target_pool
from arena.selection import Selection
from arena.spec import Kind
from arena.spec_errors import did_you_mean, listed
from arena.stressors import UNRELATED, apply, softness
from arena.suites import Cell, Member

#: Changes when the same suite and seed give other tables.
GENERATION = 2


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
    protocol: str | None = None,
    scaling: Scaling = "paper",
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
        protocol: How rows are intervened on (paper A.2), if not as the suite says.
        scaling: What is standardised inside the SCMs (`arena.calibrate`).
        jobs: Threads at a time; one a core when omitted.
        progress: Called after each scenario.

    Returns:
        The scenario directories, sorted.

    Raises:
        SourceError: If there is no such suite or protocol, or nothing of the suite is selected.
    """
    if protocol is not None and protocol not in PROTOCOLS:
        raise SourceError(f"no protocol '{protocol}'{did_you_mean(protocol, PROTOCOLS)}: {listed(PROTOCOLS)}")
    if scaling not in get_args(Scaling):
        raise SourceError(f"no scaling '{scaling}'; scalings are {listed(get_args(Scaling))}")
    select = select or Selection()
    cells = suites.cells(suite, select)
    if protocol is not None:
        cells = [
            dataclasses.replace(cell, variant=dataclasses.replace(cell.variant, protocol=protocol)) for cell in cells
        ]
    job = _Job(Path(out), select.seed, scaling, select.replicates or suites.get(suite).replicates)
    written = {cell.id for cell in cells if job.is_written(cell)}
    tell = progress or (lambda event: None)
    tell(Progress(len(written), len(cells), ""))
    lock, stopped = threading.Lock(), threading.Event()

    def done(id: str) -> None:
        with lock:
            if stopped.is_set():
                raise concurrent.futures.CancelledError
            written.add(id)
            tell(Progress(len(written), len(cells), id))

    by_scm: dict[str, list[Cell]] = collections.defaultdict(list)
    for cell in cells:
        by_scm[cell.scm].append(cell)
    missing = [group for group in by_scm.values() if any(cell.id not in written for cell in group)]
    n_batches = -(-len(missing) * len(suites.get(suite).variants) // suites.BATCH)
    # Batches run side by side; a BLAS that splits its work as well would wait for cores most of the time.
    with threadpoolctl.threadpool_limits(1), concurrent.futures.ThreadPoolExecutor(jobs or os.cpu_count()) as threads:
        # Each batch has SCMs from everywhere, so that all take about as long.
        tasks = [threads.submit(job.write, missing[i::n_batches], done) for i in range(n_batches)]
        try:
            for task in concurrent.futures.as_completed(tasks):
                task.result()
        except BaseException:
            stopped.set()
            threads.shutdown(cancel_futures=True)
            raise
    return [job.path(cell) for cell in cells]


@dataclasses.dataclass(frozen=True)
class _Job:
    """What all scenarios of a generation have in common."""

    out: Path
    seed: int
    scaling: Scaling
    replicates: int

    def path(self, cell: Cell) -> Path:
        return self.out / cell.id

    def record(self, cell: Cell) -> dict[str, Any]:
        """What a scenario's tables follow from."""
        rules = cell.variant.rules
        return {"suite": cell.suite.name, "seed": self.seed, "scaling": self.scaling, "protocol": rules.name,
                "n": rules.n, "generation": GENERATION}  # fmt: skip

    def is_written(self, cell: Cell) -> bool:
        """Whether the scenario is there, whole, and as it would be written."""
        if not is_scenario(self.path(cell)):
            return False
        scenario = open_scenario(self.path(cell))
        known = scenario.manifest["provenance"]
        same = all(known.get(name) == value for name, value in self.record(cell).items())
        return same and scenario.n_replicates() == self.replicates and files_match(scenario)[2]

    def write(self, batch: Sequence[Sequence[Cell]], done: Callable[[str], None]) -> None:
        """Accept an SCM for each group of cells, draw its tables, write them if all pass the audit; else take another.

        Whether an SCM is taken depends on as many replicates as its suite has, not on how many are asked for.
        """
        rejected: dict[str, list[str]] = {}
        missing = {group[0].scm: group for group in batch}
        while missing:
            places = [group[0] for group in missing.values()]
            members = suites.accepted(places, self.seed, self.scaling, rejected=rejected, jobs=1)
            drawn = self._drawn(members, missing)
            for member in members:
                faults = (_fault(member, tables) for tables in drawn[member.id].values())
                if fault := next(filter(None, faults), None):
                    rejected[member.id] = [*member.rejected, fault]
                    continue
                for cell in missing.pop(member.id):
                    self._write(cell, member, drawn[member.id][cell.id])
                    done(cell.id)

    def _drawn(self, members: Sequence[Member], missing: Mapping[str, Sequence[Cell]]) -> dict[str, dict[str, "Drawn"]]:
        """The tables of each SCM by cell, those of equal rules in one go."""
        by_rules: dict[Protocol, dict[str, str]] = collections.defaultdict(dict)
        for member in members:
            for cell in missing[member.id]:
                by_rules[cell.variant.rules][member.id] = cell.id
        out: dict[str, dict[str, Drawn]] = {member.id: {} for member in members}
        suite = next(iter(missing.values()))[0].suite
        for rules, cell_of in by_rules.items():
            some = [member for member in members if member.id in cell_of]
            count = max(self.replicates, suite.replicates)
            for member, tables in zip(some, draw(some, count, rules, self.seed, suite.frame, jobs=1), strict=True):
                out[member.id][cell_of[member.id]] = tables
        return out

    def _write(self, cell: Cell, member: Member, tables: "Drawn") -> None:
        replicates = tables.replicates[: self.replicates]
        write_scenario(
            self.path(cell),
            id=cell.id,
            family=member.family,
            factors={**member.spec.factors, "protocol": cell.variant.protocol, "n": cell.variant.rules.n},
            adjacency=replicates[0]["obs"].truth,
            names=replicates[0]["obs"].names,
            spec_json=member.spec.to_json(),
            replicates=replicates,
            provenance={
                **self.record(cell),
                "spec_hash": member.spec.content_hash,
                "target_pool": tables.targets,
                "weak_edges": [list(edge) for edge in member.weak_edges],
                "rejected_candidates": member.rejected,
                "arena": __version__,
                "jax": jax.__version__,
            },
            overwrite=True,
        )


def _fault(member: Member, tables: "Drawn") -> str | None:
    """The first rule that one of its replicates fails."""
    stressed = bool(set(UNRELATED) & set(map(str, cast(list, member.spec.factors["difficulty"]))))
    faults = (quality.pair_fault(replicate["obs"], replicate["obs_int"], stressed) for replicate in tables.replicates)
    return next(filter(None, faults), None)


class Drawn(NamedTuple):
    """The tables of one SCM.

    Attributes:
        targets: Names of the variables that are intervened on.
        replicates: Both splits of each.
    """

    targets: list[str]
    replicates: list[dict[Split, Dataset]]


def draw(
    members: Sequence[Member],
    replicates: int,
    protocol: Protocol,
    seed: int = 0,
    frame: Frame | None = None,
    *,
    jobs: int | None = None,
) -> list[Drawn]:
    """The tables of some SCMs, both splits of each replicate.

    The splits of a replicate are the same units: the observational rows of `obs_int` are rows of `obs`, its intervened
    rows are what other units of `obs` show when they are intervened on. Columns are permuted, once for a scenario.
    """
    frame = frame or Frame()
    pool = Pool([compile_on_host(member.spec, widths=frame.parents) for member in members], frame)
    plans = [_plans(member, replicates, protocol, seed) for member in members]
    pairs = list(itertools.product(range(len(members)), range(replicates)))
    keys = keys_of(("units", members[i].spec.content_hash, seed, r) for i, r in pairs)
    edits = [plans[i].of_replicates[r].edits for i, r in pairs]
    tables = iter(pool.draw([i for i, _ in pairs], keys, protocol.n, edits, jobs=jobs))
    return [
        Drawn(
            [member.spec.names[j] for j in plan.targets],
            [_splits(member, plan, r, next(tables), protocol, seed) for r in range(replicates)],
        )
        for member, plan in zip(members, plans, strict=True)
    ]


@dataclasses.dataclass(frozen=True)
class _Plans:
    """What is drawn once for a scenario, and the plan of each replicate."""

    targets: list[int]
    order: np.ndarray
    of_replicates: list[Plan]


def _plans(member: Member, replicates: int, protocol: Protocol, seed: int) -> _Plans:
    spec = member.spec
    rng = rng_of("interventions", spec.content_hash, seed)
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
    mask = np.concatenate([np.zeros((protocol.n, values.shape[1]), bool), plan.mask])
    rng = rng_of("stressors", spec.content_hash, seed, replicate)
    values = apply(spec.stressors, values, spec.names, np.asarray(mask.any(axis=1)), rng)
    mixed = np.r_[: protocol.n_obs, protocol.n : len(values)]
    return {
        "obs": _table(member, plans.order, values[: protocol.n], None),
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
