"""`Pool`: many different SCMs in one compiled program, however many there are and whatever their graphs.

All SCMs of a pool share their banks: every node of a family lies in one bank, tables say which slot is whose. The
program loops over the nodes of one SCM up to a bound that is data, so that SCMs of different sizes share it too. It
computes, in one go, n plain units and m units that are copies of some of those under interventions of their own.
"""

import collections
import concurrent.futures
import os
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int, Key

from arena import programs
from arena.blocks import RootBlock
from arena.compiler import BankKey, bank_key
from arena.errors import SpecError
from arena.keys import HostKeys
from arena.scm import NOISE, SCM, SECOND_NOISE, intervened, uniform
from mechanisms.base import Array, Blueprint, Component, layout, stack, standard_normal

#: `map` runs one SCM after another, so that a switch runs one branch; `vmap` runs all at once, every branch of it.
Strategy = Literal["auto", "map", "vmap"]
#: Variables are padded to the first of these that is enough, and beyond the last to a multiple of it.
SIZES = (30, 100)
#: At most this many SCMs, and this many values, in one call of the compiled program.
CHUNK_SCMS, CHUNK_VALUES = 16, 16_000_000
#: Room for SCMs in the smallest tables, for nodes in the smallest banks, the factor to the next size. All banks of a
#: pool have one size, so that pools of the same families share their programs.
ROOM, SLOTS, STEP = 16, 128, 8


class Edits(NamedTuple):
    """Interventions on m units of one SCM, which are copies of plain units.

    Attributes:
        units: `[m]`, which plain unit each is a copy of.
        gain, offset: `[m, d]`, value -> gain * value + offset; 1 and 0 where nothing is done.
        strength: `[m, d]`, what the structural signal is multiplied by; 1 where nothing is done.
    """

    units: np.ndarray
    gain: np.ndarray
    offset: np.ndarray
    strength: np.ndarray


class Frame(NamedTuple):
    """What a pool has room for whatever its SCMs are, so that pools of one frame share their programs.

    Attributes:
        vocabulary: Components for which there are banks (`arena.vocabulary`).
        scms: How many SCMs there is room for.
        d: How many variables of each.
        parents: To how many a variable's parents are padded, ascending; see `compile_on_host`.
        stressed: Whether there are tables for root blocks and second noises.
    """

    vocabulary: Sequence[Blueprint] = ()
    scms: int = 1
    d: int = 1
    parents: Sequence[int] = ()
    stressed: bool = False


class Tables(eqx.Module):
    """What tells one SCM from another, for `B` of them; see `SCM` for each."""

    d: Int[Array, "B"]
    order: Int[Array, "B d"]
    parents: Int[Array, "B d k"]
    mechanism: Int[Array, "B d 2"]
    noise: Int[Array, "B d 2"]
    strength: Float[Array, "B d"]
    center: Float[Array, "B d"]
    scale: Float[Array, "B d"]
    extra: Float[Array, "B d"] | None
    gain: Float[Array, "B d"]
    offset: Float[Array, "B d"]
    block: RootBlock | None

    def scm(self, banks: "Banks") -> SCM:
        """The SCM of one row of the tables, whose second noise and root block are left to the caller."""
        return SCM((), self.order, self.parents, self.mechanism, self.noise, *banks, self.strength, self.center,
                   self.scale, None, None, self.gain, self.offset)  # fmt: skip

    def exogenous(self, key, n: int) -> Float[Array, "rows n"]:
        """What n units of one row of the tables bring along, by column.

        Uniform noise, or the value that the root block makes of it; below, where there is a table for it, as many rows
        for the second noise. All from one loop: the code of the random generator is large.
        """
        d, key = len(self.order), jax.random.fold_in(key, NOISE)
        count = self.d if self.extra is None else self.d * (1 + self.extra.any())

        def draw(k, u):
            again = k - self.d
            row, column = jnp.where(again < 0, k, again + d), jnp.where(again < 0, k, again + SECOND_NOISE)
            return u.at[row].set(uniform(jax.random.fold_in(key, column), n, self.gain.dtype))

        u = jax.lax.fori_loop(0, count, draw, jnp.zeros((d if self.extra is None else 2 * d, n), self.gain.dtype))
        if self.block is None:
            return u
        block = self.block
        joint = lambda u: u.at[:d].set(jnp.where(block.member[:, None], block(u[:d]), u[:d]))  # noqa: E731
        return jax.lax.cond(block.member.any(), joint, lambda u: u, u)

    def with_second_noise(self, j, value, u):
        """The value `[n]` of a column with its second noise, where there is one."""
        if self.extra is None:
            return value
        extra = self.extra[j]
        return jax.lax.cond(extra > 0, lambda: value + extra * standard_normal(u), lambda: value)


