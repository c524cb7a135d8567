"""Families that a user defines: what is wrong with a class is told when it is defined, what pads wrongly when used."""

import copy
import pickle
from typing import Annotated, ClassVar, Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Bool, Float, Int
from pydantic import BaseModel, Field

from mechanisms import registry
from mechanisms.base import (
    REGISTRY,
    Array,
    Blueprint,
    Component,
    FamilyError,
    Mechanism,
    Noise,
    Number,
    ParameterError,
    Parameters,
    Root,
    check_padding,
    layout,
    param,
    stack,
)
from mechanisms.parameters import FrozenDict, Many


@pytest.fixture(autouse=True)
def families_are_forgotten():
    before = copy.deepcopy({kind: dict(known) for kind, known in REGISTRY.items()})
    yield
    for kind, known in REGISTRY.items():
        known.clear()
        known.update(before[kind])


def blueprint(cls, parents="abc", **parameters):
    return Blueprint(cls, cls.arrays(cls.parameters()(family=cls.family, **parameters), list(parents)))


# What a family is called


def test_a_built_in_family_cannot_be_replaced():
    with pytest.raises(FamilyError, match="'linear_additive' is already mechanisms.linear_additive.LinearAdditive"):

        class LinearAdditive(Mechanism, family="linear_additive"):
            __qualname__ = "LinearAdditive"

            def __call__(self, parents):
                return jnp.sum(parents)

    assert registry.families("mechanism")["linear_additive"].__module__ == "mechanisms.linear_additive"


def test_a_cell_can_be_run_again():
    def cell(weight):
        class Own(Mechanism, family="own"):
            def __call__(self, parents):
                return weight * jnp.sum(parents)

        return Own

    first, second = cell(1.0), cell(2.0)
    assert first is not second and registry.families("mechanism")["own"] is second
    assert "own" not in registry.shipped("mechanism") and "linear_additive" in registry.shipped("mechanism")


# How fields are declared


def define(annotation, value=None, kind: type = Mechanism, **more):
    """A family with one field `w`."""
    body = {"__annotations__": {"w": annotation}, "__call__": lambda self, *_: self.w, "__qualname__": "Own", **more}
    if value is not None:
        body["w"] = value
    return type(kind)("Own", (kind,), body, family="own")


@pytest.mark.parametrize(
    "annotation, value, words",
    [
        (float, None, ["'w' of Own", "annotated as float", 'Float[Array, "..."]']),
        (float, 1.0, ["'w' of Own", "annotated as float"]),
        (int, eqx.field(static=True), ["'w' of Own", "static", "constant of the file"]),
        (jnp.ndarray, param("x"), ["'w' of Own", "Array", 'Float[Array, "..."]']),
        (Bool[Array, ""], param("x"), ["'w' of Own", "Bool"]),
        (Float[Array, ""], 1.0, ["'w' of Own", "plain default", "default=..."]),
        (Float[Array, ""], eqx.field(default=1.0), ["'w' of Own", "plain default"]),
        (Float[Array, ""], eqx.field(converter=jnp.asarray), ["'w' of Own", "expected param(...)"]),
        (Float[Array, "3"], param("x"), ["'w' of Own", "dimension '3'", "a name"]),
        (Float[Array, "..."], param("x"), ["'w' of Own", "dimension '...'"]),
        (Float[Array, "*n"], param("x"), ["'w' of Own", "dimension '*n'"]),
        (Float[Array, ""], param("x", choices=("a", "b")), ["'w' of Own", "has choices", "Int[Array"]),
        (Int[Array, ""], param("x", pad=0.5), ["'w' of Own", "pad 0.5", "whole number"]),
        ("Float[Array, '']", param("x"), ["'w' of Own", "from __future__ import annotations"]),
    ],
)
def test_a_field_that_cannot_be_one(annotation, value, words):
    with pytest.raises(TypeError) as caught:
        define(annotation, value)
    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert "own" not in registry.families("mechanism")


def test_a_field_without_annotation_and_one_with_the_name_of_the_family():
    with pytest.raises(FamilyError, match="'w' of Own has no annotation"):
        define(Float[Array, ""], None, v=1.0, __annotations__={}, w=param("x"))
    with pytest.raises(FamilyError, match="'family' of .*Own has a name"):

        class Own(Mechanism, family="own"):
            family: Float[Array, ""] = param("x")

            def __call__(self, parents):
                return self.family


