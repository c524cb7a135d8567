"""The simulator: effects and counterfactuals against closed forms, tables, what a loader reads."""

import numpy as np
import pytest
from scipy import integrate, stats

import arena
from arena.errors import DataError, SpecError
from eval.hypotheses.simulator import Simulator

N = 20_000
ROOTS = [
    {"name": "x", "root": {"family": "gaussian", "mean": 1.0, "scale": 2.0}},
    {"name": "g", "root": {"family": "gaussian", "mean": 0.0, "scale": 1.0}},
    {"name": "p", "root": {"family": "bernoulli", "probability": 0.3}, "kind": "binary"},
]
#: All toys have the same parents, so that those of one noise share a program.
REST = [
    {"op": "linear", "operand": "g", "weight": 0.8, "at": 0.0, "scale": 1.0},
    {"op": "linear", "operand": "p", "weight": 0.0, "at": 0.0, "scale": 1.0},
]
GATE = {"op": "gate", "operand": "x", "by": "p", "level": 1.0, "weight": 0.7, "at": 0.0, "scale": 1.0}
SLOPE = {"op": "linear", "operand": "x", "weight": 0.6, "at": 0.0, "scale": 1.0}
HINGE = {"op": "threshold", "operand": "x", "weight": 2.0, "at": 1.0, "scale": 2.0}


def simulator(term, noise, **fields):
    terms = [term, *REST]
    parents = ["x", "g", "p"]
    y = {"name": "y", "parents": parents, "mechanism": {"family": "terms", "terms": terms}, "noise": noise}
    return Simulator(arena.SCMSpec.from_dict({"name": "toy", "nodes": [*ROOTS, y], "outcome": "y", **fields}))


GAUSS = {"family": "gaussian", "scale": 0.5}
LOGIT = {"family": "bernoulli_logit", "bias": -0.4}
LOG = {"family": "poisson_log", "bias": 0.3}


def averaged(function):
    """Over g, which is standard normal."""
    return integrate.quad(lambda g: function(0.8 * g) * stats.norm.pdf(g), -9, 9)[0]


def probability(signal):
    return averaged(lambda rest: 1.0 / (1.0 + np.exp(-(signal + rest - 0.4))))


@pytest.mark.parametrize(
    "term, noise, expected, tolerance",
    [
        (SLOPE, GAUSS, 0.6 * 3.0, 1e-4),
        (HINGE, GAUSS, 2.0 * (2.0 - 1.0) / 2.0, 1e-4),
        (GATE, GAUSS, 0.7 * 3.0 * 0.3, 4 * 2.1 * np.sqrt(0.3 * 0.7 / N)),
        (SLOPE, LOGIT, probability(1.2) - probability(-0.6), 4 * 0.5 / np.sqrt(N)),
        (SLOPE, LOG, np.exp(0.3 + 0.32) * (np.exp(1.2) - np.exp(-0.6)), 4 * 8.0 / np.sqrt(N)),
    ],
    ids=["linear", "threshold", "gate", "logistic", "count"],
)
def test_ate_is_its_closed_form(term, noise, expected, tolerance):
    found = simulator(term, noise).ate({"x": 2.0}, {"x": -1.0}, n=N)
    assert found == pytest.approx(expected, abs=tolerance)


def test_counterfactuals_of_units():
    """Linear: every unit moves by the same; gate: those inside; logistic and counts: never down."""
    linear = simulator(SLOPE, GAUSS)
    data = linear.units(N)
    x, y = data.names.index("x"), data.names.index("y")
    twin = linear.counterfactual(data, x=3.0)
    np.testing.assert_allclose(twin.values[:, y] - data.values[:, y], 0.6 * (3.0 - data.values[:, x]), atol=1e-4)

    gate = simulator(GATE, GAUSS)
    data = gate.units(N)
    x, p, y = (data.names.index(name) for name in "xpy")
    moved = gate.counterfactual(data, x=3.0).values[:, y] - data.values[:, y]
    expected = np.where(data.values[:, p] == 1, 0.7 * (3.0 - data.values[:, x]), 0.0)
    np.testing.assert_allclose(moved, expected, atol=1e-4)

    for noise in (LOGIT, LOG):
        outcome = simulator(SLOPE, noise)
        low, high = (outcome.counterfactual(outcome.units(N), x=value) for value in (-1.0, 2.0))
        y = low.names.index("y")
        gain = high.values[:, y] - low.values[:, y]
        assert (gain >= 0).all()
        if noise is LOGIT:  # the share that changes is the difference of the probabilities, unit by unit
            assert gain.mean() == pytest.approx(probability(1.2) - probability(-0.6), abs=4 * 0.5 / np.sqrt(N))