#: Padded number of variables, padded number of parents, type of the values: SCMs that share tables.
Group = tuple[int, int, str]
Banks = tuple[tuple[Component, ...], tuple[Component, ...]]


class Pool:
    """SCMs to be sampled together.

    Args:
        scms: SCMs of any sizes and families, without interventions that differ between rows.
        frame: What the pool has room for anyway.

    Raises:
        SpecError: If an SCM has interventions that differ between rows; give those as `Edits`.
    """

    def __init__(self, scms: Sequence[SCM], frame: Frame | None = None):
        self.scms, frame = list(scms), frame or Frame()
        groups: dict[Group, list[int]] = collections.defaultdict(list)
        for i, scm in enumerate(self.scms):
            if scm.gain.ndim == 2 or scm.strength.ndim == 2:
                raise SpecError(f"SCM {i} is edited row by row; a pool takes such edits as `Edits`")
            groups[_size(max(scm.d, frame.d)), scm.parents.shape[1], str(scm.gain.dtype)].append(i)
        self._place = {i: (key, row) for key, members in groups.items() for row, i in enumerate(members)}
        self._groups = {
            key: _stack([self.scms[i] for i in members], *key[:2], frame) for key, members in groups.items()
        }

    def draw(
        self,
        which: Sequence[int],
        keys: Key[Array, " B"] | HostKeys,
        n: int,
        edits: Sequence[Edits] | None = None,
        *,
        strategy: Strategy = "auto",
        jobs: int | None = None,
    ) -> list[np.ndarray]:
        """Tables of some of the SCMs.

        Args:
            which: Numbers of SCMs; one may occur several times.
            keys: A typed key for each.
            n: Plain units of each.
            edits: For each, interventions on m further units, the same m for all.
            strategy: `auto` is `map` on CPU and `vmap` on accelerators (`scripts/bench_generate.py` prints both).
            jobs: Threads on CPU, one a core when omitted.

        Returns:
            For each `[d, n + m]`, variables first: the plain units, then the intervened ones.
        """
        m = len(edits[0].units) if edits else 0

        def call(group: tuple["Tables", Banks], index: np.ndarray, members: list[int], d: int) -> list[np.ndarray]:
            room, count = len(index), np.int32(len(members))
            changed = _stack_edits([edits[i] for i in members], room, d) if edits else _no_edits(room, d)
            own = words[np.resize(members, room)]
            values = np.asarray(programs.call(_draw, *group, index, own, count, changed, n=n, **static))
            return [values[k, : self.scms[which[i]].d] for k, i in enumerate(members)]

        words, impl = HostKeys.of(keys)
        static = {"impl": impl, "strategy": _chosen(strategy)}
        return self.in_chunks(which, n + m, call, jobs)

    def in_chunks(self, which: Sequence[int], n: int, call: Callable[..., list], jobs: int | None = None) -> list:
        """Calls of a compiled program, each with as many SCMs as fit, side by side in threads.

        Args:
            which: Numbers of SCMs.
            n: Rows of each, which says how many fit.
            call: Gets the tables and banks of a group; which of its SCMs are meant, padded to the room of the program;
                where these are in `which`; the padded number of variables. Gives a result for each.
            jobs: As in `draw`.

        Returns:
            The results, in the order of `which`.
        """
        members: dict[Group, list[int]] = collections.defaultdict(list)
        for i, scm in enumerate(which):
            members[self._place[scm][0]].append(i)
        threads = (jobs or os.cpu_count() or 1) if jax.default_backend() == "cpu" else 1
        calls = []
        for key, all_of_group in sorted(members.items()):
            room = max(1, min(CHUNK_SCMS, CHUNK_VALUES // max(1, n * key[0])))
            calls += [(key, all_of_group[start : start + room], room) for start in range(0, len(all_of_group), room)]
        out: list = [None] * len(which)

        def run(key, chunk, room):
            index = np.resize(np.array([self._place[which[i]][1] for i in chunk], np.int32), room)
            for i, result in zip(chunk, call(self._groups[key], index, chunk, key[0]), strict=True):
                out[i] = result

        if threads == 1:
            for one in calls:
                run(*one)
        else:
            with concurrent.futures.ThreadPoolExecutor(threads) as pool:
                list(pool.map(lambda one: run(*one), calls))
        return out


def _size(d: int) -> int:
    return next((size for size in SIZES if d <= size), -(-d // SIZES[-1]) * SIZES[-1])


def _stack(scms: Sequence[SCM], d: int, width: int, frame: Frame) -> tuple[Tables, Banks]:
    """The tables and shared banks of a group.

    What a node computes does not depend on what it is stacked with: only its place in a bank changes.
    """
    count, dtype = _room(ROOM, max(len(scms), frame.scms)), scms[0].gain.dtype
    zeros = lambda *shape, kind=dtype: np.zeros((count, *shape), kind)  # noqa: E731
    table = Tables(
        d=zeros(kind=np.int32), order=zeros(d, kind=np.int32),
        parents=np.full((count, d, width), d, np.int32), mechanism=zeros(d, 2, kind=np.int32),
        noise=zeros(d, 2, kind=np.int32), strength=zeros(d) + 1, center=zeros(d), scale=zeros(d) + 1,
        extra=zeros(d) if frame.stressed or any(scm.extra is not None for scm in scms) else None,
        gain=zeros(d) + 1, offset=zeros(d),
        block=RootBlock(zeros(d, kind=bool), zeros(d, d), zeros(kind=bool))
        if frame.stressed or any(scm.block is not None for scm in scms) else None,
    )  # fmt: skip
    members: dict[BankKey, list[Component]] = collections.defaultdict(list)
    for blueprint in frame.vocabulary:
        members[bank_key(blueprint)].append(jax.tree.map(lambda leaf: leaf[:0], stack([blueprint], width, dtype)))
    for scm in scms:
        for bank in (*scm.mechanisms, *scm.noises):
            members[_key_of(bank)].append(bank)
    keys = [sorted(key for key in members if (key[0] == "mechanism") == first) for first in (True, False)]
    used: collections.Counter[BankKey] = collections.Counter()

    for i, scm in enumerate(scms):
        own = table.d[i] = scm.d
        table.order[i, :own] = scm.order
        table.parents[i, :own] = np.where(np.asarray(scm.parents) == own, d, scm.parents)
        for field in ("strength", "center", "scale", "gain", "offset"):
            getattr(table, field)[i, :own] = getattr(scm, field)
        if scm.extra is not None and table.extra is not None:
            table.extra[i, :own] = scm.extra
        if scm.block is not None and table.block is not None:
            table.block.member[i, :own], table.block.mix[i, :own, :own] = scm.block.member, scm.block.mix
            table.block.ball[i] = scm.block.ball
        for banks, numbers, target, source in (
            (scm.mechanisms, keys[0], table.mechanism, scm.mechanism),
            (scm.noises, keys[1], table.noise, scm.noise),
        ):
            base = []
            for bank in banks:
                key = _key_of(bank)
                base.append((numbers.index(key), used[key]))
                used[key] += _n_slots(bank)
            base.append((len(numbers), 0))  # the bank of roots, which has no equation
            number, start = np.asarray(base, np.int32).T
            bank, slot = np.asarray(source).T
            target[i, :own, 0], target[i, :own, 1] = number[bank], start[bank] + slot

    slots = _room(SLOTS, max([*used.values(), 8 * frame.scms]))
    banks = tuple(tuple(_concatenate(members[key], slots) for key in keys[k]) for k in (0, 1))
    return jax.device_put((table, (banks[0], banks[1])))


def _concatenate(banks: Sequence[Component], slots: int) -> Component:
    """One bank after another, with room for `slots` slots."""

    def concatenate(*leaves):
        out = np.zeros((slots, *leaves[0].shape[1:]), leaves[0].dtype)
        np.concatenate(leaves, out=out[: sum(len(leaf) for leaf in leaves)])
        return out

    return jax.tree.map(concatenate, *banks)


def _key_of(bank: Component) -> BankKey:
    sizes = {}
    for field, (dims, _) in layout(type(bank)).items():
        sizes.update(zip(dims, getattr(bank, field).shape[1:], strict=True))
    sizes.pop("parents", None)
    return (bank.kind, bank.family, tuple(sorted(sizes.items())), id(type(bank)))


def _n_slots(bank: Component) -> int:
    leaves = jax.tree.leaves(bank)
    return leaves[0].shape[0] if leaves else 0


def _room(least: int, count: int) -> int:
    """The first of `least`, `STEP * least` ... that is enough."""
    while least < count:
        least *= STEP
    return least


def _no_edits(room: int, d: int) -> Edits:
    empty = np.zeros((room, d, 0), np.float32)
    return Edits(np.zeros((room, 0), np.int32), empty, empty, empty)


def _stack_edits(edits: Sequence[Edits], room: int, d: int) -> Edits:
    """`[room, d, m]` tables, variables first."""
    m = len(edits[0].units)
    units = np.zeros((room, m), np.int32)
    tables = [np.full((room, d, m), plain, np.float32) for plain in (1.0, 0.0, 1.0)]
    for i, edit in enumerate(edits):
        units[i] = edit.units
        for table, rows in zip(tables, (edit.gain, edit.offset, edit.strength), strict=True):
            table[i, : rows.shape[1]] = rows.T
    return Edits(units, *tables)


def _chosen(strategy: Strategy) -> str:
    return ("map" if jax.default_backend() == "cpu" else "vmap") if strategy == "auto" else strategy


def _draw(tables: Tables, banks: Banks, index, words, count, edits: Edits, *, n: int, impl: str, strategy: str):
    keys = jax.random.wrap_key_data(words, impl=impl)

    def one(i, key, edit):
        table = jax.tree.map(lambda leaf: leaf[i], tables)
        return _evaluate(table, banks, key, n, edit)

    d, m = tables.order.shape[1], edits.units.shape[1]
    if strategy == "vmap":
        return jax.vmap(one)(jnp.asarray(index), keys, edits)

    def body(k, out):
        return out.at[k].set(
            one(jnp.asarray(index)[k], keys[k], jax.tree.map(lambda leaf: jnp.asarray(leaf)[k], edits))
        )

    # A loop up to `count`, not a map over all: the rest of the room costs nothing.
    return jax.lax.fori_loop(0, count, body, jnp.zeros((len(index), d, n + m), tables.gain.dtype))


def _evaluate(table: Tables, banks: Banks, key, n: int, edits: Edits) -> Float[Array, "d rows"]:
    """The values of one SCM: n plain units, then m copies under the edits."""
    d, dtype, m = len(table.order), table.gain.dtype, edits.units.shape[0]
    with_copies = lambda row: jnp.concatenate([row, row[edits.units]]) if m else row  # noqa: E731
    by_row = lambda plain, rows: jnp.concatenate([jnp.full(n, plain), rows]) if m else plain  # noqa: E731
    scm, noise = table.scm(banks), table.exogenous(key, n)
    edited = (edits.gain != 1) | (edits.offset != 0) | (edits.strength != 1)

    def step(i, state):
        x, reached = state
        j, parents = table.order[i], table.parents[i]
        strength = by_row(table.strength[j], table.strength[j] * edits.strength[j])
        gain = by_row(table.gain[j], table.gain[j] * edits.gain[j])
        offset = by_row(table.offset[j], edits.gain[j] * table.offset[j] + edits.offset[j])
        columns = x[parents]
        signal = strength * scm.signal(table.mechanism[i], columns)
        value = scm.disturbed(table.noise[i], signal, with_copies(noise[j]), columns)
        value = table.with_second_noise(j, value, with_copies(noise[j + len(noise) - d]))
        value = intervened((value - table.center[j]) / table.scale[j], gain, offset)
        # What no intervention reaches is the plain unit's value, to the last bit: rounding may depend on a row's place.
        touched = edited[j] | reached[parents].any(axis=0)
        value = jnp.concatenate([value[:n], jnp.where(touched, value[n:], value[edits.units])]) if m else value
        return x.at[j].set(value), reached.at[j].set(touched)

    # A loop up to this SCM's own number of variables, so that a small one costs no more than it is.
    start = jnp.zeros((d + 1, n + m), dtype), jnp.zeros((d + 1, m), bool)
    return jax.lax.fori_loop(0, table.d, step, start)[0][:d]
