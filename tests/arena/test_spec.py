"""SCMSpec: exact round trips, and for every kind of mistake one error that names variable and field."""

import copy
import json

import jax
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import arena
from arena.errors import SpecError
from arena.spec import SCMSpec, json_schema
from arena.spec_errors import did_you_mean
from mechanisms import registry

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