def test_inherited_fields_are_checked_and_class_variables_are_not_fields():
    class Base(Mechanism):
        w: float

    with pytest.raises(FamilyError, match="'w' of .*Own is annotated as float"):

        class Own(Base, family="own"):
            def __call__(self, parents):
                return self.w

    class Good(Mechanism, family="good"):
        limit: ClassVar[float] = 3.0
        w: Float[Array, "parents"]

        def __call__(self, parents):
            return jnp.clip(jnp.sum(self.w * parents), -self.limit, self.limit)

    assert layout(Good) == {"w": (("parents",), 0.0)}
    assert blueprint(Good, w=[1, 2, 3]).arrays["w"].tolist() == [1.0, 2.0, 3.0]


def test_a_class_without_equation_kind_or_prior():
    for kind, takes in ((Mechanism, "parents"), (Noise, "signal, u, parents"), (Root, "u")):
        with pytest.raises(FamilyError, match=rf"'own' has no equation: define __call__\(self, {takes}\)"):
            type(kind)("Own", (kind,), {}, family="own")
    with pytest.raises(FamilyError, match="expected a subclass of Mechanism, Noise or Root"):
        type(Component)("Own", (Component,), {}, family="own")
    with pytest.raises(FamilyError, match="'own' calibrates 'scale', which is not a field"):
        define(Float[Array, ""], param("x"), Noise, calibrated=("scale",))
    for kind in (Mechanism, Noise, Root):
        own = define(Float[Array, ""], param("x"), kind)
        with pytest.raises(NotImplementedError, match=f"{own.kind} family 'own' has no prior.*define .*prior"):
            own.prior(np.random.default_rng(0), *([["a"]] if kind is Mechanism else []))


def test_integer_fields_are_integers():
    own = define(Int[Array, "parents"], param("powers", ge=0, pad=1))
    arrays = blueprint(own, w=[1, 2, 3]).arrays
    assert arrays["w"].dtype == np.int32 and stack([Blueprint(own, arrays)], 8, np.float32).w.dtype == np.int32
    assert own.from_parameters(own.parameters()(family="own", w=(1,)), ["a"]).w.dtype == jnp.int32
    for wrong in ([1.5, 2, 3], [True, 2, 3], [-1, 2, 3], [2**31, 2, 3]):
        with pytest.raises(ValueError):
            own.parameters()(family="own", w=wrong)


def test_defaults_are_checked_like_what_a_spec_says():
    own = define(Float[Array, ""], param("x", gt=0, default=0.0))
    with pytest.raises(ValueError, match="greater than 0"):
        own.parameters()(family="own")


# What a spec may hold


@pytest.mark.parametrize(
    "value, message",
    [
        ([[1, 2, 3], [1, 2]], "has rows of different lengths, expected one length"),
        ([[1, 2, 3], []], "has rows of different lengths"),
        ([], "is empty, expected one or more"),
        ([[], []], r"is empty, expected 3 \(one per parent: a, b, c\)"),
        ([[1, 2], [1, 2]], r"has 2 entries, expected 3 \(one per parent: a, b, c\)"),
    ],
)
def test_ragged_and_empty_lists_name_the_field(value, message):
    own = define(Float[Array, "rows parents"], param("x"))
    with pytest.raises(ParameterError, match=message) as caught:
        blueprint(own, w=value)
    assert caught.value.field == "w"
    cube = define(Float[Array, "rows columns parents"], param("x"))
    with pytest.raises(ParameterError, match="different lengths"):
        blueprint(cube, w=[[[1, 2, 3]], [[1, 2, 3], [1, 2, 3]]])
    with pytest.raises(ParameterError, match="different lengths"):
        blueprint(cube, w=[[[1, 2, 3]], [[1, 2]]])


def test_an_empty_list_of_parents_parameters():
    own = define(Float[Array, "parents"], param("x"))
    with pytest.raises(ParameterError, match="is empty, expected 3"):
        blueprint(own, w=[])


def test_numbers_are_those_of_float32():
    own = define(Float[Array, ""], param("x", gt=0)).parameters()
    for wrong in (1e-46, 1.1e-38, 1e39, 0.0, -0.0, float("nan")):
        with pytest.raises(ValueError):
            own(family="own", w=wrong)
    assert np.float32(own(family="own", w=1.2e-38).w) > 0
    free = define(Float[Array, ""], param("x")).parameters()
    zero = free(family="own", w=-0.0)
    assert str(zero.w) == "0.0" and zero == free(family="own", w=0) and hash(zero) == hash(free(family="own", w=0))
    with pytest.raises(ValueError, match="0 or a number that float32 can hold"):
        free(family="own", w=-1e-39)


