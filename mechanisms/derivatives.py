"""The operations of formulas for JAX, with derivatives that are finite everywhere.

Where an operation is not defined, its derivative infinite or an argument not finite, the derivative is 0; elsewhere it
is the right one. So what a formula leaves out, by `where` or by an intervention, adds 0 to a gradient and not 0 times
infinity. Derivatives are written in these same operations, so that it holds for those of any order.
"""

import functools
import operator
from collections.abc import Callable

import jax
import jax.numpy as jnp

from mechanisms.expression import OPERATIONS


def _finite(x):
    return jnp.where(jnp.isfinite(x), x, 0.0).astype(x.dtype)


def _with_slopes(function: Callable, *slopes: Callable) -> Callable:
    """The function with `slopes[i]` as derivative in its i-th argument; they see finite arguments only."""

    @jax.custom_jvp
    def operation(*arguments):
        return function(*arguments)

    @operation.defjvp
    def _(arguments, tangents):
        finite = [_finite(x) for x in arguments]
        defined = functools.reduce(operator.and_, map(jnp.isfinite, arguments))
        terms = [
            jnp.where(defined, _finite(slope(*finite)), 0.0) * tangent
            for slope, tangent in zip(slopes, tangents, strict=True)
        ]
        return operation(*arguments), functools.reduce(operator.add, terms)

    return operation


def _plain(name: str) -> Callable:
    return lambda *arguments: OPERATIONS[name](jnp, *arguments, *arguments[:1] * (3 - len(arguments)))


_inverse = _with_slopes(lambda a: 1.0 / a, lambda a: -(_finite(_inverse(a)) ** 2))
_mul = _with_slopes(_plain("mul"), lambda a, b: b, lambda a, b: a)
_div = _with_slopes(
    _plain("div"),
    lambda a, b: _finite(_inverse(b)),
    lambda a, b: -_finite(_div(a, b)) * _finite(_inverse(b)),
)
_exp = _with_slopes(_plain("exp"), lambda a: _exp(a))
_log = _with_slopes(_plain("log"), lambda a: jnp.where(a > 0.0, _finite(_inverse(a)), 0.0))
_sqrt = _with_slopes(_plain("sqrt"), lambda a: 0.5 * _finite(_pow(a, jnp.full_like(a, -0.5))))
_sin = _with_slopes(_plain("sin"), lambda a: _cos(a))
_cos = _with_slopes(_plain("cos"), lambda a: -_sin(a))
_tan = _with_slopes(_plain("tan"), lambda a: 1.0 + _tan(a) ** 2)
_asin = _with_slopes(_plain("asin"), lambda a: _finite(_inverse(_sqrt((1.0 - a) * (1.0 + a)))))
_acos = _with_slopes(_plain("acos"), lambda a: -_finite(_inverse(_sqrt((1.0 - a) * (1.0 + a)))))
_atan = _with_slopes(_plain("atan"), lambda a: _finite(_inverse(1.0 + a * a)))
_tanh = _with_slopes(_plain("tanh"), lambda a: 1.0 - _tanh(a) ** 2)
_abs = _with_slopes(_plain("abs"), jnp.sign)


def _slope_in_base(a, b):
    # At a base of 0 or below, the power is defined at whole exponents only, and so has no derivative in them.
    exponent = jnp.where(a > 0.0, b, jax.lax.stop_gradient(b))
    return exponent * _finite(_pow(a, exponent - 1.0))


def _slope_in_exponent(a, b):
    return jnp.where(a > 0.0, _finite(_pow(a, b)) * _finite(_log(a)), 0.0)


_pow = _with_slopes(_plain("pow"), _slope_in_base, _slope_in_exponent)

_GUARDED = {
    "mul": _mul, "div": _div, "pow": _pow, "exp": _exp, "log": _log, "sqrt": _sqrt, "sin": _sin, "cos": _cos,
    "tan": _tan, "asin": _asin, "acos": _acos, "atan": _atan, "tanh": _tanh, "abs": _abs,
}  # fmt: skip


def _of_three(name: str) -> Callable:
    if name in _GUARDED:
        n = 2 if name in ("mul", "div", "pow") else 1
        return lambda a, b, c: _GUARDED[name](*(a, b, c)[:n])
    return lambda a, b, c: OPERATIONS[name](jnp, a, b, c)


#: Each operation of three registers, in the order of their codes. Those not guarded have derivatives 0, 1 or -1.
INSTRUCTIONS = [_of_three(name) for name in OPERATIONS]
