"""What a caller hands in by mistake, told in one line."""

import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from arena.errors import SpecError


def as_count(n: Any) -> int:
    """A number of rows as an int: a whole number, not negative."""
    try:
        count = operator.index(n)
    except TypeError:
        raise SpecError(f"the number of rows is {n!r}; expected a whole number") from None
    if count < 0:
        raise SpecError(f"the number of rows is {count}; it cannot be negative")
    return count


def as_key(key: Any) -> Any:
    """A JAX key, typed or of the old kind (uint32 words)."""
    if isinstance(key, jax.Array | np.ndarray):
        if jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
            return key
        if key.dtype == np.uint32 and key.shape[-1:] == (2,):
            return jax.random.wrap_key_data(jnp.asarray(key))
    raise SpecError(f"the key is {_short(key)}; expected a JAX key such as jax.random.key(0)")


def as_scm(scm: Any) -> Any:
    """An SCM, not the spec of one."""
    from arena.scm import SCM
    from arena.spec import SCMSpec

    if isinstance(scm, SCM):
        return scm
    hint = "; compile it first: arena.compile(spec)" if isinstance(scm, SCMSpec) else ""
    raise SpecError(f"expected an SCM, found {_short(scm)}{hint}")


def _short(value: Any) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 40 else ''}".strip()
