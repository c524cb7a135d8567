"""The judge: experiments against plain interventions, verdicts on the example, scores, and a small study."""

import json
import re

import numpy as np
import pytest
from hard_specs import CROSSED, HARD, HOPELESS
from judged import NULL, SCRIPTS, SPECS, N, example, shared_room

import arena
from arena.errors import DataError, SpecError
from eval.hypotheses.checks import EFFECT, at_least, at_most
from eval.hypotheses.designs import HELD
from eval.hypotheses.evaluate import Judge
from eval.hypotheses.proposals import FORMS, MAY_PAIR, Proposal
from eval.hypotheses.responses import response_of
from eval.hypotheses.simulator import Simulator
from eval.hypotheses.study import IMPLIED, Tally, interval, random_claims
from eval.hypotheses.worlds import ARCHETYPES


@pytest.fixture(scope="module")
def example_spec():
    return example()


@pytest.fixture(scope="module")
def room():
    return shared_room()


@pytest.fixture(scope="module")
def judge(example_spec, room):
    return Judge(Simulator(example_spec).auto_calibrate(room), N, room)


@pytest.fixture(scope="module")
def tally(room):
    tally = Tally()
    for spec in SPECS:
        tally.add(spec, n=N, room=room)
    return tally


def claim(variable, form, direction="+", moderator=None, **more):
    return {"variable": variable, "form": form, "direction": direction, "moderator": moderator, **more}


