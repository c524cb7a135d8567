"""Thresholds from quantiles, and the answer key."""

import numpy as np
import pytest

import arena
from arena.errors import SpecError
from arena.keys import key_of
from arena.plants import answer_key, as_json, outcome_of
from arena.rooms import Room
from arena.thresholds import auto_calibrate, is_calibrated

X = {"name": "x", "root": {"family": "gaussian", "mean": 2.0, "scale": 3.0}}
B = {"name": "b", "root": {"family": "bernoulli", "probability": 0.4}, "kind": "binary"}
H = {"name": "h", "root": {"family": "lognormal", "log_mean": 1.0, "log_scale": 0.5}}
M = {"name": "m", "parents": ["x"], "noise": {"family": "gaussian", "scale": 0.5},
     "mechanism": {"family": "terms", "terms": [{"op": "step", "operand": "x", "quantile": 0.8, "weight": 4.0}]},
     }  # fmt: skip


def spec(*terms, nodes=(X, B, H, M), **fields):
    names = dict.fromkeys(name for term in terms for name in _variables(term))
    y = {"name": "y", "parents": list(names), "noise": {"family": "gaussian", "scale": 1.0},
         "mechanism": {"family": "terms", "terms": list(terms)}}  # fmt: skip
    return arena.SCMSpec.from_dict({"name": "toy", "nodes": [y, *nodes], **fields})


def _variables(term):
    operands = [term["operand"], *([term["by"]] if "by" in term else [])]
    return [name for one in operands for name in (one["of"] if isinstance(one, dict) else [one])]


TERMS = (
    {"op": "threshold", "operand": "m", "quantile": 0.7, "weight": 1.0},
    {"op": "bump", "operand": {"op": "log", "of": ["h"]}, "quantile": 0.4, "weight": 1.0},
    {"op": "gate", "operand": "x", "by": "b", "level": 1.0, "weight": 1.0},
    {"op": "step", "operand": {"op": "ratio", "of": ["x", "h"]}, "quantile": 0.25, "weight": 1.0, "at": 0.125},
)


ROOM = Room.of([spec(*TERMS), spec(TERMS[0])])


def test_numbers_are_the_quantiles_of_the_data():
    raw = spec(*TERMS)
    assert not is_calibrated(raw)
    done = auto_calibrate(raw, ROOM)
    assert is_calibrated(done) and auto_calibrate(done) == done and auto_calibrate(raw, ROOM) == done
    by_name = {node.name: node for node in done.nodes}
    # Other units than those of the calibration: quantiles agree to sampling error.
    data = arena.sample(arena.compile(done), key_of("other"), 200_000)
    x, m, h = (data.values[:, data.names.index(name)] for name in "xmh")
    y, own = by_name["y"].mechanism.terms, by_name["m"].mechanism.terms
    assert own[0].at == pytest.approx(np.quantile(x, 0.8), abs=0.1)
    assert own[0].at == pytest.approx(2.0 + 3.0 * 0.8416, abs=0.1)
    assert y[0].at == pytest.approx(np.quantile(m, 0.7), abs=0.05)  # what is above it was calibrated first
    assert y[0].scale == pytest.approx(0.5 * np.subtract(*np.quantile(m, [0.84, 0.16])), rel=0.03)
    assert y[1].at == pytest.approx(np.quantile(np.log(h), 0.4), abs=0.02)
    assert y[1].scale == pytest.approx(0.5 * 0.9945, rel=0.03)
    assert y[2].at == pytest.approx(2.0, abs=0.1) and y[2].by_at is None
    assert y[3].at == 0.125  # what a spec sets itself is kept


def test_room_changes_no_number():
    raw = spec(*TERMS)
    assert auto_calibrate(raw, ROOM) == auto_calibrate(raw)


def test_what_is_not_calibrated_cannot_run():
    with pytest.raises(SpecError, match=r"variable 'y'.*calibration.*arena.auto_calibrate\(spec\)"):
        arena.compile(
            spec(TERMS[0], nodes=(X, {**M, "mechanism": {"family": "linear_additive", "weight": [1], "bias": 0}}))
        )


def test_specs_of_other_families_are_left_alone():
    plain = arena.SCMSpec.from_dict({"name": "plain", "nodes": [X]})
    assert auto_calibrate(plain) is plain


def test_a_constant_operand_is_refused():
    never = {"name": "k", "root": {"family": "bernoulli", "probability": 0.0}}
    with pytest.raises(SpecError, match=r"variable 'y', field 'mechanism.terms.0.operand': k is constant"):
        auto_calibrate(spec({"op": "linear", "operand": "k", "weight": 1.0}, nodes=(never,)), ROOM)
    with pytest.raises(SpecError, match="k is never above its quantile"):
        auto_calibrate(spec({"op": "step", "operand": "k", "weight": 1.0}, nodes=(never,)), ROOM)


def plant(archetype, op, operand, **more):
    return {"op": op, "operand": operand, "weight": -1.0, "label": archetype, "archetype": archetype, **more}


def test_answer_key():
    product = {"op": "product", "of": ["h", "x"]}
    x = {"name": "x", "parents": ["c"], "mechanism": {"family": "linear_additive", "weight": [1.0], "bias": 0.0}}
    s = {"name": "s", "root": {"family": "gaussian", "mean": 0.0, "scale": 1.0}}
    c = {"name": "c", "root": {"family": "gaussian", "mean": 0.0, "scale": 1.0}}
    made = spec(
        plant("simpsons_paradox", "linear", "x"),
        plant("mediation_chain", "linear", "m"),
        plant("subpopulation_only", "gate", "h", by="b", level=1.0),
        plant("derived_feature", "linear", product),
        {"op": "linear", "operand": "c", "weight": 2.0},
        nodes=(x, c, s, B, H, {**M, "parents": ["s"], "mechanism": x["mechanism"]}),
    )  # fmt: skip
    found = {plant.archetype: plant for plant in answer_key(made)}
    assert outcome_of(made) == "y" and set(found["simpsons_paradox"].causes) == {"x", "c"}
    assert (found["simpsons_paradox"].variable, found["simpsons_paradox"].moderator) == ("x", "c")
    assert (found["mediation_chain"].variable, found["mediation_chain"].moderator) == ("s", "m")
    assert found["simpsons_paradox"].direction == "-"
    assert len(as_json(answer_key(made))) == 4
    assert (found["subpopulation_only"].moderator, found["subpopulation_only"].level) == ("b", 1.0)
    assert found["derived_feature"].causes == ("h", "x") and found["derived_feature"].operand == "h x x"


def test_answer_key_needs_what_a_plant_is_made_of():
    with pytest.raises(SpecError, match="no cause of 'x' also causes 'y'"):
        answer_key(spec(plant("simpsons_paradox", "linear", "x")))
    with pytest.raises(SpecError, match="'x' has no cause that acts on 'y' through it"):
        answer_key(spec(plant("mediation_chain", "linear", "x")))
    with pytest.raises(SpecError, match="field 'outcome': is missing"):
        answer_key(spec(TERMS[0]))
    with pytest.raises(SpecError, match="variable 'y': has labelled terms, expected them in the outcome 'x'"):
        answer_key(spec(plant("monotone_threshold", "step", "x"), outcome="x"))
    with pytest.raises(SpecError, match="'outcome': found 'z'"):
        spec(TERMS[0], outcome="z")
