"""The judge: experiments against plain interventions, verdicts on the example, scores, and a small study."""

import json
import re

import numpy as np
import pytest
from judged import NULL, SCRIPTS, SPECS, N, example, shared_room

import arena
from arena.errors import DataError
from eval.hypotheses.checks import EFFECT
from eval.hypotheses.designs import HELD
from eval.hypotheses.evaluate import Judge
from eval.hypotheses.proposals import FORMS, MAY_PAIR, Proposal
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


def test_interval():
    assert interval(0, 100) == pytest.approx((0.0, 0.0362), abs=1e-4)
    assert interval(5, 100) == pytest.approx((0.0164, 0.1128), abs=1e-4)
    assert interval(7, 7)[1] == 1.0


def test_commands(judge, example_spec, tmp_path, capsys, monkeypatch):
    import pandas as pd

    from arena import hypotheses_cli

    # The simulator of this file, whose programs are compiled.
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
