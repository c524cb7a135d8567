"""Suites on disk: for every SCM the two matched splits, several replicates of each (paper 4.5, A.1)."""

import collections
import concurrent.futures
import dataclasses
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args

import jax
import threadpoolctl

from arena import __version__, suites
from arena.audit import files_match
from arena.calibrate import Scaling
from arena.drawing import Drawn, settle, sound
from arena.errors import DataError, SourceError
from arena.files import is_scenario, open_scenario, write_scenario
from arena.members import Member
from arena.protocols import PROTOCOLS, Protocol
from arena.selection import Selection
from arena.spec_errors import did_you_mean, listed
from arena.suites import Cell
from arena.written import Place

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
    if protocol is not None and len(suites.get(suite).variants) > 1:
        raise SourceError(f"suite '{suite}' has variants of its own; leave the protocol out")
    if protocol is not None:
        cells = [
            dataclasses.replace(cell, variant=dataclasses.replace(cell.variant, protocol=protocol)) for cell in cells
        ]
    job = _Job(suite, Path(out), select.seed, scaling, select.replicates or suites.get(suite).replicates)
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

    by_scm: dict[str, list[Cell | Place]] = collections.defaultdict(list)
    for cell in cells:
        by_scm[cell.scm].append(cell)
    missing = [group for group in by_scm.values() if any(cell.id not in written for cell in group)]
    as_written = [group for group in missing if isinstance(group[0], Place)]
    drawn = [group for group in missing if not isinstance(group[0], Place)]
    # Each batch has SCMs from everywhere, so that all take about as long.
    batches = [
        kind[i::n]
        for kind in (as_written, drawn)
        for n in [-(-len(kind) * len(suites.get(suite).variants) // suites.BATCH)]
        for i in range(n)
    ]
    # Batches run side by side; a BLAS that splits its work as well would wait for cores most of the time.
    with threadpoolctl.threadpool_limits(1), concurrent.futures.ThreadPoolExecutor(jobs or os.cpu_count()) as threads:
        tasks = [threads.submit(job.write, batch, done) for batch in batches]
        try:
            for task in concurrent.futures.as_completed(tasks):
                task.result()
        except BaseException:
            stopped.set()
            threads.shutdown(cancel_futures=True)
            raise
    return [job.path(cell) for cell in cells]


def members(
    name: str, select: Selection | None = None, *, scaling: Scaling = "paper", jobs: int | None = None
) -> list[Member]:
    """The SCMs of a suite, or a part of them, as `generate` writes them; the same SCM whatever part is asked for.

    Raises:
        SourceError: If there is no such suite, or nothing of it is selected.
    """
    select = select or Selection()
    places = {cell.scm: cell for cell in suites.cells(name, select)}
    return [one.member for one in settle(list(places.values()), select.seed, scaling, jobs=jobs)]


@dataclasses.dataclass(frozen=True)
class _Job:
    """What all scenarios of a generation have in common."""

    suite: str
    out: Path
    seed: int
    scaling: Scaling
    replicates: int

    def path(self, cell: Cell | Place) -> Path:
        return self.out / cell.id

    def record(self, cell: Cell | Place) -> dict[str, Any]:
        """What a scenario's tables follow from."""
        rules = cell.variant.rules
        return {"suite": self.suite, "seed": self.seed, "scaling": self.scaling, "protocol": rules.name,
                "n": rules.n, "generation": GENERATION}  # fmt: skip

    def is_written(self, cell: Cell | Place) -> bool:
        """Whether the scenario is there, whole, and as it would be written."""
        if not is_scenario(self.path(cell)):
            return False
        try:
            scenario = open_scenario(self.path(cell))
        except DataError:  # damaged
            return False
        known = scenario.manifest["provenance"]
        same = all(known.get(name) == value for name, value in self.record(cell).items())
        return same and scenario.n_replicates() == self.replicates and files_match(scenario)[2]

    def write(self, batch: Sequence[Sequence[Cell | Place]], done: Callable[[str], None]) -> None:
        """Settle on an SCM for each group of cells; then draw and write its tables, cells of equal rules in one go."""
        groups = {group[0].scm: group for group in batch}
        settled = settle([group[0] for group in groups.values()], self.seed, self.scaling, jobs=1)
        by_rules: dict[Protocol, dict[str, Cell | Place]] = collections.defaultdict(dict)
        for group in groups.values():
            for cell in group:
                by_rules[cell.variant.rules][cell.scm] = cell
        for rules, cells in by_rules.items():
            some = [one for one in settled if one.member.id in cells]
            suite, frame = suites.get(self.suite), next(iter(cells.values())).frame
            if rules == suite.source.variants[0].rules and self.replicates <= suite.source.replicates:
                tables = [one.tables for one in some]
            else:
                tables = sound([one.member for one in some], self.replicates, rules, self.seed, frame, jobs=1)
            for one, drawn in zip(some, tables, strict=True):
                self._write(cells[one.member.id], one.member, drawn)
                done(cells[one.member.id].id)

    def _write(self, cell: Cell | Place, member: Member, tables: Drawn) -> None:
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
                "redrawn_replicates": tables.redrawn[: self.replicates],
                "arena": __version__,
                "jax": jax.__version__,
            },
            overwrite=True,
        )
