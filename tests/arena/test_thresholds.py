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


G = {"family": "gaussian", "mean": 0.0, "scale": 1.0}


def linear(operand, weight):
    return {"op": "linear", "operand": operand, "weight": weight, "at": 0.0, "scale": 1.0}


def caused(name, scale=0.5, **weights):
    terms = [linear(parent, weight) for parent, weight in weights.items()]
    return {"name": name, "parents": list(weights), "mechanism": {"family": "terms", "terms": terms},
            "noise": {"family": "gaussian", "scale": scale}}  # fmt: skip


def roots(*names):
    return [{"name": name, "root": G} for name in names]


SIMPSON = plant("simpsons_paradox", "linear", "x", at=0.0, scale=1.0)
CHAIN = plant("mediation_chain", "linear", "m", at=0.0, scale=1.0)
#: Terms, nodes, and the (variable, moderator, causes) of the plant.
GRAPHS = {
    "the strongest common cause": (
        [SIMPSON, linear("c1", 0.05), linear("c2", 3.0)],
        [*roots("c1", "c2"), caused("x", c1=0.05, c2=0.8)], ("x", "c2", {"x", "c1", "c2"}),
    ),
    "a common cause further up": (
        [SIMPSON, linear("c", 3.0)], [*roots("c"), caused("a", c=1.0), caused("x", a=0.8)], ("x", "c", {"x", "c"}),
    ),
    "a common cause by another way": (
        [SIMPSON, linear("b", 3.0)], [*roots("c"), caused("b", c=1.0), caused("x", c=0.8)], ("x", "c", {"x", "c"}),
    ),
    "the strongest source": (
        [CHAIN], [*roots("s0", "s"), caused("m", s0=0.01, s=1.0)], ("s", "m", {"s0", "s", "m"}),
    ),
    "a source through it only": (
        [CHAIN, linear("k", 1.0)], [*roots("s", "t"), caused("m", s=1.0, t=0.5), caused("k", s=1.0)],
        ("t", "m", {"t", "m"}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("graph", GRAPHS)
def test_common_causes_and_sources_by_graph_and_strength(graph):
    terms, nodes, expected = GRAPHS[graph]
    (found,) = answer_key(spec(*terms, nodes=nodes), STRONG)
    assert (found.variable, found.moderator, set(found.causes)) == expected


STRONG = Room.of([spec(*GRAPHS[graph][0], nodes=GRAPHS[graph][1]) for graph in GRAPHS])


def positive(low, high):
    return {"family": "uniform", "low": low, "high": high}


@pytest.mark.parametrize("op, low, high, weight, direction", [
    ("product", 1.0, 5.0, 1.0, "+"), ("product", -5.0, -1.0, 1.0, "-"), ("product", -5.0, -1.0, -1.0, "+"),
    ("product", -1.0, 1.0, 1.0, None), ("ratio", 1.0, 5.0, -1.0, "-"), ("ratio", -5.0, -1.0, 1.0, "-"),
])  # fmt: skip
def test_direction_is_that_of_the_effect(op, low, high, weight, direction):
    term = plant("monotone_threshold", "step", {"op": op, "of": ["h", "z"]}) | {"weight": weight}
    (found,) = answer_key(spec(term, nodes=(H, {"name": "z", "root": positive(low, high)})))
    assert found.direction == direction


def derived(op, *names):
    return plant("derived_feature", "linear", {"op": op, "of": list(names)})


MULTINOMIAL = {"family": "multinomial", "probability": [0.1] * 10}
POISSON = {"name": "n", "root": {"family": "poisson", "rate": 2.0}}


@pytest.mark.parametrize("term, node, message", [
    (derived("log", "z"), {"name": "z", "root": G}, "a log of 'z', whose quantile 0.02 is -2.05"),
    (derived("product", "h", "z"), {"name": "z", "root": positive(-5.0, -1.0)}, "a product of 'z'"),
    (derived("ratio", "h", "n"), POISSON, "a ratio of 'n', whose quantile 0.02 is 0"),
    (plant("category_level", "category", "b", level=1.0), B, "a level of 'b', which has two values"),
    (plant("category_level", "category", "z", level=1.0), {"name": "z", "root": G}, "'z' has no levels"),
    (plant("subpopulation_only", "gate", "h", by="b", level=0.5), B, "'b' has no level 0.5; the nearest.* are 0, 1"),
    (plant("category_level", "category", "o", level=0.17),
     {"name": "o", "root": MULTINOMIAL}, "no level 0.17; .*0.174"),
])  # fmt: skip
def test_plants_that_cannot_be_are_refused(term, node, message):
    with pytest.raises(SpecError, match=rf"variable 'y', term '{term['label']}': .*{message}"):
        answer_key(spec(term, nodes=(H, node)))


def test_products_of_counts_are_let_be():
    assert answer_key(spec(derived("product", "n", "h"), nodes=(H, POISSON)))[0].direction == "-"


def test_levels_are_those_of_the_variable():
    """Rounded in the spec, exact in the key; neighbours that are less than 1/2 apart are other levels."""
    from mechanisms.terms import Terms

    term = plant("category_level", "category", "o", level=0.1741)
    (found,) = answer_key(spec(term, nodes=({"name": "o", "root": MULTINOMIAL},)))
    value = ((np.arange(10) - 4.5) / np.sqrt(8.25)).astype(np.float32)
    assert found.level == pytest.approx(0.1740777, abs=1e-6) and found.level in value.tolist()
    parameters = Terms.parameters().model_validate({"family": "terms", "terms": [term]})
    at = Terms(**Terms.arrays(parameters, ["o"])).over(value[None])
    assert np.flatnonzero(np.asarray(at)).tolist() == [5]


def test_an_interaction_of_two_levels_is_centred_between_them():
    term = {"op": "interaction", "operand": "x", "by": "b", "weight": 1.0}
    for root in ({"family": "bernoulli", "probability": 0.3}, {"family": "bernoulli", "probability": 0.9}):
        done = auto_calibrate(spec(term, nodes=(X, {**B, "root": root}, H)), ROOM).nodes[0].mechanism.terms[0]
        assert (done.by_at, done.by_scale) == (0.5, 0.5) and done.scale == pytest.approx(3.0, rel=0.05)


@pytest.mark.parametrize("op", ["log", "ratio"])
def test_units_that_are_cut_off_are_refused(op):
    tiny = {"name": "h", "root": {"family": "lognormal", "log_mean": -20.0, "log_scale": 0.5}}
    operand = {"op": op, "of": ["h"] if op == "log" else ["x", "h"]}
    with pytest.raises(SpecError, match=r"needs 'h' in larger units: .* nearer to 0 than 1e-06"):
        auto_calibrate(spec({"op": "linear", "operand": operand, "weight": 1.0}, nodes=(X, B, tiny)), ROOM)
