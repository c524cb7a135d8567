"""Room: SCMs padded to a size, so that specs of about that size share compiled programs.

A padded SCM has more columns than variables: their rows are 0, and no step computes them. For a program that walks the
steps itself, up to the number of variables. Many SCMs at once are the business of `arena.pool`.
"""

import dataclasses
from collections.abc import Iterable

import jax
import jax.numpy as jnp
import numpy as np

from arena import programs
from arena.compiler import bank_key, compile_on_host
from arena.keys import HostKeys
from arena.scm import SCM
from arena.spec import SCMSpec
from mechanisms.base import Blueprint, round_up

#: What columns and slots are padded to a multiple of, where a room does not say more.
STEP = 16


@dataclasses.dataclass(frozen=True)
class Room:
    """A size that SCMs are padded to, at least.

    Attributes:
        columns, parents, slots: Least numbers of columns, of parents of a variable, and of slots in a bank.
        vocabulary: Components that have a bank in any case.
    """

    columns: int = 0
    parents: int = 0
    slots: int = 0
    vocabulary: tuple[Blueprint, ...] = ()

    @classmethod
    def of(cls, specs: Iterable[SCMSpec]) -> "Room":
        """A room in which all of the specs share their programs."""
        columns, parents, slots = 0, 0, 1
        vocabulary: dict[object, Blueprint] = {}
        for spec in specs:
            used: dict[object, int] = {}
            for node in spec.nodes:
                for blueprint in (node.component, *((node.channel,) if node.parents else ())):
                    key = bank_key(blueprint)
                    vocabulary.setdefault(key, blueprint)
                    used[key] = used.get(key, 0) + 1
                parents = max(parents, len(node.parents))
            columns, slots = max(columns, len(spec.nodes)), max(slots, *used.values())
        return cls(round_up(columns + 1, STEP), round_up(parents, 8), round_up(slots, STEP), tuple(vocabulary.values()))

    def compile(self, spec: SCMSpec) -> SCM:
        """The SCM of a spec with room, on the device; its columns beyond the variables are 0.

        The joint distribution of dependent roots is left out: `draw` has it.
        """
        scm = compile_on_host(spec, widths=(self.parents,) if self.parents else (), vocabulary=self.vocabulary)
        d = len(scm.order)
        rows = max(self.columns, round_up(d + 1, STEP))

        def columns(leaf: np.ndarray, value: float = 0.0) -> np.ndarray:
            return np.pad(leaf, ((0, rows - d), *((0, 0),) * (leaf.ndim - 1)), constant_values=value)

        def slots(leaf: np.ndarray) -> np.ndarray:
            length = max(self.slots, round_up(len(leaf), STEP))
            return np.pad(leaf, ((0, length - len(leaf)), *((0, 0),) * (leaf.ndim - 1)))

        return jax.device_put(
            SCM(
                names=(),
                order=columns(scm.order),
                parents=columns(scm.parents),
                mechanism=columns(scm.mechanism),
                noise=columns(scm.noise),
                mechanisms=tuple(jax.tree.map(slots, bank) for bank in scm.mechanisms),
                noises=tuple(jax.tree.map(slots, bank) for bank in scm.noises),
                strength=columns(scm.strength),
                center=columns(scm.center),
                scale=columns(scm.scale, 1.0),
                extra=None if scm.extra is None else columns(scm.extra),
                block=None,
                gain=columns(scm.gain, 1.0),
                offset=columns(scm.offset),
            )
        )


def draw(spec: SCMSpec, padded: SCM, key: jax.Array, n: int) -> tuple[jax.Array, jax.Array | None]:
    """Exogenous noise `[columns, n]` of n units, and the second one, as the SCM of the spec itself draws it.

    Args:
        padded: The SCM of the spec, from `Room.compile`.
    """
    if spec.root_block is not None:
        scm = compile_on_host(spec)
        u, second = scm.exogenous(scm.draw_noise(key, n))
        room = ((0, len(padded.order) - len(spec.nodes)), (0, 0))
        return jnp.pad(u, room), None if second is None else jnp.pad(second, room)
    words, impl = HostKeys.of(key[None])
    u, second = programs.call(_draw, padded, words[0], n=n, impl=impl)
    return u, None if padded.extra is None else second


def _draw(scm: SCM, words, *, n: int, impl: str):
    noise = scm.draw_noise(jax.random.wrap_key_data(words, impl=impl), n)
    return (noise.T, noise[:0].T) if scm.extra is None else (noise[..., 0].T, noise[..., 1].T)


def evaluate(padded: SCM, u: jax.Array, second: jax.Array | None, d: int, target: int) -> tuple[jax.Array, jax.Array]:
    """Values `[columns, n]` of the d variables, and the scaled signal `[n]` of the column `target`."""
    return programs.call(_evaluate, padded, u, second, np.int32(d), np.int32(target))


def _evaluate(scm: SCM, u, second, d, target):
    tables = tuple(map(jnp.asarray, (scm.order, scm.parents, scm.mechanism, scm.noise)))

    def step(s, state):
        x, kept = state
        row = tuple(table[s] for table in tables)
        signal, value = scm.node(row, x, u, second)
        return x.at[row[0]].set(value), jnp.where(row[0] == target, signal, kept)

    return jax.lax.fori_loop(0, d, step, (jnp.zeros_like(u), jnp.zeros_like(u[0])))