@pytest.mark.parametrize("value", [{1.0}, frozenset({1.0}), {1.0: 2.0}, {1.0: 2.0}.values(), iter([1.0]), "1", 1.0])
def test_only_lists_and_tuples_are_lists(value):
    own = define(Float[Array, "parents"], param("x")).parameters()
    with pytest.raises(ValueError, match="Input should be a list"):
        own(family="own", w=value)
    assert own(family="own", w=[1.0]) == own(family="own", w=(1.0,))


@pytest.mark.parametrize("kind, family", [(kind, family) for kind in REGISTRY for family in REGISTRY[kind]])
def test_every_list_of_every_family_takes_only_lists(kind, family):
    from test_families import draw

    cls, parameters, _ = draw(kind, family)
    data = parameters.model_dump()
    for field, value in data.items():
        if isinstance(value, tuple):
            for wrong in (iter(value), {i: v for i, v in enumerate(value)}.values()):
                with pytest.raises(ValueError, match="should be a list"):
                    cls.parameters().model_validate({**data, field: wrong})


def test_a_frozen_dict():
    frozen = FrozenDict(a=1, b=2)
    for change in (
        lambda d: d.__setitem__("a", 2), lambda d: d.pop("a"), lambda d: d.popitem(), lambda d: d.clear(),
        lambda d: d.update(a=2), lambda d: d.setdefault("c", 1), lambda d: d.__delitem__("a"), lambda d: d.__ior__({}),
    ):  # fmt: skip
        with pytest.raises(TypeError, match="cannot be changed"):
            change(frozen)
    for other in (pickle.loads(pickle.dumps(frozen)), copy.deepcopy(frozen), copy.copy(frozen)):
        assert other == frozen == {"a": 1, "b": 2} and type(other) is FrozenDict
    assert hash(frozen) == hash(FrozenDict(b=2, a=1)) and type(frozen.copy()) is dict


@pytest.mark.parametrize("kind, family", [(kind, family) for kind in REGISTRY for family in REGISTRY[kind]])
def test_parameters_pickle_copy_and_hash(kind, family):
    from test_families import draw

    _, parameters, _ = draw(kind, family)
    for again in (pickle.loads(pickle.dumps(parameters)), copy.deepcopy(parameters), copy.copy(parameters)):
        assert again == parameters and hash(again) == hash(parameters) and type(again) is type(parameters)


def test_errors_pickle():
    error = pickle.loads(pickle.dumps(ParameterError("w", "is wrong")))
    assert (error.field, error.message, str(error)) == ("w", "is wrong", "is wrong")


def test_models_inside_parameters():
    class Curve(BaseModel, frozen=True, extra="forbid"):
        gain: Annotated[Number, Field(gt=0)]

    class Own(Mechanism, family="own"):
        gain: Float[Array, "curves"] = param("gains")

        @classmethod
        def parameters(cls):
            class OwnParameters(Parameters, frozen=True):
                family: Literal["own"]
                curves: Many[Curve]

            return OwnParameters

        @classmethod
        def arrays(cls, parameters, parents):
            return {"gain": np.array([curve.gain for curve in parameters.curves])}

        def __call__(self, parents):
            return jnp.sum(self.gain) * jnp.sum(parents)

    check_padding(blueprint(Own, curves=[{"gain": 1.0}]), 3)


# Padding


class Good(Mechanism):
    weight: Float[Array, "parents"] = param("x")
    hidden: Float[Array, "hidden"] = param("x", default=(1.0, 2.0))

    def __call__(self, parents):
        return jnp.sum(self.weight * parents) + jnp.sum(self.hidden)


WRONG = {
    "product": lambda self, parents: jnp.prod(parents),
    "mean": lambda self, parents: jnp.mean(self.weight * parents),
    "last": lambda self, parents: parents[-1],
    "length": lambda self, parents: jnp.sum(parents) / parents.shape[0],
    "minimum": lambda self, parents: jnp.min(self.weight * parents),
    "maximum": lambda self, parents: jnp.max(self.weight * parents),
    "exponentials": lambda self, parents: jnp.sum(jnp.exp(self.weight * parents)),
    "median": lambda self, parents: jnp.median(parents),
    "hidden": lambda self, parents: jnp.sum(self.weight * parents) + jnp.prod(self.hidden),
}
RIGHT = {
    "sum": lambda self, parents: jnp.sum(self.weight * parents),
    "product": lambda self, parents: jnp.prod(1.0 + self.weight * parents),
    "undefined": lambda self, parents: jnp.sum(self.weight * jnp.sqrt(parents)),
    "steep": lambda self, parents: jnp.sin(1e4 * jnp.sum(self.weight * parents)),
    "step": lambda self, parents: jnp.where(jnp.sum(self.weight * parents) > 0.37, 1.0, 0.0),
    "large": lambda self, parents: jnp.exp(50.0 * jnp.sum(self.weight * parents)),
}


