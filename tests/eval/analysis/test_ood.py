"""Documented priors: gains on and off them by hand, and what a prior file must hold."""

import json

import pytest
from analysis_rows import line, row, table

from arena.errors import RunError
from eval.analysis.ood import REFERENCE, estimates, full_estimates, ood, relative_gain, relative_gap
from eval.analysis.priors import AXES, priors, read_prior


def scenario(name, graph, scores, **lists):
    factors = {"graph_family": graph, "mechanisms": ["linear_additive", "exp_log"], "noises": ["gaussian", "beta"],
               "roots": ["gaussian", "zipf"], **lists}  # fmt: skip
    return [row(method, name, f1, factors=factors) for method, f1 in scores.items()]


def reference(*scores):
    return dict(zip(REFERENCE, scores, strict=True))


@pytest.fixture(scope="module")
def rows():
    """AVICI covers erdos_renyi, not chain; linear_additive, not exp_log."""
    return table(
        *scenario("er1", "erdos_renyi", {"avici": 0.6, **reference(0.2, 0.4, 0.4, 0.6)}),
        *scenario("er2", "erdos_renyi", {"avici": 0.8, **reference(0.4, 0.6, 0.6, 0.8)}),
        *scenario("ch1", "chain", {"avici": 0.3, **reference(0.5, 0.5, 0.5, 0.5)}, mechanisms=["exp_log"]),
        *scenario("ch2", "chain", {"avici": None, **reference(0.9, 0.9, 0.9, 0.9)}),  # not compared
        *scenario("tr1", "tree", {"avici": 0.5, **reference(0.2, 0.2, 0.2, 0.2)}),
        row("avici", "real", 0.0, family="real"),  # without factors: only part of the average F1
    )


def test_gains_over_the_reference_by_hand(rows):
    found = line(ood(rows), method="avici", axis="graph_family")
    assert (found["f1_id"], found["ref_id"]) == pytest.approx((0.7, 0.5))
    # categories are averaged, not scenarios: chain .3 / .5, tree .5 / .2
    assert (found["f1_ood"], found["ref_ood"]) == pytest.approx((0.4, 0.35))
    assert (found["r_id"], found["r_ood"]) == pytest.approx((0.4, 0.05 / 0.35))
    assert found["gap"] == pytest.approx(found["r_id"] - found["r_ood"])
    assert found[["levels_id", "levels_ood", "n"]].tolist() == [1, 2, 4] and found["basis"] == "documented"


def test_a_scenario_counts_in_each_of_its_categories(rows):
    found = line(ood(rows), method="avici", axis="mechanism")
    assert found["f1_id"] == pytest.approx((0.6 + 0.8 + 0.5) / 3)  # linear_additive: all but ch1
    assert found["f1_ood"] == pytest.approx((0.6 + 0.8 + 0.3 + 0.5) / 4)  # exp_log: all four


def test_the_mean_needs_all_axes(rows):
    found = ood(rows)
    axes = found[found["axis"].isin(AXES)]
    mean = line(found, axis="mean")
    assert mean["r_ood"] == pytest.approx(axes["r_ood"].mean()) and mean["gap"] == pytest.approx(axes["gap"].mean())
    covered = rows.assign(factors=rows["factors"].str.replace('"gaussian", "zipf"', '"gaussian"'))
    assert line(ood(covered), axis="mean")[["r_ood", "gap"]].isna().all()  # no root is held out


def test_estimates_use_the_average_over_cells(rows):
    found, gains = line(estimates(rows), method="avici"), line(ood(rows), axis="mean")
    assert found["f1"] == pytest.approx(((0.6 + 0.8 + 0.3 + 0.5) / 4 + 0.0) / 2)  # synthetic and real
    assert found["c"] == pytest.approx((4 / 10 + 2 / 16 + 4 / 15 + 1 / 14) / 4)
    assert found["delta"] == pytest.approx((1 + gains["r_id"]) / (1 + gains["r_ood"]) - 1)
    assert found["c"] * found["f1_id"] + (1 - found["c"]) * found["f1_ood"] == pytest.approx(found["f1"])


def test_equations():
    assert relative_gain(0.6, 0.5) == pytest.approx(0.2) and relative_gain(0.6, 0.0) != relative_gain(0.6, 0.0)
    assert relative_gap(0.5, 0.2) == pytest.approx(0.25)
    assert full_estimates(0.5, 0.5, 0.5) == pytest.approx((0.6, 0.4))


def test_the_reference_must_be_whole(rows):
    with pytest.raises(RunError, match="pc has none"):
        ood(rows[rows["method"] != "pc"])
    assert len(ood(rows[rows["method"] != "pc"], reference=("gies", "igsp")))
    with pytest.raises(RunError, match="no method with a documented prior"):
        ood(rows[rows["method"] != "avici"])


def test_a_prior_file_is_checked():
    prior = priors()["avici"]
    text = {"method": "x", "covered": prior.covered, "basis": dict(prior.basis), "note": "", "source": ""}
    assert read_prior(json.dumps(text), "x.json").covered == prior.covered
    for broken, message in (
        ({**text, "basis": {**text["basis"], "root": "guess"}}, "x.json: basis of 'root' is 'guess'"),
        ({**text, "covered": {"root": []}}, "x.json: 'covered' must have the axes"),
        ({name: text[name] for name in text if name != "note"}, "x.json: lacks 'note'"),
    ):
        with pytest.raises(RunError, match=message):
            read_prior(json.dumps(broken), "x.json")
    with pytest.raises(RunError, match="is not JSON"):
        read_prior("{", "x.json")
