"""Tables of suites' SCMs: both matched splits of several replicates, and whether the audit passes them (A.1, A.2)."""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import jax
import numpy as np

from arena import quality, suites, written
from arena.calibrate import Scaling
from arena.compiler import compile_on_host
from arena.dataset import Dataset, Split
from arena.errors import SourceError
from arena.keys import keys_of, rng_of
from arena.members import Member
from arena.pool import Frame, Pool
from arena.protocols import Plan, Protocol, target_pool
from arena.spec import Kind
from arena.stressors import UNRELATED, apply, softness
from arena.suites import Cell
from arena.written import Place
from mechanisms.base import Blueprint

#: How often a replicate of an SCM that is settled is drawn again at most.
MAX_REDRAWS = 50
#: Values that stand for a resampler's distribution.
N_QUANTILES = 4096


class Drawn(NamedTuple):
    """The tables of one SCM.

    Attributes:
        targets: Names of the variables that are intervened on.
        replicates: Both splits of each.
        redrawn: How often each was drawn again because a rule failed.
    """

    targets: list[str]
    replicates: list[dict[Split, Dataset]]
    redrawn: list[int]


class Settled(NamedTuple):
    """An SCM of a suite, with its tables under the suite's own rules."""

    member: Member
    tables: Drawn


def settle(
    places: Sequence[Cell | Place], seed: int = 0, scaling: Scaling = "paper", *, jobs: int | None = None
) -> list[Settled]:
    """The SCM at each place: as it is written, or the first accepted candidate whose tables pass the audit.

    The latter rests on the tables of the suite that the SCM comes from, all of its replicates, whatever is asked for.

    Args:
        places: In one suite, each of another SCM.
        seed: Another seed, another SCM.
        scaling: As in `arena.calibrate`.
        jobs: Threads, one a core when omitted.

    Raises:
        SourceError: As `suites.accepted`.
    """
    found = {one.member.id: one for one in _as_written([one for one in places if isinstance(one, Place)], seed, jobs)}
    rejected: dict[str, list[str]] = {}
    while waiting := [cell for cell in places if isinstance(cell, Cell) and cell.scm not in found]:
        suite = waiting[0].suite.source
        members = suites.accepted(waiting, seed, scaling, rejected=rejected, jobs=jobs)
        drawn = draw(members, suite.replicates, suite.variants[0].rules, seed, suite.frame, jobs=jobs)
        for member, tables in zip(members, drawn, strict=True):
            fault = next(filter(None, (_fault(member, replicate) for replicate in tables.replicates)), None)
            if fault:
                rejected[member.id] = [*member.rejected, fault]
            else:
                found[member.id] = Settled(member, tables)
    return [found[cell.scm] for cell in places]


def _as_written(places: Sequence[Place], seed: int, jobs: int | None) -> list[Settled]:
    """Written scenarios: the gates of their family have passed them, whatever the units are."""
    if not places:
        return []
    suite, some = suites.get(places[0].suite), written.members(places, jobs=jobs)
    drawn = draw(some, suite.replicates, suite.variants[0].rules, seed, places[0].frame, jobs=jobs)
    return [Settled(*pair) for pair in zip(some, drawn, strict=True)]


def sound(
    members: Sequence[Member],
    replicates: int,
    protocol: Protocol,
    seed: int = 0,
    frame: Frame | None = None,
    *,
    jobs: int | None = None,
) -> list[Drawn]:
    """As `draw`; a replicate that fails a rule is drawn again, with other units.

    Raises:
        SourceError: If one fails however often it is drawn.
    """
    drawn, attempt = draw(members, replicates, protocol, seed, frame, jobs=jobs), 0
    while True:
        faults = {
            (i, r): fault
            for i, tables in enumerate(drawn)
            for r, replicate in enumerate(tables.replicates)
            if tables.redrawn[r] == attempt and (fault := _fault(members[i], replicate))
        }
        if not faults:
            return drawn
        if attempt == MAX_REDRAWS:
            (i, _), fault = next(iter(faults.items()))
            raise SourceError(
                f"no acceptable tables of {members[i].id} with {protocol.n} rows; the last failed {fault}"
            )
        attempt += 1
        again = _tables(members, protocol, seed, frame, [(i, r, attempt) for i, r in faults], jobs)
        for (i, r), tables in zip(faults, again, strict=True):
            drawn[i].replicates[r], drawn[i].redrawn[r] = tables, attempt


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
    places = [(i, r, 0) for i in range(len(members)) for r in range(replicates)]
    tables = _tables(members, protocol, seed, frame, places, jobs)
    return [
        Drawn(
            [member.spec.names[j] for j in _once(member, protocol, seed).targets],
            tables[i * replicates : (i + 1) * replicates],
            [0] * replicates,
        )
        for i, member in enumerate(members)
    ]