def family(equation, kind=Mechanism):
    return type(Good)("Own", (Good,), {"__call__": equation}, family="own")


@pytest.mark.parametrize("n_parents", [1, 3, 8])
@pytest.mark.parametrize("name", WRONG)
def test_padding_that_changes_the_result_is_refused(name, n_parents):
    if n_parents == 1 and name == "exponentials":
        n_parents = 2
    own = blueprint(
        family(WRONG[name]), "abcdefgh"[:n_parents], weight=[0.5, -0.7, 0.9, 1.1, 0.4, 0.8, 0.6, 0.3][:n_parents]
    )
    for _ in range(2):  # also the second time
        with pytest.raises(
            FamilyError, match="mechanism family 'own' computes .* padded to .* multiply by a weight, or"
        ):
            check_padding(own, n_parents)


@pytest.mark.parametrize("n_parents", [1, 3, 8])
@pytest.mark.parametrize("name", RIGHT)
def test_padding_that_does_nothing_is_fine(name, n_parents):
    weight = [0.5, -0.7, 0.9, 1.1, 0.4, 0.8, 0.6, 0.3][:n_parents]
    check_padding(blueprint(family(RIGHT[name]), "abcdefgh"[:n_parents], weight=weight), n_parents)


def test_padding_is_checked_once_for_each_set_of_padded_dimensions():
    calls = []

    def equation(self, parents):
        calls.append(self.hidden.shape)
        return jnp.sum(self.weight * parents) + jnp.prod(self.hidden)

    own = family(equation)
    full = blueprint(own, weight=[1, 2, 3], hidden=[1.0] * 8)
    check_padding(full, 3)
    seen = len(calls)
    check_padding(full, 3)
    assert len(calls) == seen > 0
    with pytest.raises(FamilyError):
        check_padding(blueprint(own, weight=[1, 2, 3], hidden=[1.0] * 7), 3)


@pytest.mark.parametrize(
    "equation, words",
    [
        (lambda self, parents: jnp.sum(parents) > 0, ["gives bool[]", "float32"]),
        (lambda self, parents: jnp.sum(parents > 0), ["gives int32[]"]),
        (lambda self, parents: self.weight * parents, ["gives float32[3]", "one number"]),
        (lambda self, parents: jnp.sum(parents)[None], ["gives float32[1]"]),
        (lambda self, parents: None, ["gives NoneType"]),
        (lambda self, parents: 1.0 if parents[0] > 0 else 0.0, ["cannot be computed", "TracerBool"]),
        (lambda self, parents, more: 0.0, ["cannot be computed: TypeError"]),
        (lambda self, parents: jnp.sum(parents * jnp.ones(3)), ["cannot be computed: TypeError"]),
    ],
)
def test_what_an_equation_gives(equation, words):
    with pytest.raises(FamilyError) as caught:
        check_padding(blueprint(family(equation), weight=[1, 2, 3]), 3)
    message = str(caught.value)
    assert "mechanism family 'own'" in message and all(word in message for word in words), message
    assert "\n" not in message


def test_noises_and_roots_are_checked_too():
    noise = define(Float[Array, ""], param("x"), Noise, __call__=lambda self, signal, u, parents: signal + parents[-1])
    with pytest.raises(FamilyError, match="noise family 'own' computes"):
        check_padding(blueprint(noise, w=1.0), 3)
    root = define(Float[Array, "levels"], param("x"), Root, __call__=lambda self, u: u + jnp.mean(self.w))
    with pytest.raises(FamilyError, match="root family 'own' computes"):
        check_padding(blueprint(root, "", w=[1.0, 2.0]), 0)
    padded = define(Float[Array, "levels"], param("x", pad=1), Root, __call__=lambda self, u: u * jnp.prod(self.w))
    check_padding(blueprint(padded, "", w=[1.0, 2.0]), 0)


@pytest.mark.parametrize(
    "arrays, message",
    [
        ({}, "gives nothing for its field 'w', expected \\[parents\\]"),
        ({"w": np.ones((2, 3))}, "gives an array of shape \\[2, 3\\] for its field 'w', expected \\[parents\\]"),
        ({"w": np.ones(3, int)}, "gives int64 for its field 'w', expected floats"),
        ({"w": np.ones(3), "v": np.ones(3)}, "gives an array 'v', which is not a field"),
    ],
)
def test_arrays_that_do_not_fit_the_fields(arrays, message):
    own = define(Float[Array, "parents"], param("x"))
    with pytest.raises(FamilyError, match=message):
        check_padding(Blueprint(own, arrays), 3)
