"""Tables from SCMs: one SCM at a time, or many different ones in one compiled program."""

import collections
import concurrent.futures
import os
from collections.abc import Sequence
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int, Key, PRNGKeyArray

from arena.compiler import BankKey, compile_on_host
from arena.dataset import Dataset
from arena.errors import SpecError
from arena.scm import SCM
from arena.spec import SCMSpec
from mechanisms.base import Array, Component, layout, round_up

#: `map` runs one SCM after another, so that a switch runs one branch; `vmap` runs all at once, every branch of it.
Strategy = Literal["auto", "map", "vmap"]
#: Variables are padded to a multiple of this when SCMs are stacked.
VARIABLES_STEP = 10
#: At most this many SCMs, and this many values, in one call of the compiled program.
CHUNK_SCMS, CHUNK_VALUES = 64, 8_000_000


@eqx.filter_jit
def _draw(scm: SCM, key: PRNGKeyArray, n: int) -> tuple[Array, Array]:
    noise = scm.draw_noise(key, n)
    return scm.evaluate(noise), noise


def sample(scm: SCM, key: PRNGKeyArray, n: int) -> Dataset:
    """n units of one SCM as a Dataset that carries their noise.

    Args:
        scm: The SCM; its interventions, if any, are in the mask of the result.
        key: A typed JAX key; the same key gives the same units under any intervention.
        n: Number of rows.
    """
    values, noise = _draw(scm, key, n)
    gain, offset = (np.broadcast_to(np.asarray(leaf), (n, scm.d)) for leaf in (scm.gain, scm.offset))
    return Dataset(
        names=scm.names,
        values=np.asarray(values),
        intervention_mask=(gain != 1) | (offset != 0),
        adjacency=adjacency(scm),
        noise=np.asarray(noise),
    )


def adjacency(scm: SCM) -> np.ndarray:
    """`[d, d]` int8 graph of an SCM, `A[i, j] == 1` for i -> j; edges that an intervention cuts are kept."""
    matrix = np.zeros((scm.d + 1, scm.d), np.int8)
    for j, parents in zip(np.asarray(scm.order), np.asarray(scm.parents), strict=True):
        matrix[parents, j] = 1
    return matrix[:-1]


def sample_batch(
    scms: Sequence[SCM | SCMSpec], key: PRNGKeyArray, n: int, *, strategy: Strategy = "auto"
) -> list[Dataset]:
    """n units of each of many different SCMs.

    Args:
        scms: SCMs or specs, of any sizes and families.
        key: A typed JAX key; SCM i uses `fold_in(key, i)`.
        n: Number of rows of each table.
        strategy: `auto` picks `map` on CPU and `vmap` on accelerators, which is what was measured to be fastest
            (`scripts/bench_generate.py` prints both).

    Returns:
        One Dataset an SCM, in order, without noise; float32 values.
    """
    scms = [compile_on_host(scm) if isinstance(scm, SCMSpec) else scm for scm in scms]
    keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(jnp.arange(len(scms)))
    tables = sample_values(scms, keys, n, strategy=strategy)
    return [Dataset(scm.names, values, adjacency=adjacency(scm)) for scm, values in zip(scms, tables, strict=True)]


