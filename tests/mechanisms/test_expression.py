"""The formula language: what it computes, and what it refuses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mechanisms import registry
from mechanisms.expression import FUNCTIONS, ExpressionError, parse
from mechanisms.formula import Formula

A, B = np.random.default_rng(0).uniform(0.2, 0.9, size=(2, 50))

FORMULAS = {
    "a + b": A + B,
    "a - 2 * b": A - 2 * B,
    "a / b": A / B,
    "a ** b": A**B,
    "a ** 2 + b ** 3": A**2 + B**3,
    "-a * b": -A * B,
    "(a - 1) ** 2 * b": (A - 1) ** 2 * B,
    "a * exp(g * b / (R * 2.5))": A * np.exp(9.81 * B / (287.05 * 2.5)),
    "log(a) + sqrt(b)": np.log(A) + np.sqrt(B),
    "sin(a) + cos(b) - tan(a)": np.sin(A) + np.cos(B) - np.tan(A),
    "asin(a) + acos(b) + atan(a)": np.arcsin(A) + np.arccos(B) + np.arctan(A),
    "tanh(a) * abs(-b)": np.tanh(A) * B,
    "min(a, b) + 3 * max(a, b)": np.minimum(A, B) + 3 * np.maximum(A, B),
    "floor(10 * a) + b": np.floor(10 * A) + B,
    "where(a < b, a, 2 * b)": np.where(A < B, A, 2 * B),
    "where(a >= 0.5, 1, b)": np.where(A >= 0.5, 1, B),
    "(a > b) + (a <= 0.5)": (A > B) + (A <= 0.5) * 1.0,
    "2 * pi * a + b": 2 * np.pi * A + B,
    "+a * 1e-3 + b": A * 1e-3 + B,
}
CONSTANTS = {"g": 9.81, "R": 287.05}


@pytest.mark.parametrize("text", FORMULAS)
def test_numpy_and_compiled_agree_with_the_formula(text):
    constants = {k: v for k, v in CONSTANTS.items() if f"{k} " in text or f"{k})" in text}
    expression = parse(text, ["a", "b"], constants)
    np.testing.assert_allclose(expression.evaluate({"a": A, "b": B}), FORMULAS[text], rtol=1e-12)
    parameters = Formula.parameters()(family="formula", expression=text, constants=constants)
    module = Formula.from_parameters(parameters, ["a", "b"])
    values = jax.jit(jax.vmap(lambda x: module(x)))(jnp.asarray(np.stack([A, B], 1), jnp.float32))
    np.testing.assert_allclose(values, FORMULAS[text], rtol=2e-5, atol=1e-5)


def test_every_function_is_tested():
    assert all(any(f"{name}(" in text for text in FORMULAS) for name in FUNCTIONS)


@pytest.mark.parametrize(
    "text", ["a * b", "a / b", "a ** b", "a**2 - log(b)", "sqrt(a) * exp(-b**2)", "tanh(a) + sin(b)"]
)
def test_gradient_is_that_of_the_formula(text):
    parameters = Formula.parameters()(family="formula", expression=text)
    module = Formula.from_parameters(parameters, ["a", "b"])
    slope = jax.grad(lambda x: module(x))(jnp.array([0.6, 0.4], jnp.float32))
    expression, h = parse(text, ["a", "b"], {}), 1e-6
    for k, name in enumerate("ab"):
        high, low = {"a": 0.6, "b": 0.4}, {"a": 0.6, "b": 0.4}
        high[name] += h
        low[name] -= h
        reference = (expression.evaluate(high) - expression.evaluate(low)) / (2 * h)
        np.testing.assert_allclose(slope[k], reference, rtol=1e-3)


@pytest.mark.parametrize(
    "text, word",
    [
        ("__import__('os')", "__import__"),
        ("__import__('os').system('true') + a + b", "not allowed"),
        ("a.__class__ + b", "not allowed"),
        ("eval('a') + b", "eval"),
        ("(lambda: a)() + b", "not allowed"),
        ("[a, b][0]", "not allowed"),
        ("a if b else a", "not allowed"),
        ("a and b", "not allowed"),
        ("'a' + b", "only numbers"),
        ("True * a + b", "only numbers"),
        ("1j * a + b", "only numbers"),
        ("f'{a}' + b", "not allowed"),
        ("(c := a) + b", "not allowed"),
        ("a < b < 1", "not allowed"),
        ("a % b", "not allowed"),
        ("a @ b", "not allowed"),
        ("~a + b", "not allowed"),
        ("exp(a, b)", "with 2 arguments, expected 1"),
        ("exp(x=a) + b", "arguments are positional: exp(a)"),
        ("where(a, b, c=1)", "arguments are positional: where(a, b, 1)"),
        ("expp(a) + b", "did you mean 'exp'"),
        ("a + bb", "did you mean 'b'"),
        ("a +", "not a formula"),
        ("a; b", "not a formula"),
        ("a = b", "not a formula"),
        ("", "not a formula"),
        ("a + b\x00", "not a formula"),
        ("a + b + 1e999", "float32 cannot hold"),
        ("a + b + " + "9" * 400, "float32 cannot hold"),
        ("a + b * 1e39", "float32 cannot hold: 1e+39"),
        ("a + b * 1e-50", "float32 cannot hold: 1e-50"),
        ("a + b * -4e38", "float32 cannot hold: -4e+38"),
        ("1e30 * 1e30 * a + b", "computes a number from constants that float32 cannot hold: 1e+60"),
        ("a + b / (1e-20 * 1e-20)", "float32 cannot hold: 1e-40"),
        ("a + b + 1 / 0", "float32 cannot hold: inf"),
        ("a + b + log(-1)", "float32 cannot hold: nan"),
        ("a", "does not use the parent 'b'"),
        ("a + b" + " + a" * 600, "characters long"),
        ("(" * 300 + "a + b" + ")" * 300, "not a formula"),
        ("-" * 900 + "a + b", "operations|nested"),
    ],
)
def test_refused(text, word):
    with pytest.raises(ExpressionError) as caught:
        parse(text, ["a", "b"], {})
    assert any(each in str(caught.value) for each in word.split("|"))


@pytest.mark.parametrize(
    "text, instead",
    [
        ("a ^ 2 + b", "** for a power"),
        ("a > 0 & b > 0", "each comparison in parentheses"),
        ("0 < a < b", "(0 < a) * (a < b)"),
        ("a if b > 0 else 1", "where(b > 0, a, 1)"),
        ("a > 0 and b > 0", "(a > 0) * (b > 0)"),
        ("a > 0 or b > 0 or a > b", "max(a > 0, max(b > 0, a > b))"),
        ("not a + b", "where(a + b, 0, 1)"),
        ("a == b", "(a <= b) * (a >= b)"),
        ("a != b", "(a < b) + (a > b)"),
        ("a % b", "a - b * floor(a / b)"),
        ("a // b", "floor(a / b)"),
        ("(a > 0) & (b > 0)", "(a > 0) * (b > 0)"),
        ("(a > 0) | (b > 0)", "max(a > 0, b > 0)"),
        ("np.exp(a) + b", "exp(a)"),
        ("2(a + b)", "2 * (a + b)"),
        ("a(b + 1)", "a * (b + 1)"),
    ],
)
def test_python_that_is_not_in_the_language_is_told_its_equivalent(text, instead):
    with pytest.raises(ExpressionError) as caught:
        parse(text, ["a", "b"], {})
    assert str(caught.value).endswith(f"not allowed in a formula; write {instead}")
    if " for " not in instead and "each" not in instead:
        parse(f"{instead} + 0 * a * b", ["a", "b"], {})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "text, a, b",
    [
        ("a % b", 5.5, 2.0),
        ("a // b", -5.5, 2.0),
        ("a == b", 1.0, 1.0),
        ("a != b", 1.0, 2.0),
        ("not a", 0.0, 1.0),
        ("a < b < 3", 1.0, 2.0),
    ],
)
def test_the_equivalent_computes_the_same(text, a, b):
    with pytest.raises(ExpressionError) as caught:
        parse(text, ["a", "b"], {})
    instead = str(caught.value).partition("; write ")[2]
    found = parse(f"{instead} + 0 * a * b", ["a", "b"], {}).evaluate({"a": a, "b": b})
    assert found == float(eval(text, {"a": a, "b": b}))


@pytest.mark.parametrize("name", ["wind speed", "class", "lambda", "\u00b5", "2x", "a-b", "", "None"])
def test_names_that_a_formula_cannot_say(name):
    for parents, constants in (([name], {}), (["a"], {name: 1.0})):
        with pytest.raises(ExpressionError, match="cannot be named in a formula; rename it to letters, digits and _"):
            parse("a", parents, constants)
    parse("größe * \u03bc", ["größe", "\u03bc"], {})


def test_constants_are_folded_in_float64():
    """Products of constants may leave float32 on the way, and lose nothing."""
    constants = {"h": 6.62607015e-34, "c": 2.99792458e8, "k": 1.380649e-23}
    expression = parse("h * h * c * c / (k * k) * x", ["x"], constants)
    assert expression.constants == pytest.approx(((6.62607015e-34 * 2.99792458e8 / 1.380649e-23) ** 2,), rel=1e-12)
    assert [name for name, *_ in expression.operations] == ["mul"]
    assert parse("where(1 < 2, 3, 1 / 0) * x", ["x"], {}).constants == (3.0,)


def test_unused_and_clashing_constants_are_refused():
    with pytest.raises(ExpressionError, match="does not use the constant 'k'"):
        parse("a + b", ["a", "b"], {"k": 1.0})
    with pytest.raises(ExpressionError, match="both a parent and a constant"):
        parse("a + b", ["a", "b"], {"a": 1.0})


def test_too_many_operations_are_refused():
    text = " + ".join(f"{i}*a*b" for i in range(2, 180))
    with pytest.raises(ExpressionError, match="operations"):
        parse(text, ["a", "b"], {})


def test_prior_formulas_are_in_the_language():
    formula = registry.families("mechanism")["formula"]
    for seed in range(100):
        drawn = formula.prior(np.random.default_rng(seed), ["X0", "X12", "X3"])
        parse(drawn["expression"], ["X0", "X12", "X3"], drawn["constants"])
