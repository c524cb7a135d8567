"""SCMSpec: exact round trips, and for every kind of mistake one error that names variable and field."""

import collections
import copy
import json
import pickle
import re
from typing import Annotated, Literal

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jaxtyping import Float
from pydantic import BaseModel, Field

import arena
from arena.errors import SpecError
from arena.spec import EdgeSpec, NodeSpec, SCMSpec, json_schema
from arena.spec_errors import did_you_mean
from mechanisms import registry
from mechanisms.base import REGISTRY, Array, Mechanism, Number, Parameters, param
from mechanisms.parameters import Many

GOOD = {
    "schema_version": 1,
    "name": "small",
    "nodes": [
        {"name": "load", "root": {"family": "gaussian", "mean": 0.0, "scale": 1.5}, "unit": "kg", "range": [-9, 9]},
        {"name": "alarm", "kind": "binary", "root": {"family": "bernoulli", "probability": 0.4}},
        {
            "name": "speed",
            "parents": ["load", "alarm"],
            "mechanism": {"family": "linear_additive", "weight": [1.0, -0.5], "bias": 0.1},
            "noise": {"family": "laplace", "scale": 0.2},
        },
        {
            "name": "heat",
            "parents": ["speed"],
            "mechanism": {"family": "formula", "expression": "k * speed**2", "constants": {"k": 0.5}},
        },
        {
            "name": "wear",
            "parents": ["heat", "load"],
            "mechanism": {"family": "rff_gp", "n_features": 64, "length_scale": 1.0, "output_scale": 1.0, "seed": 7},
            "noise": {"family": "heteroskedastic", "base": 0.1, "slope": 0.1},
        },
    ],
    "edges": [
        {"source": "load", "target": "speed", "reason": "a heavier load is moved faster", "sign": "+"},
        {"source": "alarm", "target": "speed", "sign": "-"},
        {"source": "speed", "target": "heat"},
        {"source": "heat", "target": "wear"},
        {"source": "load", "target": "wear"},
    ],
    "factors": {"d": 5, "mechanisms": ["formula", "linear_additive"]},
}


def edited(edit):
    data = copy.deepcopy(GOOD)
    edit({node["name"]: node for node in data["nodes"]}, data)
    return data


def test_round_trip_is_exact():
    spec = SCMSpec.from_dict(GOOD)
    again = SCMSpec.from_json(spec.to_json())
    assert again == spec and again.content_hash == spec.content_hash and again.to_json() == spec.to_json()


def test_hash_names_the_content_not_the_layout():
    spec = SCMSpec.from_dict(GOOD)
    shuffled = json.dumps(dict(reversed(GOOD.items())), indent=7)
    assert SCMSpec.from_json(shuffled).content_hash == spec.content_hash
    other = edited(lambda nodes, data: nodes["load"]["root"].update(scale=1.5000001))
    assert SCMSpec.from_dict(other).content_hash != spec.content_hash


def test_random_specs_round_trip():
    for i in range(20):
        spec = arena.synthetic.sample_spec(jax.random.key(i), d=10, graph=("erdos_renyi", "scale_free")[i % 2])
        assert SCMSpec.from_json(spec.to_json()) == spec


def test_adjacency_follows_the_parents():
    spec = SCMSpec.from_dict(GOOD)
    expected = np.zeros((5, 5), int)
    expected[[0, 1, 2, 3, 0], [2, 2, 3, 4, 4]] = 1
    assert (spec.adjacency == expected).all()


def test_constructor_raises_the_same_error():
    with pytest.raises(SpecError, match="field 'nodes': is missing"):
        SCMSpec(name="x")