def sample_values(
    scms: Sequence[SCM], keys: Key[Array, " B"], n: int, *, strategy: Strategy = "auto", jobs: int | None = None
) -> list[np.ndarray]:
    """The core of `sample_batch`: SCMs with a key each `[B]` -> tables `[n, d_i]` in order.

    On CPU `jobs` threads work side by side, one a core when omitted.
    """
    if strategy == "auto":
        strategy = "map" if jax.default_backend() == "cpu" else "vmap"
    groups: dict[tuple, list[int]] = collections.defaultdict(list)
    for i, scm in enumerate(scms):
        if scm.gain.ndim == 2 and len(scm.gain) != n:
            raise SpecError(f"SCM {i} has interventions for {len(scm.gain)} rows, asked for {n}")
        groups[round_up(scm.d, VARIABLES_STEP), scm.parents.shape[1], scm.gain.ndim].append(i)

    calls = []
    for (d, _, _), members in sorted(groups.items()):
        room = max(1, min(CHUNK_SCMS, CHUNK_VALUES // (n * d), _power_of_two(len(members))))
        chunks = [members[start : start + room] for start in range(0, len(members), room)]
        rooms = _rooms(scms, chunks)
        calls += [(chunk, room, d, rooms) for chunk in chunks]

    out: list[np.ndarray] = [np.empty(0)] * len(scms)

    def run(call):
        chunk, room, d, rooms = call
        tables, banks = stack([scms[i] for i in chunk], room, d, rooms)
        index = np.resize(chunk, room)
        values = np.asarray(_sample_stack(tables, banks, keys[index], jnp.asarray(len(chunk)), n, strategy))
        for row, i in enumerate(chunk):
            out[i] = values[row, :, : scms[i].d]

    threads = (jobs or os.cpu_count()) if jax.default_backend() == "cpu" else 1
    run(calls[0]) if calls else None  # compiles, if need be, before others wait for the same program
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        list(pool.map(run, calls[1:]))
    return out


class Tables(eqx.Module):
    """The integer tables and interventions of `B` stacked SCMs; see `SCM` for each."""

    order: Int[Array, "B d"]
    parents: Int[Array, "B d k"]
    mechanism: Int[Array, "B d 2"]
    noise: Int[Array, "B d 2"]
    gain: Float[Array, "B *n d"]
    offset: Float[Array, "B *n d"]


Banks = tuple[tuple[Component, ...], tuple[Component, ...]]
Rooms = dict[BankKey, Component]


def stack(scms: Sequence[SCM], room: int, d: int, rooms: Rooms) -> tuple[Tables, Banks]:
    """SCMs side by side: tables with a leading axis of length `room`, and one set of banks that all share.

    What a node computes does not depend on what it is stacked with: only its place in a bank changes.
    """
    width, edited = scms[0].parents.shape[1], scms[0].gain.shape[:-1]
    dtype = scms[0].gain.dtype
    order = np.tile(np.arange(d, dtype=np.int32), (room, 1))
    parents = np.full((room, d, width), d, np.int32)
    mechanism, noise = np.zeros((room, d, 2), np.int32), np.zeros((room, d, 2), np.int32)
    gain, offset = np.ones((room, *edited, d), dtype), np.zeros((room, *edited, d), dtype)
    keys = {kind: [key for key in sorted(rooms) if (key[0] == "mechanism") == (kind == "mechanisms")]
            for kind in ("mechanisms", "noises")}  # fmt: skip
    members: dict[BankKey, list[Component]] = {key: [] for key in rooms}
    used = dict.fromkeys(rooms, 0)
    mechanism[..., 0] = len(keys["mechanisms"])

    for i, scm in enumerate(scms):
        own = scm.d
        order[i, :own] = scm.order
        parents[i, :own] = np.where(np.asarray(scm.parents) == own, d, scm.parents)
        gain[i, ..., :own], offset[i, ..., :own] = scm.gain, scm.offset
        for kind, table, source in (("mechanisms", mechanism, scm.mechanism), ("noises", noise, scm.noise)):
            banks, base = getattr(scm, kind), []
            for bank in banks:
                key = _key_of(bank)
                base.append((keys[kind].index(key), used[key]))
                members[key].append(bank)
                used[key] += _n_slots(bank)
            base.append((len(keys[kind]), 0))  # the bank of roots, which has no equation
            number, start = np.asarray(base, np.int32).T
            bank, slot = np.asarray(source).T
            table[i, :own, 0], table[i, :own, 1] = number[bank], start[bank] + slot

    banks = tuple(tuple(_fill(rooms[key], members[key]) for key in keys[k]) for k in keys)
    return Tables(order, parents, mechanism, noise, gain, offset), (banks[0], banks[1])


def _rooms(scms: Sequence[SCM], chunks: Sequence[Sequence[int]]) -> Rooms:
    """An empty bank for every kind of bank, with room for the fullest chunk: all chunks share a program.

    The room is a power of two, so that other collections of SCMs are likely to share it as well.
    """
    most: collections.Counter[BankKey] = collections.Counter()
    example: dict[BankKey, Component] = {}
    for chunk in chunks:
        counts: collections.Counter[BankKey] = collections.Counter()
        for bank in (bank for i in chunk for bank in (*scms[i].mechanisms, *scms[i].noises)):
            key = _key_of(bank)
            counts[key] += _n_slots(bank)
            example[key] = bank
        most |= counts
    return {key: _empty(bank, _power_of_two(most[key])) for key, bank in example.items()}


def _empty(bank: Component, room: int) -> Component:
    return jax.tree.map(lambda leaf: np.zeros((room, *leaf.shape[1:]), leaf.dtype), bank)


def _key_of(bank: Component) -> BankKey:
    sizes = {}
    for field, (dims, _) in layout(type(bank)).items():
        sizes.update(zip(dims, getattr(bank, field).shape[1:], strict=True))
    sizes.pop("parents", None)
    return (bank.kind, bank.family, tuple(sorted(sizes.items())))


def _n_slots(bank: Component) -> int:
    leaves = jax.tree.leaves(bank)
    return leaves[0].shape[0] if leaves else 0


def _fill(room: Component, banks: Sequence[Component]) -> Component:
    """The banks one after another at the start of `room`."""

    def fill(empty, *leaves):
        out = empty.copy()
        if leaves:
            np.concatenate(leaves, out=out[: sum(len(leaf) for leaf in leaves)])
        return out

    return jax.tree.map(fill, room, *banks)


@eqx.filter_jit
def _sample_stack(
    tables: Tables, banks: Banks, keys: Key[Array, " B"], count: Int[Array, ""], n: int, strategy: str
) -> Float[Array, "B n d"]:
    d = tables.order.shape[1]
    names = tuple(f"X{j}" for j in range(d))

    def one(table: Tables, key):
        scm = SCM(names, table.order, table.parents, table.mechanism, table.noise, *banks, table.gain, table.offset)
        return scm.sample(key, n)

    if strategy == "vmap":
        return jax.vmap(one)(tables, keys)

    def body(i, out):
        return out.at[i].set(one(jax.tree.map(lambda leaf: leaf[i], tables), keys[i]))

    # A loop up to `count`, not a map over all: the rest of the room costs nothing.
    return jax.lax.fori_loop(0, count, body, jnp.zeros((len(tables.order), n, d), tables.gain.dtype))


def _power_of_two(count: int) -> int:
    return 1 << max(0, count - 1).bit_length()
