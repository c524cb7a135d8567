"""The network of AVICI in JAX: attention along the variables and along the rows of a table, in turn.

Source: Lorch et al. (2022), Amortized Inference for Causal Structure Learning, section 4. The parameters have the names
and shapes of the published ones. What differs from a literal transcription is there for speed: the scales of layer
norms are part of the matrices that follow them, queries, keys and values are one matrix, and the table is walked in
pieces whose attention scores stay in the cache.
"""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from methods.padding import Batch

_EPSILON = 1e-5  # of haiku's layer norm
_NEVER = -1e30  # the attention score of what must not be attended to
_QUERIES = 64  # fewer at once make poor matrix products
_ROOT = "BaseModel"


@dataclasses.dataclass(frozen=True)
class Architecture:
    """The sizes of the network; the defaults are the published ones.

    Attributes:
        layers: Pairs of blocks, one along the variables and one along the rows.
        dim: Size of the embedding of an entry of the table.
        key_size: Size of a head's keys, queries and values.
        num_heads: Heads.
        widening_factor: Hidden units of the feed-forward part, as a multiple of `dim`.
        out_dim: Size of what edges are scored by; `dim` when None.

    Raises:
        ValueError: If a size is not positive.
    """

    layers: int = 8
    dim: int = 128
    key_size: int = 32
    num_heads: int = 8
    widening_factor: int = 4
    out_dim: int | None = None

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if not (isinstance(value, int) and value > 0) and not (field.name == "out_dim" and value is None):
                raise ValueError(f"{field.name} is {value!r}; it must be a positive integer")

    def layout(self) -> dict[str, tuple[int, ...]]:
        """The published parameters: `<haiku module>/<name>` and their shapes."""
        inner, hidden = self.num_heads * self.key_size, self.widening_factor * self.dim
        out = self.out_dim or self.dim
        shapes = dict(_linear("linear", 2, self.dim))
        for block in range(2 * self.layers):
            attention = _numbered("multi_head_attention", block)
            for norm in range(4):
                shapes |= _norm(4 * block + norm, self.dim)
            for name in ("query", "key", "value"):
                shapes |= _linear(f"{attention}/{name}", self.dim, inner)
            shapes |= _linear(f"{attention}/linear", inner, self.dim)
            shapes |= _linear(_numbered("linear", 2 * block + 1), self.dim, hidden)
            shapes |= _linear(_numbered("linear", 2 * block + 2), hidden, self.dim)
        for end in range(3):
            shapes |= _norm(8 * self.layers + end, self.dim)
        for end in (1, 2):
            shapes |= _linear(_numbered("linear", 4 * self.layers + end), self.dim, out)
        return shapes | {f"{_ROOT}/learned_temp": (1, 1, 1), f"{_ROOT}/final_matrix_bias": (1, 1, 1)}


def weights(architecture: Architecture, published: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """The published parameters as `edge_logits` uses them, float32; those of the blocks are stacked.

    Args:
        architecture: Its layout is that of `published`.
        published: `<haiku module>/<name>` -> array.
    """
    get = lambda name: np.asarray(published[f"{_ROOT}/{name}"], np.float64)  # noqa: E731
    heads = (architecture.num_heads, architecture.key_size)

    def after_norm(norm: int, linear: str) -> tuple[np.ndarray, np.ndarray]:
        """A linear map with the scale and the offset of the layer norm before it in it."""
        name, matrix = _numbered("layer_norm", norm), get(f"{linear}/w")
        return get(f"{name}/scale")[:, None] * matrix, get(f"{name}/offset") @ matrix + get(f"{linear}/b")

    def block(index: int) -> dict[str, np.ndarray]:
        attention = _numbered("multi_head_attention", index)
        parts = [after_norm(4 * index + k, f"{attention}/{name}") for k, name in enumerate(("query", "key", "value"))]
        parts[0] = tuple(part / np.sqrt(architecture.key_size) for part in parts[0])
        widen, widen_bias = after_norm(4 * index + 3, _numbered("linear", 2 * index + 1))
        narrow = _numbered("linear", 2 * index + 2)
        return {
            "project": np.stack([w.reshape(-1, *heads) for w, _ in parts], 1),
            "project_bias": np.stack([b.reshape(heads) for _, b in parts]),
            "merge": get(f"{attention}/linear/w").reshape(*heads, -1),
            "merge_bias": get(f"{attention}/linear/b"),
            "widen": widen,
            "widen_bias": widen_bias,
            "narrow": get(f"{narrow}/w"),
            "narrow_bias": get(f"{narrow}/b"),
        }

    pairs = [[block(2 * layer), block(2 * layer + 1)] for layer in range(architecture.layers)]
    along = lambda axis: jax.tree.map(lambda *leaves: np.stack(leaves), *(pair[axis] for pair in pairs))  # noqa: E731
    ends, linears = 8 * architecture.layers, 4 * architecture.layers
    last = _numbered("layer_norm", ends)
    found = {
        "embed": (get("linear/w"), get("linear/b")),
        "along_variables": along(0),
        "along_rows": along(1),
        "last": (get(f"{last}/scale"), get(f"{last}/offset")),
        "source": after_norm(ends + 1, _numbered("linear", linears + 1)),
        "target": after_norm(ends + 2, _numbered("linear", linears + 2)),
        "temperature": get("learned_temp").squeeze(),
        "bias": get("final_matrix_bias").squeeze(),
    }
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), found)