def test_the_same_units_in_every_world():
    toy = simulator(GATE, GAUSS)
    table, other = toy.generate(N), toy.do(x=2.0, n=N)
    assert (other["x"] == 2.0).all() and (other["g"] == table["g"]).all() and (other["p"] == table["p"]).all()
    assert toy.generate(N).equals(table) and toy.generate(N // 2).equals(table[: N // 2])
    assert not Simulator(toy.spec, seed=1).generate(N).equals(table)
    both = [toy.do({"x": value}, n=N)["y"] for value in (2.0, 0.0)]
    assert toy.ate({"x": 2.0}, {"x": 0.0}, n=N) == pytest.approx((both[0] - both[1]).mean(), abs=1e-5)


def test_types_of_columns():
    counts = simulator(SLOPE, LOG)
    assert counts.kind("y") == "count" and counts.generate(N)["y"].dtype == np.int64
    toy = simulator(GATE, LOGIT, description="a toy")
    meta = toy.meta(N)
    by_name = {column["name"]: column for column in meta["columns"]}
    assert meta["outcome"] == "y" and meta["outcome_type"] == "binary" and meta["description"] == "a toy"
    assert by_name["y"]["role"] == "outcome" and by_name["x"]["role"] == "feature"
    assert by_name["p"] == {"name": "p", "role": "feature", "type": "binary", "dtype": "int64", "levels": [0, 1]}
    assert by_name["y"]["levels"] == [0, 1] and by_name["x"]["type"] == "continuous"


def test_refused():
    loose = simulator({"op": "linear", "operand": "x", "weight": 1.0}, GAUSS)
    with pytest.raises(SpecError, match=r"toy: some thresholds are not set; call auto_calibrate\(\) first"):
        loose.generate(N)
    assert len(loose.auto_calibrate().generate(N)) == N
    with pytest.raises(DataError, match="do not carry their exogenous noise"):
        loose.counterfactual(arena.Dataset(("x",), np.zeros((2, 1))), x=1.0)
    with pytest.raises(SpecError, match="'z' is not a variable"):
        loose.ate({"z": 1.0}, {"x": 1.0})


def test_stressors_are_refused():
    stressor = {"family": "missingness", "rate": 0.3, "columns": {"x": {"mean": 5.0, "jitter": 0.1}}}
    with pytest.raises(SpecError, match="field 'stressors': found missingness, expected none"):
        simulator(SLOPE, GAUSS, stressors=[stressor])


def test_levels_of_a_short_table():
    """Levels that are too rare to be in the table are in its description, and types agree."""
    roots = [
        {"name": "o", "root": {"family": "ordinal", "probability": [0.5, 0.4995, 0.0005]}},
        {"name": "c", "root": {"family": "multinomial", "probability": [0.5, 0.25, 0.25]}, "kind": "categorical"},
        {"name": "y", "root": {"family": "gaussian", "mean": 0.0, "scale": 1.0}},
    ]
    toy = Simulator(arena.SCMSpec.from_dict({"name": "levels", "nodes": roots, "outcome": "y"}))
    table, meta = toy.generate(1000)[:3], {column["name"]: column for column in toy.meta(3)["columns"]}
    assert meta["o"]["levels"] == [0, 1, 2] and len(meta["c"]["levels"]) == 3 and "levels" not in meta["y"]
    assert [meta[name]["dtype"] for name in table] == [str(dtype) for dtype in table.dtypes]
    assert all(isinstance(level, float) for level in meta["c"]["levels"])
