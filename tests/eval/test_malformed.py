"""Specs and proposals with anything anywhere: one clear error or a rejection, never a traceback."""

import copy
import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import arena
from arena.errors import ArenaError
from eval.hypotheses.proposals import FORMS, Proposal, Rejection, Variable, read
from eval.hypotheses.simulator import Simulator

SETTINGS = settings(max_examples=500, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.integers(), st.floats(), st.text(max_size=8),
    st.sampled_from(["x", "y", "b", "c", "m", "+", "-", "level", "raw", "ratio", "linear", "gate", "terms", *FORMS]),
)  # fmt: skip
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


def term(op, operand, **more):
    return {"op": op, "operand": operand, "weight": 1.0, **more}


SPEC = {
    "name": "toy",
    "outcome": "y",
    "nodes": [
        {"name": "x", "root": {"family": "lognormal", "log_mean": 0.0, "log_scale": 0.5}},
        {"name": "b", "root": {"family": "bernoulli", "probability": 0.4}, "kind": "binary"},
        {"name": "c", "root": {"family": "ordinal", "probability": [0.2, 0.3, 0.5]}, "kind": "categorical"},
        {
            "name": "m",
            "parents": ["c"],
            "mechanism": {"family": "terms", "terms": [term("linear", "c", at=0.0, scale=1.0)]},
        },
        {
            "name": "y",
            "parents": ["x", "b", "m"],
            "mechanism": {
                "family": "terms",
                "bias": 0.5,
                "terms": [
                    term(
                        "threshold", {"op": "log", "of": ["x"]}, quantile=0.6, label="p", archetype="monotone_threshold"
                    ),
                    term("gate", "x", by="b", level=1.0, label="q", archetype="subpopulation_only"),
                    term("linear", {"op": "ratio", "of": ["x", "m"]}, label="r", archetype="derived_feature"),
                    term("linear", "m", label="s", archetype="mediation_chain"),
                ],
            },
            "noise": {"family": "bernoulli_logit", "bias": 0.1},
        },
    ],
}


def places(value, path=()):
    """The paths of everything inside a JSON value."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from places(one, (*path, key))


PLACES = [path for path in places(SPEC) if path]


def changed(data, path, action, value, key):
    data = copy.deepcopy(data)
    target = data
    for step in path[:-1]:
        target = target[step]
    if action == "replace":
        target[path[-1]] = value
    elif action == "remove":
        del target[path[-1]]
    elif isinstance(target, dict):
        target[key] = value
    else:
        target.append(value)
    return data


def test_the_spec_is_right_before_it_is_changed():
    assert len(Simulator(arena.SCMSpec.from_dict(SPEC)).answer_key()) == 4


def clear(message):
    return 8 <= len(message) < 500 and "\n" not in message and "Traceback" not in message


@SETTINGS
@given(st.sampled_from(PLACES), st.sampled_from(["replace", "remove", "add"]), ANYTHING, st.text(max_size=6))
def test_malformed_specs(path, action, value, key):
    data = changed(SPEC, path, action, value, key)
    try:
        simulator = Simulator(arena.SCMSpec.from_dict(data))
        assert simulator.outcome in simulator.spec.names
    except ArenaError as error:
        assert clear(str(error)), str(error)


VARIABLES = {
    "x": Variable("continuous", ()), "b": Variable("binary", ()), "c": Variable("categorical", (0.0, 1.0, 2.0)),
    "m": Variable("continuous", ()), "y": Variable("binary", ()),
}  # fmt: skip
GOOD = {"variable": "x", "form": "subpopulation", "direction": "-", "moderator": "b", "level": 1.0, "base": None}
FIELD = st.sampled_from([*GOOD, "text"])


@SETTINGS
@given(st.one_of(ANYTHING, st.dictionaries(FIELD, ANYTHING, max_size=4).map(lambda more: {**GOOD, **more})))
def test_malformed_proposals(data):
    found = read(data, VARIABLES, "y")
    if isinstance(found, Rejection):
        assert clear(found.reason), found.reason
    else:
        assert isinstance(found, Proposal) and found.variable in VARIABLES and found.variable != "y"
        assert found.second is None or found.second in VARIABLES
        assert json.loads(found.model_dump_json()) == found.model_dump(mode="json")


def test_deep_nesting():
    deep: list = []
    for _ in range(3000):
        deep = [deep]
    assert isinstance(read(deep, VARIABLES, "y"), Rejection)
    assert isinstance(read({**GOOD, "variable": deep}, VARIABLES, "y"), Rejection)
