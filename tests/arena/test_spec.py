"""SCMSpec: exact round trips, hashes, copies, schema."""

import copy
import json
import pickle
import re
from typing import Annotated, Literal

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Float
from pydantic import BaseModel, Field
from specs import GOOD, edited

import arena
from arena.errors import SpecError
from arena.spec import NodeSpec, SCMSpec, json_schema
from mechanisms import registry
from mechanisms.base import REGISTRY, Array, Mechanism, Number, Parameters, param
from mechanisms.parameters import Many


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


def test_schema_lists_every_family_and_field():
    schema = json.dumps(json_schema())
    for kind in registry.KINDS:
        for family, cls in registry.families(kind).items():
            assert f'"const": "{family}"' in schema
            assert all(f'"{field}"' in schema for field in cls.parameters().model_fields)


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
