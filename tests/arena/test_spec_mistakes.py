"""SCMSpec: for every kind of mistake one error that names variable and field."""

import collections
import copy
import json

import jax
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from specs import GOOD, edited

from arena.errors import SpecError
from arena.spec import EdgeSpec, NodeSpec, SCMSpec
from arena.spec_errors import did_you_mean

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