MISTAKES = {
    "misspelt field of a component": (
        lambda n, d: n["speed"]["mechanism"].update(wieght=[1.0, 1.0]),
        ["'speed'", "mechanism.wieght", "did you mean 'weight'"],
    ),
    "misspelt field of a node": (lambda n, d: n["speed"].update(parent=[]), ["'speed'", "did you mean 'parents'"]),
    "misspelt field of the spec": (lambda n, d: d.update(node=[]), ["'node'", "did you mean 'nodes'"]),
    "misspelt field of an edge": (lambda n, d: d["edges"][0].update(sing="+"), ["edges.0.sing", "'sign'"]),
    "misspelt family": (
        lambda n, d: n["speed"]["mechanism"].update(family="linear"),
        ["'speed'", "mechanism.family", "did you mean 'linear_additive'", "rff_gp"],
    ),
    "misspelt parent": (
        lambda n, d: n["speed"].update(parents=["laod", "alarm"]),
        ["'speed'", "parents", "did you mean 'load'"],
    ),
    "wrong case": (lambda n, d: n["speed"].update(parents=["Load", "alarm"]), ["did you mean 'load'"]),
    "no family": (lambda n, d: n["speed"]["noise"].pop("family"), ["'speed'", "noise.family", "is missing", "laplace"]),
    "missing parameter": (
        lambda n, d: n["speed"]["mechanism"].pop("bias"),
        ["'speed'", "mechanism.bias", "is missing"],
    ),
    "missing name": (lambda n, d: n["speed"].pop("name"), ["'#3'", "name", "is missing"]),
    "too few weights": (
        lambda n, d: n["speed"]["mechanism"].update(weight=[1.0]),
        ["'speed'", "mechanism.weight", "has 1 entries, expected 2", "load, alarm"],
    ),
    "text for a number": (
        lambda n, d: n["speed"]["mechanism"].update(bias="0.1"),
        ["'speed'", "mechanism.bias", "found '0.1'", "number"],
    ),
    "bool for a number": (lambda n, d: n["speed"]["mechanism"].update(bias=True), ["mechanism.bias", "found True"]),
    "negative scale": (lambda n, d: n["speed"]["noise"].update(scale=-0.2), ["noise.scale", "-0.2", "greater than 0"]),
    "probability over one": (lambda n, d: n["alarm"]["root"].update(probability=1.2), ["'alarm'", "1.2", "equal to 1"]),
    "infinite": (lambda n, d: n["load"]["root"].update(mean=float("inf")), ["'load'", "root.mean", "finite"]),
    "not a number": (lambda n, d: n["load"]["root"].update(mean=float("nan")), ["'load'", "root.mean", "finite"]),
    "beyond float32": (lambda n, d: n["load"]["root"].update(mean=1e300), ["'load'", "root.mean", "1e+300"]),
    "component is not an object": (lambda n, d: n["load"].update(root=3), ["'load'", "root", "found 3", "family"]),
    "node is not an object": (lambda n, d: d.update(nodes=[3]), ["'#1'", "found 3"]),
    "nodes is not a list": (lambda n, d: d.update(nodes=3), ["nodes", "found 3", "list"]),
    "no nodes": (lambda n, d: d.update(nodes=[]), ["nodes", "at least 1"]),
    "empty name": (lambda n, d: n["load"].update(name=""), ["'#1'", "name"]),
    "name with a line break": (lambda n, d: n["load"].update(name="a\nb"), ["name"]),
    "two variables of one name": (lambda n, d: n["alarm"].update(name="load"), ["'load'", "name", "twice"]),
    "cycle": (
        lambda n, d: (
            n["load"].pop("root"),
            n["load"].update(parents=["heat"], mechanism=n["heat"]["mechanism"] | {"expression": "k * heat"}),
        ),  # fmt: skip
        ["parents", "cycle", "->"],
    ),
    "own parent": (lambda n, d: n["heat"].update(parents=["heat"]), ["'heat'", "parents", "itself"]),
    "parent twice": (lambda n, d: n["speed"].update(parents=["load", "load"]), ["'speed'", "'load' more than once"]),
    "no root": (lambda n, d: n["load"].pop("root"), ["'load'", "root", "is missing"]),
    "no mechanism": (lambda n, d: n["heat"].pop("mechanism"), ["'heat'", "mechanism", "is missing"]),
    "root with parents": (lambda n, d: n["heat"].update(root=n["load"]["root"]), ["'heat'", "root", "none"]),
    "mechanism without parents": (lambda n, d: n["heat"].update(parents=[]), ["'heat'", "mechanism", "none"]),
    "noise on a root": (lambda n, d: n["load"].update(noise=n["speed"]["noise"]), ["'load'", "noise"]),
    "kind unknown": (lambda n, d: n["load"].update(kind="integer"), ["'load'", "kind", "'integer'", "continuous"]),
    "range reversed": (lambda n, d: n["load"].update(range=[1, 0]), ["'load'", "range", "low < high"]),
    "uniform reversed": (
        lambda n, d: n["load"].update(root={"family": "uniform", "low": 1.0, "high": 0.0}),
        ["'load'", "root.high", "more than low"],
    ),
    "formula calls": (
        lambda n, d: n["heat"]["mechanism"].update(expression="__import__('os')"),
        ["'heat'", "mechanism.expression", "__import__"],
    ),
    "formula with an unknown name": (
        lambda n, d: n["heat"]["mechanism"].update(expression="k * speeed"),
        ["'heat'", "did you mean 'speed'"],
    ),
    "edge that is no parent": (
        lambda n, d: d["edges"].append({"source": "alarm", "target": "heat"}),
        ["'heat'", "edges", "alarm -> heat"],
    ),
    "edge left out": (lambda n, d: d["edges"].pop(), ["'wear'", "edges", "load -> wear is missing"]),
    "edge twice": (lambda n, d: d["edges"].append(d["edges"][0]), ["'speed'", "edges", "twice"]),
    "edge to nowhere": (lambda n, d: d["edges"][0].update(target="sped"), ["edges.target", "did you mean 'speed'"]),
    "sign unknown": (lambda n, d: d["edges"][0].update(sign="plus"), ["edges.0.sign", "'plus'"]),
    "factor of a strange type": (lambda n, d: d["factors"].update(d={"a": 1}), ["factors.d"]),
    "factor that is no number": (
        lambda n, d: d["factors"].update(d=float("nan")),
        ["factors.d", "nan", "finite number"],
    ),
    "factor that is infinite": (lambda n, d: d["factors"].update(d=float("-inf")), ["factors.d", "finite number"]),
    "factor with a blank name": (lambda n, d: d["factors"].update({" d": 1}), ["factors. d", "printable text"]),
    "schema that is true": (lambda n, d: d.update(schema_version=True), ["schema_version", "found True"]),
    "schema that is a float": (lambda n, d: d.update(schema_version=1.0), ["schema_version", "found 1.0"]),
    "below float32": (lambda n, d: n["load"]["root"].update(scale=1e-46), ["root.scale", "1e-46", "float32 can hold"]),
    "noise against its own rule": (
        lambda n, d: n["speed"].update(noise={"family": "censored", "scale": 1.0, "low": 1.0, "high": 0.0}),
        ["'speed'", "noise.high", "no less than low"],
    ),
    "name with a separator": (lambda n, d: n["load"].update(name="a\u2028b"), ["name", "printable"]),
    "name of a blank": (lambda n, d: n["load"].update(name=" load"), ["name", "without blanks"]),
    "name with a control character": (lambda n, d: n["load"].update(name="a\x7fb"), ["name", "printable"]),
    "misspelt field of a root block": (
        lambda n, d: d.update(root_block={"family": "uniform_ball", "roots": ["load", "alarm"], "rots": 1}),
        ["field 'root_block.rots'", "did you mean 'roots'", "fields are family, roots"],
    ),
    "misspelt family of a root block": (
        lambda n, d: d.update(root_block={"family": "uniform_bal", "roots": ["load", "alarm"]}),
        ["field 'root_block.family'", "did you mean 'uniform_ball'"],
    ),
    "root block without family": (
        lambda n, d: d.update(root_block={"roots": ["load", "alarm"]}),
        ["field 'root_block.family'", "is missing"],
    ),
    "misspelt field of a stressor": (
        lambda n, d: d.update(stressors=[{"family": "missingness", "rte": 0.1}]),
        ["field 'stressors.0.rte'", "did you mean 'rate'"],
    ),
    "misspelt family of a stressor": (
        lambda n, d: d.update(stressors=[{"family": "missing"}]),
        ["field 'stressors.0.family'", "did you mean 'missingness'"],
    ),
    "sign that is true": (
        lambda n, d: d.update(
            root_block={"family": "correlated_normal", "roots": ["load", "alarm"], "rho": 0.5, "signs": [True, 1]}
        ),
        ["field 'root_block.signs.0'", "found True"],
    ),
    "loadings without entries": (
        lambda n, d: (
            n["load"].pop("root"),
            n["alarm"].pop("root"),
            d.update(
                root_block={"family": "random_covariance_normal", "roots": ["load", "alarm"], "loadings": [[], []]}
            ),
        ),
        ["field 'root_block.loadings'", "empty rows"],
    ),
    "key that is a number": (lambda n, d: d.update({1: 2}), ["field '1'", "texts as names"]),
    "key of a variable that is a number": (lambda n, d: n["load"].update({1: 2}), ["'load'", "field '1'", "texts"]),
    "key of a component that is a number": (
        lambda n, d: n["load"]["root"].update({1: 2}),
        ["'load'", "root.1", "texts"],
    ),
    "schema of the future": (lambda n, d: d.update(schema_version=2), ["schema_version", "found 2", "expected 1"]),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake(mistake):
    edit, words = MISTAKES[mistake]
    with pytest.raises(SpecError) as caught:
        SCMSpec.from_dict(edited(edit))
    message = str(caught.value)
    assert all(word in message for word in words), message
    assert "\n" not in message and "pydantic" not in message


@pytest.mark.parametrize(
    "text, words",
    [
        ("", ["not JSON", "line 1"]),
        ("{'name': 1}", ["not JSON", "line 1"]),
        ("[1, 2]", ["found list"]),
        ("null", ["found NoneType"]),
        (None, ["found NoneType", "JSON text"]),
        ({}, ["found dict", "JSON text"]),
        (3, ["found int", "JSON text"]),
        ('{"name": NaN}', ["NaN"]),
        ('{"name": "a", "name": "b"}', ["'name' twice"]),
        ("[" * 100_000, ["JSON"]),
    ],
)
def test_text_that_is_no_spec(text, words):
    with pytest.raises(SpecError) as caught:
        SCMSpec.from_json(text)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_unreadable_files(tmp_path):
    for path in (tmp_path / "absent.json", tmp_path):
        with pytest.raises(SpecError, match="cannot read"):
            SCMSpec.load(path)
    (tmp_path / "bad.json").write_bytes(b"\xff\xfe{")
    with pytest.raises(SpecError, match="cannot read"):
        SCMSpec.load(tmp_path / "bad.json")


def places(value, path=()):
    """The path of every value in a JSON tree."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


ALLOWED = {"unit", "range", "description", "reason", "sign", "factors", "edges", "noise", "kind", "constants"}
WRONG = st.sampled_from(
    [{"x": 1}, [[]], "nonsense", "", True, None, float("nan"), float("inf"), -1e999, {"family": "gausian"}, 1e300]
)


@st.composite
def broken_specs(draw):
    """A good spec in which one place is replaced, renamed or removed so that no valid spec is left."""
    data = copy.deepcopy(GOOD)
    path = draw(st.sampled_from([p for p in places(data) if p and p[0] != "factors"]))
    parent = data
    for key in path[:-1]:
        parent = parent[key]
    key = path[-1]
    action = draw(st.sampled_from(["replace", "rename", "remove"]))
    if action == "rename" and isinstance(key, str):
        parent[key + "x"] = parent.pop(key)
    elif action == "remove" and key not in ALLOWED and not (key == "schema_version"):
        del parent[key]
    else:
        parent[key] = draw(WRONG)
    return data, path


@settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(broken_specs())
def test_300_broken_specs_give_one_error_that_names_the_place(broken):
    data, path = broken
    try:
        SCMSpec.from_dict(data)
    except SpecError as error:
        message = str(error)
    else:
        # Some replacements are legal where the field is free (None for an optional one, any text for a text).
        assert path[-1] in {*ALLOWED, "name", "measurement", "parents", "schema_version"}, data
        return
    assert "\n" not in message and len(message) < 2000
    assert "variable '" in message or "field '" in message, message
    if path[0] == "nodes" and len(path) > 2 and path[2] != "name":
        # An edit inside a node is blamed on that node, or on one that depends on it by name or by edge.
        assert f"variable '{GOOD['nodes'][path[1]]['name']}'" in message or "edges" in message, (path, message)


def test_nothing_broken_reaches_jax(monkeypatch):
    """Validation is numpy and pydantic: with JAX's array constructors disabled it behaves the same."""

    def refuse(*args, **kwargs):
        raise AssertionError("JAX was reached")

    monkeypatch.setattr(jax.numpy, "asarray", refuse)
    monkeypatch.setattr(jax, "device_put", refuse)
    for mistake, (edit, _) in MISTAKES.items():
        with pytest.raises(SpecError):
            SCMSpec.from_dict(edited(edit))
        assert mistake


def test_schema_lists_every_family_and_field():
    schema = json.dumps(json_schema())
    for kind in registry.KINDS:
        for family, cls in registry.families(kind).items():
            assert f'"const": "{family}"' in schema
            assert all(f'"{field}"' in schema for field in cls.parameters().model_fields)


def test_did_you_mean_stays_silent_when_nothing_is_near():
    assert did_you_mean("qqqq", ["load", "speed"]) == ""


def nested(depth=100_000):
    value = []
    for _ in range(depth):
        value = [value]
    return value


LISTS = {
    "nodes": lambda d: (d, "nodes"),
    "edges": lambda d: (d, "edges"),
    "parents": lambda d: (d["nodes"][2], "parents"),
    "range": lambda d: (d["nodes"][0], "range"),
    "weight": lambda d: (d["nodes"][2]["mechanism"], "weight"),
    "mechanisms": lambda d: (d["factors"], "mechanisms"),
    "roots": lambda d: (d["root_block"], "roots"),
    "signs": lambda d: (d["root_block"], "signs"),
}


@pytest.mark.parametrize("field", LISTS)
def test_only_lists_and_tuples_are_lists(field):
    for make in (
        iter,
        lambda items: dict.fromkeys(range(len(items)), 1),
        lambda items: dict(enumerate(items)).values(),
        lambda items: {json.dumps(item) for item in items},
        collections.deque,
        lambda items: nested(),
    ):
        data = copy.deepcopy(GOOD)
        block = {"family": "correlated_normal", "roots": ["load", "alarm"], "rho": 0.5, "signs": [1, 1]}
        data["root_block"] = block
        owner, key = LISTS[field](data)
        owner[key] = make(owner[key])
        with pytest.raises(SpecError, match=f"{field}|'#1'") as caught:
            SCMSpec.from_dict(data)
        assert "\n" not in str(caught.value) and "list" in str(caught.value)


@pytest.mark.parametrize("place", ["name", "factors", "root_block", "nodes", "description"])
def test_values_nested_too_deeply(place):
    for data in ({**GOOD, place: nested()}, {**GOOD, place: {"a": nested()}}):
        with pytest.raises(SpecError, match=f"{place}|'#1'") as caught:
            SCMSpec.from_dict(data)
        assert len(str(caught.value)) < 300


def test_parts_raise_the_same_error_by_themselves():
    for build, words in (
        (lambda: NodeSpec(name="x", rot={}), ["variable 'x'", "field 'rot'", "did you mean 'root'"]),
        (lambda: NodeSpec(name="x"), None),
        (lambda: NodeSpec(root=1), ["field 'name': is missing"]),
        (
            lambda: NodeSpec(name="x", root={"family": "gaussian", "mean": 0, "scal": 1}),
            ["variable 'x'", "field 'root.scal'", "did you mean 'scale'"],
        ),
        (lambda: NodeSpec.model_validate({"name": "x", "kind": "c"}), ["variable 'x'", "field 'kind'"]),
        (lambda: EdgeSpec(source="x", targt="y"), ["field 'targt'", "did you mean 'target'"]),
        (lambda: SCMSpec(name="x", nodes=[{"name": "y", "rot": 1}]), ["variable 'y'", "field 'rot'"]),
        (lambda: SCMSpec.model_validate({"name": "x", "nodes": []}), ["field 'nodes'"]),
        (lambda: SCMSpec.model_validate_json("{"), ["not JSON"]),
    ):
        if words is None:
            build()
            continue
        with pytest.raises(SpecError) as caught:
            build()
        assert all(word in str(caught.value) for word in words) and "\n" not in str(caught.value), str(caught.value)


def test_a_copy_is_valid_and_shares_nothing_cached():
    spec = SCMSpec.from_dict(GOOD)
    speed = spec.nodes[2]
    assert speed.component.arrays["weight"].tolist() == [1.0, -0.5] and speed.channel and spec.adjacency.sum() == 5
    assert spec.content_hash
    heavier = speed.model_copy(update={"mechanism": {**speed.mechanism.model_dump(), "weight": [3, 4]}})
    assert heavier.component.arrays["weight"].tolist() == [3.0, 4.0]
    loud = speed.model_copy(update={"noise": speed.noise.model_copy(update={"scale": 9.0})})
    assert loud.channel.arrays["scale"] == 9.0 and loud != speed
    other = spec.model_copy(update={"nodes": [*spec.nodes[:2], heavier, *spec.nodes[3:]]})
    assert other.content_hash != spec.content_hash and other.nodes[2] is heavier
    fewer = spec.model_copy(update={"nodes": spec.nodes[:3], "edges": []})
    assert fewer.adjacency.shape == (3, 3) and spec.model_copy() == spec == spec.model_copy(deep=True)
    for wrong in ({"name": ""}, {"nam": "x"}, {"nodes": spec.nodes[2:]}, {"schema_version": 2}):
        with pytest.raises(SpecError):
            spec.model_copy(update=wrong)
    with pytest.raises(SpecError, match="noise.scale"):
        speed.model_copy(update={"noise": speed.noise.model_copy(update={"scale": -1.0})})


def test_a_root_block_is_checked_however_it_was_made():
    data = {
        **GOOD,
        "root_block": {"family": "correlated_normal", "roots": ["load", "alarm"], "rho": 0.5, "signs": [1, 1]},
    }
    data = {**data, "nodes": [*({"name": n} for n in ("load", "alarm")), *GOOD["nodes"][2:]]}
    spec = SCMSpec.from_dict(data)
    with pytest.raises(SpecError, match="root_block.rho"):
        spec.model_copy(update={"root_block": spec.root_block.model_copy(update={"rho": 5.0})})


def test_a_spec_cannot_be_changed():
    spec = SCMSpec.from_dict(GOOD)
    for change in (
        lambda: spec.factors.update(d=6),
        lambda: spec.nodes[3].mechanism.constants.clear(),
        lambda: setattr(spec, "name", "x"),
        lambda: spec.adjacency.fill(0),
        lambda: spec.nodes[2].component.arrays["weight"].fill(0),
    ):
        with pytest.raises((TypeError, ValueError)):
            change()
    assert spec == SCMSpec.from_dict(GOOD)


@pytest.mark.parametrize("again", [lambda s: pickle.loads(pickle.dumps(s)), copy.deepcopy, copy.copy])
def test_specs_pickle_and_copy(again):
    spec = SCMSpec.from_dict(GOOD)
    for cached in (False, True):
        if cached:
            assert spec.adjacency.any() and spec.content_hash and all(node.component for node in spec.nodes)
        other = again(spec)
        assert other == spec and hash(other) == hash(spec) and other.content_hash == spec.content_hash
        assert not other.adjacency.flags.writeable and type(other.factors) is type(spec.factors)
        for node, twin in zip(spec.nodes, other.nodes, strict=True):
            assert again(node) == node == twin and type(node.mechanism) is type(twin.mechanism)
        assert all(again(edge) == edge for edge in spec.edges)
    assert len(pickle.dumps(spec)) == len(pickle.dumps(SCMSpec.from_dict(GOOD))), "what is cached is not pickled"


def test_equal_specs_have_equal_hashes_and_different_texts_are_different():
    def formula(**constants):
        mechanism = {"family": "formula", "expression": "j * k * x", "constants": constants}
        return NodeSpec(name="y", parents=["x"], mechanism=mechanism)

    first, second = formula(j=1.0, k=2.0), formula(k=2.0, j=1.0)
    assert first == second and hash(first) == hash(second)
    assert hash(first.mechanism) == hash(second.mechanism) and first.mechanism == second.mechanism
    zero = [NodeSpec(name="x", root={"family": "gaussian", "mean": mean, "scale": 1}) for mean in (0, 0.0, -0.0)]
    assert len(set(zero)) == 1
    with_factor = lambda value: SCMSpec.from_dict({**GOOD, "factors": {"a": value}})  # noqa: E731
    assert with_factor(0.0) == with_factor(-0.0) and hash(with_factor(0.0)) == hash(with_factor(-0.0))
    specs = [with_factor(value) for value in (1, 1.0, True, "1", ["1"])]
    assert len(set(specs)) == len({spec.content_hash for spec in specs}) == 5
    assert all(SCMSpec.from_json(spec.to_json()) == spec for spec in specs)
    reordered = {**GOOD, "factors": dict(reversed(GOOD["factors"].items()))}
    assert SCMSpec.from_dict(reordered) == SCMSpec.from_dict(GOOD)
    assert hash(SCMSpec.from_dict(reordered)) == hash(SCMSpec.from_dict(GOOD))
    assert zero[0] != SCMSpec.from_dict(GOOD) and zero[0] != "x"


def parts(schema):
    """Every object in a JSON schema."""
    if isinstance(schema, dict):
        yield schema
    for inner in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from parts(inner)


def test_schema_is_one_that_others_can_read():
    schema = json_schema()
    patterns = {part["pattern"] for part in parts(schema) if isinstance(part.get("pattern"), str)}
    patterns |= {pattern for part in parts(schema) for pattern in part.get("patternProperties", ())}
    assert patterns and all("\\p" not in pattern and re.compile(pattern) for pattern in patterns)
    for name, fits in (("a", True), ("wind speed", True), ("größe", True), (" a", False), ("a ", False), ("", False)):
        assert all(bool(re.search(pattern, name)) == fits for pattern in patterns)
    # Bounds have JSON Schema's names: pydantic's own would be ignored.
    assert not any(
        isinstance(part.get(word), int | float) for part in parts(schema) for word in ("gt", "ge", "lt", "le")
    )
    gaussian = next(p for p in parts(schema) if p.get("title") == "GaussianParameters")
    assert gaussian["properties"]["scale"]["exclusiveMinimum"] == 0


def test_models_inside_a_family_stand_in_the_schema_and_survive_a_round_trip():
    class Knot(BaseModel, frozen=True, extra="forbid"):
        at: Number
        slope: Annotated[Number, Field(gt=0)] = 1.0

    class SplineParameters(Parameters, frozen=True):
        family: Literal["test_spline"]
        knots: Annotated[Many[Knot], Field(description="knots")]

    class Spline(Mechanism, family="test_spline"):
        slope: Float[Array, "knots"] = param("slopes")

        @classmethod
        def parameters(cls):
            return SplineParameters

        @classmethod
        def arrays(cls, parameters, parents):
            return {"slope": np.array([knot.slope for knot in parameters.knots])}

        def __call__(self, parents):
            return jnp.sum(self.slope) * jnp.sum(parents)

    try:
        schema = json_schema()
        references = {part["$ref"] for part in parts(schema) if isinstance(part.get("$ref"), str)}
        assert references and all(ref.removeprefix("#/$defs/") in schema["$defs"] for ref in references)
        assert "Knot" in schema["$defs"] and "#/$defs/Knot" in references
        data = edited(
            lambda n, d: n["heat"].update(mechanism={"family": "test_spline", "knots": [{"at": 0}, {"at": 1}]})
        )
        spec = SCMSpec.from_dict(data)
        assert SCMSpec.from_json(spec.to_json()) == spec and len({spec, copy.deepcopy(spec)}) == 1
        data["nodes"][3]["mechanism"]["knots"][1]["slop"] = 2
        with pytest.raises(SpecError, match="variable 'heat', field 'mechanism.knots.1.slop': unknown field$"):
            SCMSpec.from_dict(data)
        data["nodes"][3]["mechanism"]["knots"][1] = {"at": 1, "slope": 0}
        with pytest.raises(SpecError, match="mechanism.knots.1.slope': found 0.* greater than 0"):
            SCMSpec.from_dict(data)
    finally:
        REGISTRY["mechanism"].pop("test_spline")