def test_experiments_are_interventions_on_the_same_units(judge):
    """Every kind of world against `arena.do`, one at a time."""
    simulator, laboratory = judge.simulator, judge.laboratory
    noise = simulator.scm.draw_noise(simulator.key("experiment"), N)
    natural = np.asarray(simulator.scm.evaluate(noise))
    y = simulator.spec.names.index("renewal")
    claims = [
        claim("discount_pct", "non_monotone"),
        claim("email_opens", "interaction", moderator="is_mobile"),
        claim("tenure_months", "mediation", moderator="score_1"),
        claim("seats", "simpsons", moderator="tenure_months"),
    ]
    for reading in laboratory.run([judge.design(one) for one in judge.read(claims)]):
        design = reading.design
        for c in {0, len(design.worlds) // 2, len(design.worlds) - 1}:
            world, targets = design.worlds[c], {}
            if world.dose is not None:
                targets[design.variable] = world.dose
            if world.level is not None:
                place = simulator.spec.names.index(design.second)
                targets[design.second] = natural[:, place] if world.level == HELD else world.level
            moved = np.asarray(arena.do(simulator.scm, targets).evaluate(noise))[:, y] - natural[:, y]
            sd = laboratory.response.scale
            assert sd == pytest.approx(natural[:, y].std(), rel=1e-4)
            assert reading.effect[c] == pytest.approx(moved.mean() / sd, abs=1e-4)
            assert reading.covariance[c, c] ** 0.5 == pytest.approx(moved.std() / sd / N**0.5, abs=1e-5)


def test_associations_are_those_of_the_data(judge):
    (reading,) = judge.laboratory.run([judge.design(judge.read([claim("score_1", "simpsons", "-")])[0])])
    data = judge.laboratory.values
    k = len(reading.design.doses)
    expected = np.corrcoef(data["score_1"], data["renewal"])[0, 1]
    # The noise that is added to the outcome is left out of what is read: it would only add to the error.
    assert reading.association[k] == pytest.approx(expected, abs=4 * 0.4 / N**0.5)
    assert 0.5 < reading.association_error[k] / np.sqrt((1 + expected**2) / N) < 1.5


def test_oracle_is_right(judge):
    report = judge.report([one.model_dump() for one in judge.oracle()])
    assert (report.family_recall, report.confirmed_recall, report.claim_precision) == (1.0, 1.0, 1.0)
    assert report.directional_precision == 1.0
    stored = json.loads((SCRIPTS / "example_proposals.json").read_text())
    assert [Proposal.model_validate(one) for one in stored] == judge.oracle()
    for verdict in report.verdicts:
        assert verdict.deciding.margin > 0 and "holds under do()" in verdict.reason
        assert all(np.isfinite([check.value, check.error, check.margin]).all() for check in verdict.checks)
    text = json.dumps(report.as_json(), allow_nan=False)
    assert {one["status"] for one in json.loads(text)["proposals"]} == {"confirmed"}


def test_a_correlation_ranker_scores_nothing(judge):
    table = judge.simulator.generate(N)
    correlation = table.corr()["renewal"].drop("renewal").sort_values(key=abs, ascending=False)
    for form in ("bare_direction", "threshold"):
        claims = [claim(name, form, "+" if r > 0 else "-") for name, r in correlation.items()]
        confirmed = np.array([verdict.confirmed for verdict in judge.verdicts(judge.read(claims))])
        precision = confirmed.cumsum() / np.arange(1, len(confirmed) + 1)
        assert len(precision) > 40 and precision.max() < 0.05
        assert precision[:20].max() == 0.0
    assert confirmed.sum() == 1  # the one cause that has a threshold, far down the list


def test_no_proposals(judge):
    report = judge.report([])
    assert report.family_recall == report.confirmed_recall == report.claim_precision == 0.0
    assert len(report.recoveries) == 5 and all(recovery.signature.confirmed for recovery in report.recoveries)


#: All true claims of structure about the example, from its equation.
PAIRS = [("email_opens", "is_mobile"), ("support_tickets", "is_premium"), ("logins", "session_len")]
TRUE = {("tenure_months", "threshold", "+", None), ("discount_pct", "non_monotone", None, None)}
TRUE |= {(a, "interaction", None, b) for pair in PAIRS for a, b in (pair, pair[::-1])}
TRUE |= {(a, "interaction_reversal", None, b) for a, b in (PAIRS[0], PAIRS[0][::-1])}
# For premium customers tickets count from the median: few of them are good, so that being premium is good or bad.
TRUE |= {("is_premium", "interaction_reversal", None, "support_tickets")}
TRUE |= {("support_tickets", "subpopulation", "-", "is_premium")}
TRUE |= {(a, "derived_feature", "+", b) for a, b in (PAIRS[2], PAIRS[2][::-1])}


def is_true(one):
    directed = one.form in ("threshold", "subpopulation", "derived_feature")
    return (one.variable, one.form, one.direction if directed else None, one.second) in TRUE


def test_random_claims_are_confirmed_if_and_only_if_they_are_true(judge):
    spray = random_claims(judge, 1000, seed=0)
    verdicts = judge.verdicts(spray)
    assert [verdict.confirmed for verdict in verdicts] == [is_true(one) for one in spray]
    wrong = judge.report([one.model_dump() for one in spray if not is_true(one)])
    assert wrong.claim_precision == wrong.confirmed_recall == 0.0
    base_rate = np.mean([is_true(one) for one in spray])
    assert judge.report([one.model_dump() for one in spray]).claim_precision == pytest.approx(base_rate)


def test_all_claims_about_the_causes_are_confirmed_if_and_only_if_they_are_true(judge):
    causes = next(node.parents for node in judge.simulator.spec.nodes if node.name == "renewal")
    claims = [
        claim(a, form, direction, b) for a in causes for b in causes for form in FORMS for direction in "+-"
        if form != "bare_direction" and (b == causes[0] or form in MAY_PAIR)
    ]  # fmt: skip
    asked = [one for one in judge.read(claims) if isinstance(one, Proposal)]
    found = {one for one, verdict in zip(asked, judge.verdicts(asked), strict=True) if verdict.confirmed}
    assert found == {one for one in asked if is_true(one)}
    assert {(one.variable, one.form, one.second) for one in found} == {(a, form, b) for a, form, _, b in TRUE}


def test_family_and_confirmed_recall(judge):
    """An assertion of moderation counts for a product; a claim that fails itself confirms nothing."""
    report = judge.report([
        claim("logins", "interaction", moderator="session_len"),
        claim("is_mobile", "subpopulation", moderator="email_opens"),
        claim("tenure_months", "non_monotone"),
        claim("discount_pct", "bare_direction"),
    ])  # fmt: skip
    recovered = {recovery.plant.archetype: recovery for recovery in report.recoveries}
    assert recovered["derived_feature"].by == recovered["derived_feature"].confirmed_by == (0,)
    assert recovered["interaction_reversal"].by == (1,) and not recovered["interaction_reversal"].confirmed_by
    assert not recovered["monotone_threshold"].by and not recovered["non_monotone"].by
    assert (report.family_recall, report.confirmed_recall, report.claim_precision) == (0.4, 0.2, 0.25)
    assert report.verdicts[3].status == "no_structure"


def test_what_cannot_be_judged_is_a_failed_claim(judge):
    wrong = [
        (claim("tenure", "threshold"), r"field 'variable': found \"tenure\" \(did you mean 'tenure_months'\?\)"),
        (claim("tenure_months", "treshold"), "field 'form': found 'treshold'"),
        (claim("tenure_months", "interaction"), "field 'moderator': is missing"),
        (claim("tenure_months", "interaction", moderator="tenure_months"), "expected a second variable"),
        (claim("renewal", "threshold"), "found the outcome 'renewal' itself"),
        (claim("tenure_months", "threshold", "level"), "expected + or -".replace("+", r"\+")),
        (claim("is_mobile", "categorical_level", level=1.0), "'is_mobile', which is binary"),
        (claim("tenure_months", "threshold", strength=3), "field 'strength': unknown field"),
        ({"form": "threshold"}, "field 'variable': is missing"),
        ("tenure drives renewal", "expected an object"),
        (None, "expected an object"),
    ]
    report = judge.report([one for one, _ in wrong] + [claim("tenure_months", "threshold")])
    for verdict, (_, word) in zip(report.verdicts, wrong, strict=False):
        assert verdict.status == "rejected"
        assert re.search(word, verdict.reason), verdict.reason
    assert report.claim_precision == pytest.approx(1 / 12)
    with pytest.raises(DataError, match="expected a list"):
        judge.report({"variable": "tenure_months"})


def test_study_oracle_and_wrong_claims(tally):
    assert tally.oracle[0] > 60 and tally.recall >= 0.98 and tally.precision >= 0.98, tally.failures
    for kind in ("direction", "moderator", "level", "form", "noise"):
        accepted, judged = tally.accepted[kind]
        assert judged >= 10 and accepted / judged < 0.02, tally.surprises
    accepted, judged = tally.accepted["form, implied"]
    assert accepted / judged > 0.5  # true claims besides the plant's own are not refused


def test_study_verdicts_do_not_depend_on_the_units(tally):
    changed, compared = tally.changed
    assert compared > 800 and changed / compared <= 0.01


def test_study_covers_everything():
    plants = [plant for spec in SPECS for plant in arena.answer_key(spec)]
    assert {plant.archetype for plant in plants} == set(ARCHETYPES)
    assert {archetype for archetype, _, _ in IMPLIED} <= set(ARCHETYPES)
    assert any(" / " in plant.operand for plant in plants) and any(" x " in plant.operand for plant in plants)
    assert any(plant.operand.startswith("log ") for plant in plants)


def test_null_worlds_confirm_nothing(room):
    confirmed = judged = 0
    for k, spec in enumerate(NULL):
        judge = Judge(Simulator(spec).auto_calibrate(room), N, room)
        assert judge.report([]).recoveries == ()
        verdicts = judge.verdicts(random_claims(judge, 100, seed=k))
        confirmed, judged = confirmed + sum(verdict.confirmed for verdict in verdicts), judged + len(verdicts)
        # There are causes, whose direction can be told; they have no structure.
        (cause,) = judge.verdicts(
            judge.read([claim(next(n for n in judge.variables if n.startswith("h")), "threshold")])
        )
        assert abs(cause.moved[0]) > EFFECT and cause.status == "refuted"
    assert interval(confirmed, judged)[1] < 0.01


@pytest.mark.parametrize("seed", range(2))
def test_plants_at_the_ends_are_seen_with_any_units(seed, room):
    judge = Judge(Simulator(HARD, seed=seed).auto_calibrate(room), N, room)
    report = judge.report([one.model_dump() for one in judge.oracle()])
    assert [verdict.reason for verdict in report.verdicts if not verdict.confirmed] == [] == report.warnings()
    assert report.confirmed_recall == report.claim_precision == report.directional_precision == 1.0
    # What turns late is no threshold, and what has two signs is in no subpopulation.
    wrong = [claim("x6", "threshold"), claim("x6", "threshold", "-"), claim("w", "subpopulation", "+", "half")]
    assert not any(verdict.confirmed for verdict in judge.verdicts(judge.read(wrong)))


def test_plants_that_nothing_confirms_are_named(room, tmp_path, monkeypatch, capsys):
    judge = Judge(Simulator(HOPELESS).auto_calibrate(room), N, room)
    report = judge.report(judge.oracle())
    data = report.as_json()
    assert (report.family_recall, report.claim_precision, data["recall"]["n_plants"]) == (0.0, 0.0, 5)
    assert [plant["confirmable"] for plant in data["plants"]] == [False] * 5
    warnings = report.warnings()
    for warning, plant in zip(warnings, data["plants"], strict=True):
        assert warning.startswith(f"plant '{plant['label']}' cannot be confirmed by any claim: ")
        assert plant["signature"]["reason"] in warning
    assert "has 3 values, of which no curve can be made" in warnings[0]

    from arena import hypotheses_cli

    monkeypatch.setattr(hypotheses_cli, "_simulator", lambda spec, seed: judge.simulator)
    monkeypatch.setattr("eval.hypotheses.evaluate.Judge", lambda simulator, n: judge)
    (tmp_path / "claims.json").write_text(json.dumps([claim.model_dump() for claim in judge.oracle()]))
    hypotheses_cli.judge(tmp_path, tmp_path / "claims.json", tmp_path / "report.json", units=N)
    assert capsys.readouterr().err.splitlines()[:5] == [f"warning: {warning}" for warning in warnings]
    assert json.loads((tmp_path / "report.json").read_text()) == data


@pytest.fixture(scope="module")
def crossed(room):
    return Judge(Simulator(CROSSED).auto_calibrate(room), N, room)


def test_a_claim_confirms_the_plants_of_its_second_variable_only(crossed):
    report = crossed.report([claim("x1", "interaction", "+", "m1")])
    assert [bool(recovery.by) for recovery in report.recoveries] == [True, True, True, False]
    assert [recovery.plant.label for recovery in report.recoveries if recovery.confirmed_by] == ["by m1"]
    assert (report.family_recall, report.confirmed_recall, report.claim_precision) == (0.75, 0.25, 1.0)


def test_copies_count_once_in_distinct_precision(crossed):
    true, wrong = claim("x1", "interaction", "+", "m1"), claim("a", "threshold")
    # Fields that the form ignores do not make a claim another one.
    copies = [{**true, "direction": direction, "level": level} for direction in "+-" for level in (None, 1.0, 2.0)]
    report = crossed.report([*copies, wrong, "nonsense", "nonsense"])
    data = report.as_json()["precision"]
    assert data["claim_precision"] == pytest.approx(6 / 9) and data["n_proposals"] == 9
    assert (data["n_distinct"], data["distinct_precision"]) == (4, 0.25)


def test_the_direction_of_a_level_is_against_its_base(crossed):
    for base in (None, 2.0):
        for direction, right in (("+", 1.0), ("-", 0.0)):
            report = crossed.report([claim("few", "categorical_level", direction, level=0.0, base=base)])
            assert (report.directional_precision, report.claim_precision) == (right, right)


def test_a_scaled_binary_outcome_is_read_as_log_odds(crossed):
    """On any other scale all causes interact, and all sigmoids bend."""
    assert crossed.laboratory.response.name == "log-odds"
    claims = [claim("a", form, "+", "b") for form in ("interaction", "threshold", "subpopulation", "non_monotone")]
    claims += [claim("x5", "threshold"), claim("on", "threshold")]
    verdicts = crossed.verdicts(crossed.read(claims))
    assert [verdict.status for verdict in verdicts] == ["refuted"] * 6 and verdicts[4].moves
    signal, value = np.random.default_rng(0).normal(size=(2, N))
    plain = CROSSED.nodes[-1].model_copy(update={"scaling": None})
    unscaled = response_of(CROSSED.model_copy(update={"nodes": (*CROSSED.nodes[:-1], plain)}), "y", signal, value)
    scaled = response_of(CROSSED, "y", (signal - 0.3) / 0.5, value)
    assert scaled.scale == pytest.approx(unscaled.scale / 0.5) and unscaled.scale == pytest.approx(
        np.sqrt(signal.var() + np.pi**2 / 3)
    )


@pytest.mark.parametrize("size", [0.0, 1e-30, 1e-20, 1e20, 1e38, np.inf, np.nan])
def test_an_outcome_without_a_usable_unit_is_refused(size):
    with np.errstate(over="ignore"):
        value = (size * np.random.default_rng(0).normal(size=2000)).astype(np.float32)
    with pytest.raises(SpecError, match=r"variable 'y': its standard deviation in the data is .*, expected 1e-15 to"):
        response_of(HARD, "y", value, value)


def test_an_outcome_of_heavy_tails_is_refused_and_others_have_an_error():
    rng = np.random.default_rng(0)
    for heavy in (rng.standard_t(1, size=20_000), np.exp(2.5 * rng.normal(size=20_000))):
        with pytest.raises(SpecError, match=r"variable 'y': its standard deviation cannot be told from 20000 units"):
            response_of(HARD, "y", heavy, heavy)
    draws = [rng.gamma(2.0, size=2000) for _ in range(400)]
    found = [response_of(HARD, "y", draw, draw) for draw in draws]
    spread = np.std([one.scale for one in found]) / np.mean([one.scale for one in found])
    assert np.mean([one.error for one in found]) == pytest.approx(spread, rel=0.15)


def test_a_number_that_is_none_passes_no_check():
    assert not any(check.passed for check in (at_least("a", (np.nan, 0.0), 0.1, ""), at_most("b", np.nan, 0.1, "")))


def test_interval():
    assert interval(0, 100) == pytest.approx((0.0, 0.0362), abs=1e-4)
    assert interval(5, 100) == pytest.approx((0.0164, 0.1128), abs=1e-4)
    assert interval(7, 7)[1] == 1.0


def test_commands(judge, example_spec, room, tmp_path, capsys, monkeypatch):
    import pandas as pd

    from arena import hypotheses_cli

    # The simulator and the room of this file, whose programs are compiled.
    monkeypatch.setattr("eval.hypotheses.evaluate.Judge", lambda simulator, n: Judge(simulator, n, room))
    monkeypatch.setattr(hypotheses_cli, "_simulator", lambda spec, seed: judge.simulator)
    hypotheses_cli.simulate(tmp_path / "spec.json", tmp_path / "out", n=N)
    table = pd.read_parquet(tmp_path / "out" / "dataset.parquet")
    meta = json.loads((tmp_path / "out" / "meta.json").read_text())
    key = json.loads((tmp_path / "out" / "answer_key.json").read_text())
    assert table.equals(judge.simulator.generate(N)) and [c["name"] for c in meta["columns"]] == [*table]
    assert [plant["archetype"] for plant in key["plants"]] == [
        plant.archetype for plant in arena.answer_key(example_spec)
    ]
    assert arena.load(tmp_path / "out") == judge.simulator.spec
    hypotheses_cli.judge(tmp_path, SCRIPTS / "example_proposals.json", tmp_path / "new" / "report.json", units=N)
    report = json.loads((tmp_path / "new" / "report.json").read_text())
    assert report["recall"]["recall"] == report["precision"]["claim_precision"] == 1.0
    assert "claim precision   1.000  of 5 proposals" in capsys.readouterr().out
    (tmp_path / "bad.json").write_text('{"proposals": 3}')
    with pytest.raises(DataError, match="found int, expected a list of proposals"):
        hypotheses_cli.judge(tmp_path, tmp_path / "bad.json", None, units=N)
