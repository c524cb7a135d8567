"""Designs: doses and levels reach the tails, hold every level there is room for, and do not depend on the sample."""

import numpy as np
import pytest

import arena
from arena.errors import SpecError
from eval.hypotheses.columns import column_of
from eval.hypotheses.designs import WORLDS, Planner
from eval.hypotheses.proposals import Proposal

N = 5000
ROOTS = {
    "g": ({"family": "gaussian", "mean": 0.0, "scale": 1.0}, "continuous"),
    "h": ({"family": "gaussian", "mean": 1.0, "scale": 1.0}, "continuous"),
    "b": ({"family": "bernoulli", "probability": 0.9999}, "binary"),
    "o8": ({"family": "ordinal", "probability": [0.125] * 8}, "categorical"),
    "o20": ({"family": "ordinal", "probability": [0.05] * 20}, "ordinal"),
    "o200": ({"family": "ordinal", "probability": [0.005] * 200}, "categorical"),
    "p": ({"family": "poisson", "rate": 0.5}, "count"),
}


def node(name, root, kind="continuous", **fields):
    return arena.SCMSpec.from_dict(
        {"name": "one", "nodes": [{"name": name, "root": root, "kind": kind, **fields}]}
    ).nodes[0]  # fmt: skip


NODES = {name: node(name, root, kind) for name, (root, kind) in ROOTS.items()}


def planner(seed):
    rng = np.random.default_rng(seed)
    values = {"g": rng.normal(size=N), "h": rng.normal(size=N) + 1, "b": np.ones(N), "p": rng.poisson(0.5, N)}
    values |= {f"o{k}": rng.integers(0, k, N) for k in (8, 20, 200)}
    values = {name: v.astype(np.float32) for name, v in values.items()}
    return Planner(values, {name: column_of(NODES[name], v) for name, v in values.items()})


def claim(variable, form, moderator=None, **more):
    return Proposal.model_validate({"variable": variable, "form": form, "moderator": moderator, **more})


def share_below(value):
    from scipy.stats import norm

    return norm.cdf(value)


def test_doses_and_levels_reach_the_tails():
    design = planner(0)
    curve = share_below(np.array(design(claim("g", "threshold")).doses))
    assert (curve < 0.02).sum() >= 3 and (curve > 0.98).sum() >= 3 and len(curve) >= 25
    grid = design(claim("h", "subpopulation", "g"))
    levels = share_below(np.array(grid.levels))
    assert 7 <= len(levels) <= 9 and levels[0] < 0.03 and levels[-1] > 0.97
    doses = share_below(np.array(grid.doses) - 1)
    assert doses[0] < 0.01 and doses[-1] > 0.99


@pytest.mark.parametrize("variable, moderator, doses, levels", [
    ("g", "b", 7, 2), ("g", "o8", 7, 8), ("g", "o20", 3, 20), ("o8", "g", 8, 8), ("o20", "b", 20, 2),
    ("b", "o20", 2, 20), ("o8", "o8", 8, 8), ("g", "o200", 3, 21), ("o200", "g", 12, 5), ("p", "o8", 5, 8),
])  # fmt: skip
def test_every_level_that_there_is_room_for(variable, moderator, doses, levels):
    if variable == moderator:
        NODES["again"] = NODES[moderator]
        plan = planner(0)
        plan._columns, plan._values = {**plan._columns, "again": plan._columns[moderator]}, plan._values
        moderator = "again"
    else:
        plan = planner(0)
    found = plan(claim(variable, "interaction", moderator))
    assert (len(found.doses), len(found.levels)) == (doses, levels)
    assert len(found.worlds) == doses * levels <= WORLDS


@pytest.mark.parametrize("variable", ["o8", "o20", "o200", "b"])
def test_levels_do_not_depend_on_the_sample(variable):
    found = {planner(seed)(claim("g", "subpopulation", variable)).levels for seed in range(4)}
    assert len(found) == 1
    assert {planner(seed)._columns["b"].levels for seed in range(2)} == {(0.0, 1.0)}


def test_the_level_that_is_claimed_is_set():
    for level, base in ((0.0, None), (101.0, 33.0), (199.0, 1.0)):
        found = planner(0)(claim("o200", "categorical_level", level=level, base=base))
        assert len(found.doses) <= WORLDS and level in found.doses and (base is None or base in found.doses)
    assert planner(0)(claim("o20", "categorical_level", level=3.0)).doses == tuple(map(float, range(20)))


GAUSS = {"family": "gaussian", "mean": 0.0, "scale": 1.0}


@pytest.mark.parametrize("root, kind, fields, values, wanted", [
    (GAUSS, "categorical", {}, np.linspace(0, 1, 1000), "1000 different ones"),
    (GAUSS, "binary", {}, np.linspace(0, 1, 1000), "1000 different ones"),
    (GAUSS, "ordinal", {}, np.linspace(0, 1, 1000), "1000 different ones"),
    (GAUSS, "count", {}, np.linspace(0, 1, 1000), "not whole"),
    ({"family": "ordinal", "probability": [0.2, 0.3, 0.5]}, "binary", {}, np.arange(1000) % 3, "3 levels"),
    ({"family": "poisson", "rate": 3.0}, "count", {"scaling": [3.0, 2.0]}, (np.arange(1000) % 9 - 3) / 2, "not whole"),
])  # fmt: skip
def test_a_kind_that_the_values_contradict_is_refused(root, kind, fields, values, wanted):
    with pytest.raises(SpecError, match=rf"variable 'x', field 'kind': is '{kind}', and .*{wanted}"):
        column_of(node("x", root, kind, **fields), values.astype(np.float32))


@pytest.mark.parametrize("root, fields, kind, levels", [
    ({"family": "ordinal", "probability": [0.5, 0.5, 0.0]}, {}, "ordinal", (0.0, 1.0)),
    ({"family": "bernoulli", "probability": 0.0001}, {}, "binary", (0.0, 1.0)),
    ({"family": "bernoulli", "probability": 0.5}, {"scaling": [0.5, 0.5]}, "binary", (-1.0, 1.0)),
    ({"family": "zipf", "support": 3, "exponent": 0.0}, {}, "ordinal", (-1.0, 0.0, 1.0)),
    ({"family": "multinomial", "probability": [0.5, 0.0, 0.5]}, {}, "categorical", (-1.0, 1.0)),
    ({"family": "poisson", "rate": 3.0}, {"scaling": [3.0, 2.0]}, "continuous", ()),
])  # fmt: skip
def test_kinds_and_levels_follow_from_the_spec(root, fields, kind, levels):
    found = column_of(node("x", root, **fields), np.zeros(1000, np.float32))
    assert (found.kind, found.levels) == (kind, levels) and (not levels or sum(found.share) == pytest.approx(1.0))
