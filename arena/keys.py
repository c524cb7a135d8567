"""Keys and generators that follow from names: the same everywhere, whatever else was drawn."""

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

import jax
import numpy as np

#: The generator of keys that follow from names.
IMPL = "threefry2x32"


class HostKeys(NamedTuple):
    """Keys as numbers on the host, where selecting some of them needs no compiled program.

    Attributes:
        words: `[B, w]` uint32, what `jax.random.wrap_key_data` takes.
        impl: The name of their generator.
    """

    words: np.ndarray
    impl: str

    @classmethod
    def of(cls, keys: "jax.Array | HostKeys") -> "HostKeys":
        """Typed JAX keys `[B]` brought to the host."""
        if isinstance(keys, HostKeys):
            return keys
        return cls(np.asarray(jax.random.key_data(keys)), str(jax.random.key_impl(keys)))


def key_of(*parts: str | int) -> jax.Array:
    """A typed JAX key that follows from text and numbers."""
    return jax.random.wrap_key_data(jax.numpy.asarray(_words(parts)), impl=IMPL)


def keys_of(names: Iterable[tuple[str | int, ...]]) -> HostKeys:
    """The keys `key_of(*parts)` of many names."""
    return HostKeys(np.stack([_words(parts) for parts in names]), IMPL)


def rng_of(*parts: str | int) -> np.random.Generator:
    """A numpy generator that follows from text and numbers."""
    return _generator(_words(parts))


def generator(key: jax.Array) -> np.random.Generator:
    """The numpy generator of a typed JAX key: drawing a spec is host work, thousands of small draws."""
    return _generator(np.asarray(jax.random.key_data(key)))


def _words(parts: tuple[str | int, ...]) -> np.ndarray:
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return np.frombuffer(digest[:8], "<u4").astype(np.uint32)


def _generator(words: np.ndarray) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=words.astype(np.uint64)))