def _fault(member: Member, replicate: dict[Split, Dataset]) -> str | None:
    """The first rule that a replicate fails; written scenarios have gates of their own, with declared exceptions."""
    if member.family != suites.FAMILY:
        return None
    stressed = bool(set(UNRELATED) & set(map(str, cast(list, member.spec.factors["difficulty"]))))
    return quality.pair_fault(replicate["obs"], replicate["obs_int"], stressed)


def _tables(
    members: Sequence[Member],
    protocol: Protocol,
    seed: int,
    frame: Frame | None,
    places: Sequence[tuple[int, int, int]],
    jobs: int | None,
) -> list[dict[Split, Dataset]]:
    """Both splits for each place: number of the SCM, replicate, attempt."""
    frame = frame or Frame()
    used = sorted({i for i, _, _ in places})
    pool = Pool([compile_on_host(members[i].spec, widths=frame.parents) for i in used], frame)
    once = {i: _once(members[i], protocol, seed) for i in used}
    plans = [_plan(members[i], once[i], protocol, seed, *key_parts(r, t)) for i, r, t in places]
    keys = keys_of(("units", members[i].spec.content_hash, seed, *key_parts(r, t)) for i, r, t in places)
    which = [used.index(i) for i, _, _ in places]
    drawn = pool.draw(which, keys, protocol.n, [plan.edits for plan in plans], jobs=jobs)
    return [
        _splits(
            members[i],
            once[i].order,
            plan,
            values,
            protocol,
            rng_of("stressors", members[i].spec.content_hash, seed, *key_parts(r, t)),
        )
        for (i, r, t), plan, values in zip(places, plans, drawn, strict=True)
    ]


def key_parts(replicate: int, attempt: int) -> tuple[int, ...]:
    """What tells the draws of a replicate from others."""
    return (replicate, attempt) if attempt else (replicate,)


class _Once(NamedTuple):
    """What is drawn once for a scenario.

    Attributes:
        targets: Columns that are intervened on.
        order: In which the columns stand in tables.
        resampled: By target, values of the distribution that it is resampled from, where the spec gives one.
    """

    targets: list[int]
    order: np.ndarray
    resampled: dict[int, np.ndarray]


def _once(member: Member, protocol: Protocol, seed: int) -> _Once:
    spec = member.spec
    rng = rng_of("interventions", spec.content_hash, seed)
    candidates = protocol.candidates(*_roles(member))
    if member.family == suites.FAMILY:
        targets = target_pool(rng, len(spec.nodes), candidates)
    elif not (targets := [j for j in candidates if spec.nodes[j].intervention is not None]):
        raise SourceError(f"{member.id}: none of its targets is one that the protocol '{protocol.name}' takes")
    resampled = {j: _quantiles(spec.nodes[j].resampling) for j in targets if spec.nodes[j].resampler is not None}
    return _Once(targets, rng.permutation(len(spec.nodes)), resampled)


def _quantiles(distribution: Blueprint) -> np.ndarray:
    """Equally likely values of a distribution."""
    u = (np.arange(N_QUANTILES, dtype=np.float32) + 0.5) / N_QUANTILES
    quantile: Any = distribution.module(np.float32)
    return np.asarray(jax.vmap(quantile)(u), np.float64)


def _roles(member: Member) -> tuple[list[Kind], np.ndarray]:
    """Of each variable its kind, and whether it is a root."""
    return [node.kind for node in member.spec.nodes], np.asarray(~member.spec.adjacency.any(axis=0))


def _plan(member: Member, once: _Once, protocol: Protocol, seed: int, *replicate: int) -> Plan:
    rng = rng_of("plan", member.spec.content_hash, seed, *replicate)
    soft = softness(member.spec.stressors)
    return protocol.plan(rng, once.targets, member.baseline, *_roles(member), softness=soft, resampled=once.resampled)


def _splits(
    member: Member, order: np.ndarray, plan: Plan, values: np.ndarray, protocol: Protocol, rng: np.random.Generator
) -> dict[Split, Dataset]:
    """Both splits of one replicate, from the values `[d, n + m]` of its plain and its intervened units."""
    spec, values = member.spec, values.T
    mask = np.concatenate([np.zeros((protocol.n, values.shape[1]), bool), plan.mask])
    values = apply(spec.stressors, values, spec.names, np.asarray(mask.any(axis=1)), rng)
    mixed = np.r_[: protocol.n_obs, protocol.n : len(values)]
    return {
        "obs": _table(member, order, values[: protocol.n], None),
        "obs_int": _table(member, order, values[mixed], mask[mixed]),
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
