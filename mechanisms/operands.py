"""What a term of an equation is about: a parent, or what is derived from one or two of them."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import jax
import jax.numpy as jnp
from pydantic import BeforeValidator, model_validator

from mechanisms.base import Array
from mechanisms.parameters import Data, Many, ParameterError

#: Derivations, and how many parents each takes.
ARITY = {"raw": 1, "log": 1, "ratio": 2, "product": 2}
KINDS = tuple(ARITY)
#: Logarithms are of no less than this, and no denominator is nearer to 0.
LEAST = 1e-6


class OperandSpec(Data, frozen=True):
    """`{"op": "ratio", "of": ["a", "b"]}`; a name alone is the parent itself.

    Attributes:
        op: `raw`, `log` (of a positive quantity), `ratio` (first over second), `product`.
        of: One parent, or two.
    """

    op: Literal["raw", "log", "ratio", "product"] = "raw"
    of: Many[str]

    @model_validator(mode="after")
    def _check(self) -> "OperandSpec":
        if len(self.of) != ARITY[self.op]:
            raise ParameterError("of", f"has {len(self.of)} names, expected {ARITY[self.op]} for '{self.op}'")
        if len(set(self.of)) != len(self.of):
            raise ParameterError("of", f"found '{self.of[0]}' twice, expected two different parents")
        return self

    def __str__(self) -> str:
        first = self.of[0]
        return {"raw": first, "log": f"log {first}", "ratio": " / ".join(self.of), "product": " x ".join(self.of)}[
            self.op
        ]


def _named(value: Any) -> Any:
    return {"of": [value]} if isinstance(value, str) else value


Operand = Annotated[OperandSpec, BeforeValidator(_named)]


def places(operand: OperandSpec, parents: Sequence[str], field: str) -> tuple[int, int, int]:
    """The operand as numbers: its kind, and the positions of its parents (one of them twice if there is one only).

    Raises:
        ParameterError: If it names no parent.
    """
    for name in operand.of:
        if name not in parents:
            raise ParameterError(field, f"names '{name}', expected parents: {', '.join(parents)}")
    first, second = parents.index(operand.of[0]), parents.index(operand.of[-1])
    return KINDS.index(operand.op), first, second


def evaluate(kind: Array, first: Array, second: Array) -> Array:
    """The operand's value, from the values of its parents; `kind` is its position in `KINDS`."""
    return jax.lax.switch(kind, DERIVATIONS, first, second)


def _raw(first, second):
    return first


def _log(first, second):
    return jnp.log(jnp.maximum(first, LEAST))


def _ratio(first, second):
    return first / jnp.where(jnp.abs(second) < LEAST, LEAST, second)


def _product(first, second):
    return first * second


#: In the order of `KINDS`.
DERIVATIONS = (_raw, _log, _ratio, _product)
