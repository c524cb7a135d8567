"""Derivatives of formulas: right where they exist, 0 where they do not, finite in every mode."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mechanisms.expression import FUNCTIONS, parse
from mechanisms.formula import Formula

VALUES = [-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 1e30, -1e30, 1e-30]

#: First and second derivative in t; 0 where there is none.
CLOSED_FORMS = {
    "where(t > 0, sqrt(t), 0)": lambda t: (0.5 * t**-0.5, -0.25 * t**-1.5) if t > 0 else (0, 0),
    "where(t > 0, t * log(t), 0)": lambda t: (np.log(t) + 1, 1 / t) if t > 0 else (0, 0),
    "where(t > 0, exp(-1 / t), 0)": lambda t: (
        (np.exp(-1 / t) / t**2, np.exp(-1 / t) * (1 / t**4 - 2 / t**3)) if t > 0 else (0, 0)
    ),
    "where(abs(t) < 1, asin(t), 0)": lambda t: ((1 - t * t) ** -0.5, t * (1 - t * t) ** -1.5) if abs(t) < 1 else (0, 0),
    "acos(t)": lambda t: (-((1 - t * t) ** -0.5), -t * (1 - t * t) ** -1.5) if abs(t) < 1 else (0, 0),
    "log(t)": lambda t: (1 / t, -1 / t**2) if t > 0 else (0, 0),
    "t ** 4": lambda t: (4 * t**3, 12 * t**2),
    "t ** 1": lambda t: (1, 0),
    "t ** 0": lambda t: (0, 0),
    "t ** -1": lambda t: (-1 / t**2, 2 / t**3) if t else (0, 0),
    "t ** 2.5": lambda t: (2.5 * t**1.5, 3.75 * t**0.5) if t > 0 else (0, 0),
    "t ** 0.5": lambda t: (0.5 * t**-0.5, -0.25 * t**-1.5) if t > 0 else (0, 0),
    "1 / t": lambda t: (-1 / t**2, 2 / t**3) if t else (0, 0),
    "abs(t) * t": lambda t: (2 * abs(t), 2 * np.sign(t)),
    "sin(t) + 2 * cos(t)": lambda t: (np.cos(t) - 2 * np.sin(t), -np.sin(t) - 2 * np.cos(t)),
    "tan(t)": lambda t: (1 / np.cos(t) ** 2, 2 * np.tan(t) / np.cos(t) ** 2),
    "tanh(t)": lambda t: (1 - np.tanh(t) ** 2, -2 * np.tanh(t) * (1 - np.tanh(t) ** 2)),
    "atan(t)": lambda t: (1 / (1 + t * t), -2 * t / (1 + t * t) ** 2),
    "exp(-t ** 2)": lambda t: (-2 * t * np.exp(-t * t), (4 * t * t - 2) * np.exp(-t * t)),
    "min(t, 0) + max(t, -3) + floor(t + 0.25)": lambda t: (1.0 * (t < 0) + 1.0 * (t > -3) + 0.5 * (t == 0), 0),
}


def module(text, parents=("t",), **constants):
    return Formula.from_parameters(
        Formula.parameters()(family="formula", expression=text, constants=constants), parents
    )


def value(component, t):
    return component(t[None])


#: Jitted over the formula as well, so that all of them are one program.
reverse = jax.jit(jax.vmap(jax.grad(value, argnums=1), in_axes=(None, 0)))
forward = jax.jit(jax.vmap(jax.jacfwd(value, argnums=1), in_axes=(None, 0)))
hessian = jax.jit(jax.vmap(jax.hessian(value, argnums=1), in_axes=(None, 0)))
twice_reverse = jax.jit(jax.vmap(jax.grad(jax.grad(value, argnums=1), argnums=1), in_axes=(None, 0)))


@functools.partial(jax.jit)
@functools.partial(jax.vmap, in_axes=(None, 0))
def in_constants(component, t):
    def of(constants):
        return Formula(constants, component.operation, component.arguments, component.output)(t[None])

    return jax.grad(of)(component.constants), jax.hessian(of)(component.constants)


def test_every_function_is_here():
    assert all(any(f"{name}(" in text for text in CLOSED_FORMS) for name in FUNCTIONS)


@pytest.mark.parametrize("text", CLOSED_FORMS)
def test_first_and_second_derivatives(text):
    t = np.array(VALUES, np.float32)
    component = module(text)
    with np.errstate(all="ignore"):
        first, second = np.array([CLOSED_FORMS[text](x) for x in t.astype(float)], float).T
    near = (t == 0) | (np.abs(t) > 0.1) & (np.abs(t) < 10.0)  # elsewhere float32 overflows on the way
    for derivative, expected in ((reverse, first), (forward, first), (hessian, second), (twice_reverse, second)):
        found = np.asarray(derivative(component, t))
        assert np.isfinite(found).all(), (derivative, found)
        np.testing.assert_allclose(found[near], expected[near], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("text", CLOSED_FORMS)
def test_derivatives_in_literals_are_finite(text):
    gradient, curvature = in_constants(module(text), jnp.array(VALUES, jnp.float32))
    assert jnp.isfinite(gradient).all() and jnp.isfinite(curvature).all()


def test_derivatives_in_the_exponent():
    gradient, _ = in_constants(module("t ** k", k=3.5), jnp.array([-1.0, 0.0, 0.5, 2.0]))
    expected = [0.0, 0.0, 0.5**3.5 * np.log(0.5), 2.0**3.5 * np.log(2.0)]
    np.testing.assert_allclose(gradient[:, 0], expected, rtol=1e-5)


@pytest.mark.parametrize("text", ["a ** b", "a / b", "a * b ** 2", "exp(a) * log(b)", "atan(a / b)"])
def test_mixed_second_derivatives(text):
    """The Hessian is that of the formula, by central differences, and symmetric."""
    component, expression, x, h = module(text, ("a", "b")), parse(text, ["a", "b"], {}), np.array([0.7, 1.3]), 1e-4
    found = jax.hessian(lambda x: component(x))(jnp.asarray(x, jnp.float32))
    f = lambda v: float(expression.evaluate(dict(zip("ab", v, strict=True))))  # noqa: E731
    e = np.eye(2) * h
    expected = [[(f(x + p + q) - f(x + p - q) - f(x - p + q) + f(x - p - q)) / (4 * h * h) for q in e] for p in e]
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(found, found.T, rtol=1e-5)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("text", CLOSED_FORMS)
def test_what_is_not_a_number_adds_nothing_to_a_gradient(text, bad):
    """Reverse mode multiplies by 0 what an intervention cuts off; 0 has to come out."""
    component = module(text)
    t = jnp.array([bad], jnp.float32)
    assert jnp.isfinite(reverse(component, t)).all() and jnp.isfinite(hessian(component, t)).all()