@functools.partial(jax.jit, static_argnames="cells")
def edge_logits(weights: dict[str, Any], batch: Batch, cells: int) -> jax.Array:
    """The log odds of every edge of every table: `[b, d, d]`, (i, j) for i -> j; the diagonal means nothing.

    Args:
        weights: From `weights`.
        batch: Tables of any location and scale. They are standardised over all their rows.
        cells: Attention scores that are computed at once. More tables than fit are worked on one after another.
    """
    b, n, d = batch.values.shape
    heads = weights["along_rows"]["merge"].shape[1]
    together = _divisor(b, cells // (heads * n * max(n, d)))
    with jax.default_matmul_precision("float32"):  # accelerators would round to fewer digits
        return lax.map(lambda table: _one(weights, table, cells), batch, batch_size=together)


def _one(weights: dict[str, Any], table: Batch, cells: int) -> jax.Array:
    """The logits `[d, d]` of one table, whose fields have no batch axis."""
    matrix, bias = weights["embed"]
    values = _standardised(table.values, table.rows)
    z = jnp.stack([values, table.interventions], -1) @ matrix + bias

    def pair(z: jax.Array, layer: Any) -> tuple[jax.Array, None]:
        z = _block(layer[0], z, table.columns, cells).swapaxes(0, 1)
        return _block(layer[1], z, table.rows, cells).swapaxes(0, 1), None

    z, _ = lax.scan(pair, z, (weights["along_variables"], weights["along_rows"]))
    scale, offset = weights["last"]
    z = jnp.where(table.rows[:, None, None], _normed(z) * scale + offset, -jnp.inf).max(0)
    source, target = (_normed(z) @ matrix + bias for matrix, bias in (weights["source"], weights["target"]))
    cosine = _unit(source) @ _unit(target).T
    return cosine * jnp.exp(weights["temperature"]) + weights["bias"]


def _standardised(values: jax.Array, rows: jax.Array) -> jax.Array:
    """`[n, d]` values with mean 0 and variance 1 over the real rows; zero in the others."""
    real = rows[:, None]
    centred = jnp.where(real, values - values.mean(0, where=real), 0.0)
    deviation = jnp.sqrt((centred**2).mean(0, where=real))
    return centred / jnp.where(deviation == 0, 1.0, deviation)


def _block(p: dict[str, jax.Array], z: jax.Array, keep: jax.Array, cells: int) -> jax.Array:
    """Attention within each of `s` sequences of `t` tokens, and a feed-forward part: `[s, t, dim]` to the same.

    Args:
        p: The parameters of one block.
        z: The sequences.
        keep: `[t]` bool, which tokens are attended to.
        cells: Attention scores that are computed at once.
    """
    s, t, _ = z.shape
    _, _, heads, size = p["project"].shape
    dim = z.shape[-1]
    project, project_bias = p["project"].reshape(dim, -1), p["project_bias"].reshape(-1)

    def one(z: jax.Array) -> jax.Array:
        three = (_normed(z) @ project + project_bias).reshape(t, 3, heads, size).transpose(1, 2, 0, 3)
        attend = lambda head: _attend(head[0], head[1], head[2], keep, cells)  # noqa: E731
        found = lax.map(attend, tuple(three), batch_size=_divisor(heads, cells // (t * t)))
        z = z + found.swapaxes(0, 1).reshape(t, -1) @ p["merge"].reshape(-1, dim) + p["merge_bias"]
        hidden = jax.nn.relu(_normed(z) @ p["widen"] + p["widen_bias"])
        return z + hidden @ p["narrow"] + p["narrow_bias"]

    return lax.map(one, z, batch_size=_divisor(s, cells // (heads * t * t)))


def _attend(query: jax.Array, key: jax.Array, value: jax.Array, keep: jax.Array, cells: int) -> jax.Array:
    """Attention of one head: `[t, size]` each, `keep` as in `_block`; queries in parts of about `cells` scores."""

    def part(query: jax.Array) -> jax.Array:
        scores = jnp.where(keep, query @ key.T, _NEVER)
        exponential = jnp.exp(scores - scores.max(-1, keepdims=True))
        return exponential @ value / exponential.sum(-1, keepdims=True)

    t, size = query.shape
    together = _divisor(t, max(_QUERIES, cells // t))
    return lax.map(part, query.reshape(t // together, together, size)).reshape(t, size)


def _divisor(count: int, most: int) -> int:
    """The largest divisor of `count` that is at most `most`, or 1: what is walked in pieces has no remainder."""
    return next(size for size in range(min(count, max(1, most)), 0, -1) if count % size == 0)


def _normed(z: jax.Array) -> jax.Array:
    """A layer norm over the last axis without its scale and offset."""
    centred = z - z.mean(-1, keepdims=True)
    return centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + _EPSILON)


def _unit(z: jax.Array) -> jax.Array:
    return z / jnp.linalg.norm(z, axis=-1, keepdims=True)


def _numbered(name: str, count: int) -> str:
    """haiku's name of the module of that kind that was made after `count` others."""
    return f"{name}_{count}" if count else name


def _linear(name: str, inputs: int, outputs: int) -> dict[str, tuple[int, ...]]:
    return {f"{_ROOT}/{name}/w": (inputs, outputs), f"{_ROOT}/{name}/b": (outputs,)}


def _norm(count: int, dim: int) -> dict[str, tuple[int, ...]]:
    name = _numbered("layer_norm", count)
    return {f"{_ROOT}/{name}/scale": (dim,), f"{_ROOT}/{name}/offset": (dim,)}
