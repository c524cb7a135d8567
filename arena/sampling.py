"""Tables from SCMs: one SCM at a time, or many different ones in one compiled program."""

from collections.abc import Sequence
from typing import Any, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from arena.checks import as_count, as_key, as_scm
from arena.compiler import compile_on_host
from arena.dataset import Dataset
from arena.errors import SpecError
from arena.pool import Pool, Strategy
from arena.scm import SCM
from arena.spec import SCMSpec


def sample(scm: SCM, key: PRNGKeyArray, n: int) -> Dataset:
    """n units of one SCM as a Dataset that carries their noise.

    For use inside jit, vmap or grad there are `scm.sample`, `scm.draw_noise` and `scm.evaluate`.

    Args:
        scm: The SCM; its interventions, if any, are in the mask of the result.
        key: A typed JAX key; the same key gives the same units under any intervention.
        n: Number of rows.

    Raises:
        SpecError: If an argument is not what it should be.
        DataError: If a value is not finite.
    """
    scm, key, n = as_scm(scm), as_key(key), as_count(n)
    noise = scm.draw_noise(key, n)
    return dataset(scm, scm.evaluate(noise), noise)


def dataset(scm: SCM, values: Any, noise: Any = None, name: str = "table") -> Dataset:
    """Values `[n, d]` of an SCM with its graph, and a mask of what its interventions touched."""
    values = np.asarray(values)
    gain, offset = (np.broadcast_to(np.asarray(leaf), values.shape) for leaf in (scm.gain, scm.offset))
    return Dataset(
        names=scm.names,
        values=values,
        intervention_mask=(gain != 1) | (offset != 0),
        adjacency=adjacency(scm),
        noise=None if noise is None else np.asarray(noise),
        name=name,
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
    if strategy not in get_args(Strategy):
        raise SpecError(f"no strategy '{strategy}'; strategies are {', '.join(get_args(Strategy))}")
    key, n = as_key(key), as_count(n)
    compiled = [compile_on_host(scm) if isinstance(scm, SCMSpec) else as_scm(scm) for scm in scms]
    keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(jnp.arange(len(compiled)))
    tables: dict[int, np.ndarray] = {}
    # SCMs that are edited row by row have tables of their own shape; the others share programs.
    alone = [i for i, scm in enumerate(compiled) if scm.gain.ndim == 2]
    together = [i for i in range(len(compiled)) if i not in alone]
    pool = Pool([compiled[i] for i in together])
    drawn = pool.draw(range(len(together)), keys[jnp.array(together, int)], n, strategy=strategy)
    tables |= {i: table.T for i, table in zip(together, drawn, strict=True)}
    tables |= {i: np.asarray(compiled[i].sample(keys[i], n)) for i in alone}
    return [dataset(scm, tables[i]) for i, scm in enumerate(compiled)]
