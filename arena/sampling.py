"""Tables from SCMs: one SCM at a time, or many different ones in one compiled program."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from arena.compiler import compile_on_host
from arena.dataset import Dataset
from arena.pool import Pool, Strategy
from arena.scm import SCM
from arena.spec import SCMSpec
from mechanisms.base import Array


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
    pool = Pool([compile_on_host(scm) if isinstance(scm, SCMSpec) else scm for scm in scms])
    keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(jnp.arange(len(pool.scms)))
    tables = pool.draw(range(len(pool.scms)), keys, n, strategy=strategy)
    return [Dataset(scm.names, values.T, adjacency=adjacency(scm)) for scm, values in zip(pool.scms, tables, strict=True)]
