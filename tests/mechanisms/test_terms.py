"""Terms against formulas written out in numpy, and what a term may not be."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mechanisms import registry
from mechanisms.base import Blueprint, ParameterError
from mechanisms.terms import FACTORS, OPS, Terms

A, B, C = (np.random.default_rng(k).uniform(0.2, 4.0, 500).astype(np.float32) for k in range(3))
C = np.round(C)


def build(*terms, parents=("a", "b", "c"), bias=0.0):
    parameters = Terms.parameters().model_validate({"family": "terms", "terms": list(terms), "bias": bias})
    return Terms.from_parameters(parameters, list(parents))


def run(*terms, parents=("a", "b", "c"), **options):
    table = jnp.stack([dict(a=A, b=B, c=C)[name] for name in parents])
    return np.asarray(jax.jit(lambda component, x: component.over(x))(build(*terms, parents=parents, **options), table))


def z(v, at, scale):
    return (v - at) / scale


TERMS = {
    "linear": ({"op": "linear", "operand": "a", "weight": 1.5, "at": 1.0, "scale": 2.0}, 1.5 * z(A, 1, 2)),
    "threshold": (
        {"op": "threshold", "operand": "a", "weight": -0.5, "at": 1.5, "scale": 0.5},
        -0.5 * np.maximum(z(A, 1.5, 0.5), 0),
    ),
    "step": ({"op": "step", "operand": "a", "weight": 2.0, "at": 1.5}, 2.0 * (A > 1.5)),
    "bump": (
        {"op": "bump", "operand": "a", "weight": -2.0, "at": 2.0, "scale": 0.7},
        -2.0 * np.exp(-0.5 * z(A, 2, 0.7) ** 2),
    ),
    "interaction": (
        {"op": "interaction", "operand": "a", "by": "b", "weight": 0.3, "at": 1.0, "scale": 2.0, "by_at": 2.0,
         "by_scale": 0.5},
        0.3 * z(A, 1, 2) * z(B, 2, 0.5),
    ),
    "gate above": (
        {"op": "gate", "operand": "a", "by": "b", "weight": 0.7, "at": 0.0, "scale": 1.0, "by_at": 2.0},
        0.7 * A * (B > 2.0),
    ),
    "gate level": (
        {"op": "gate", "operand": "a", "by": "c", "weight": 0.7, "at": 0.0, "scale": 1.0, "level": 2},
        0.7 * A * (C == 2),
    ),
    "conjunction": (
        {"op": "conjunction", "operand": "a", "by": "b", "weight": 3.0, "at": 1.0, "by_at": 2.0},
        3.0 * (A > 1.0) * (B > 2.0),
    ),
    "category": ({"op": "category", "operand": "c", "weight": -1.0, "level": 3.0}, -1.0 * (C == 3)),
    "log": (
        {"op": "linear", "operand": {"op": "log", "of": ["a"]}, "weight": 1.0, "at": 0.0, "scale": 1.0},
        np.log(A),
    ),
    "ratio": (
        {"op": "step", "operand": {"op": "ratio", "of": ["a", "b"]}, "weight": 1.0, "at": 1.0},
        1.0 * (A / B > 1.0),
    ),
    "product": (
        {"op": "bump", "operand": {"op": "product", "of": ["a", "b"]}, "weight": 1.0, "at": 3.0, "scale": 2.0},
        np.exp(-0.5 * z(A * B, 3, 2) ** 2),
    ),
    "derived moderator": (
        {"op": "conjunction", "operand": "c", "by": {"op": "ratio", "of": ["b", "a"]}, "weight": 1.0, "at": 1.5,
         "by_at": 0.8},
        1.0 * (C > 1.5) * (B / A > 0.8),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TERMS)
def test_each_term_is_its_formula(name):
    term, expected = TERMS[name]
    used = {"op": "linear", "operand": "a", "weight": 0.0, "at": 0.0, "scale": 1.0}
    rest = [used | {"operand": other} for other in "abc"]
    np.testing.assert_allclose(run(term, *rest), expected, rtol=2e-5, atol=2e-5)


def test_terms_add_up_and_every_op_is_covered():
    assert {term["op"] for term, _ in TERMS.values()} == set(FACTORS)
    expected = 0.25 + sum(values for _, values in TERMS.values())
    np.testing.assert_allclose(run(*(term for term, _ in TERMS.values()), bias=0.25), expected, rtol=1e-4, atol=1e-4)


def test_one_unit_and_many_agree():
    component = build(*(term for term, _ in TERMS.values()))
    many = run(*(term for term, _ in TERMS.values()))
    x = np.stack([A, B, C])
    one = np.asarray(jax.jit(jax.vmap(component, in_axes=1))(x[:, :50]))
    np.testing.assert_allclose(one, many[:50], rtol=1e-6, atol=1e-6)
    shuffled = np.stack([C, A, A, B])
    rows = jnp.array([1, 3, 0])
    np.testing.assert_allclose(component.over(jnp.asarray(shuffled), rows)[:50], many[:50], rtol=1e-6, atol=1e-6)


def test_specs_of_up_to_32_terms_share_a_bank():
    one = Blueprint(Terms, Terms.arrays(_parameters([TERMS["linear"][0]]), ["a"]))
    many = Blueprint(Terms, Terms.arrays(_parameters([TERMS["linear"][0]] * 32), ["a"]))
    assert one.bucket() == many.bucket()


def test_derived_operands_stay_finite():
    x = jnp.array([[0.0, -1.0], [0.0, 1e-9]], jnp.float32)
    for op in ("log", "ratio", "product"):
        operand = {"op": op, "of": ["a", "b"][: 1 if op == "log" else 2]}
        term = {"op": "linear", "operand": operand, "weight": 1.0, "at": 0.0, "scale": 1.0}
        parents = operand["of"]
        assert np.isfinite(build(term, parents=parents).over(x[: len(parents)])).all()


def test_gradients_of_smooth_terms():
    component = build(*(TERMS[name][0] for name in ("linear", "bump", "interaction", "log", "product", "category")))
    point = jnp.array([1.3, 2.1, 2.0])
    slope = jax.grad(lambda x: component(x))(point)
    step = 1e-2
    for k in range(2):
        moved = [float(component(point.at[k].add(sign * step))) for sign in (1, -1)]
        assert float(slope[k]) == pytest.approx((moved[0] - moved[1]) / (2 * step), rel=2e-2)


@pytest.mark.parametrize("archetype", OPS)
def test_every_archetype_has_an_op(archetype):
    assert set(OPS[archetype]) <= set(FACTORS)


LINEAR = {"op": "linear", "operand": "a", "weight": 1.0}


def _parameters(terms):
    return registry.families("mechanism")["terms"].parameters().model_validate({"family": "terms", "terms": terms})


@pytest.mark.parametrize(
    "term, word",
    [
        (LINEAR | {"op": "linaer"}, "Input should be 'linear'"),
        (LINEAR | {"weight": float("nan")}, "finite"),
        (LINEAR | {"scale": 0.0}, "greater than 0"),
        (LINEAR | {"quantile": 1.0}, "less than 1"),
        (LINEAR | {"by": "b"}, "expected none"),
        (LINEAR | {"op": "gate"}, "'gate' is about two operands"),
        (LINEAR | {"op": "gate", "by": "a"}, "expected another parent"),
        (LINEAR | {"op": "gate", "by": "b", "level": 1.0, "by_at": 0.0}, "one of the two"),
        (LINEAR | {"op": "category"}, "singles out one level"),
        (LINEAR | {"level": 1.0}, "expected none in 'linear'"),
        (LINEAR | {"operand": {"op": "ratio", "of": ["a"]}}, "expected 2 for 'ratio'"),
        (LINEAR | {"operand": {"op": "product", "of": ["a", "a"]}}, "two different parents"),
        (LINEAR | {"operand": 3}, "valid dictionary"),
        (LINEAR | {"label": "x"}, "is missing beside 'label'"),
        (LINEAR | {"label": "x", "archetype": "non_monotone"}, "which the ops bump show"),
        (LINEAR | {"label": "x", "archetype": "derived_feature"}, "expected log, ratio or product"),
        (LINEAR | {"label": "x", "archetype": "simpsons_paradox", "weight": 0.0}, "expected an effect"),
    ],
)
def test_refused(term, word):
    with pytest.raises(ValueError, match=word):
        _parameters([term])


def test_refused_for_its_parents():
    with pytest.raises(ParameterError, match="names 'd', expected parents: a, b"):
        Terms.arrays(_parameters([LINEAR | {"operand": "d"}]), ["a", "b"])
    with pytest.raises(ParameterError, match="do not use the parent 'b'"):
        Terms.arrays(_parameters([LINEAR]), ["a", "b"])
    with pytest.raises(ValueError, match="label 'x' twice"):
        _parameters([LINEAR | {"label": "x", "archetype": "simpsons_paradox"}] * 2)
