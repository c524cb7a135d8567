"""Keys that follow from names: the same everywhere, whatever else was drawn."""

import hashlib

import jax


def key_of(*parts: str | int) -> jax.Array:
    """A typed JAX key that follows from text and numbers."""
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return jax.random.wrap_key_data(
        jax.numpy.asarray([int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:8], "little")], "uint32")
    )
