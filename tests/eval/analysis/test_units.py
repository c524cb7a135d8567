"""Replicates before scenarios, factors and their levels, and bootstrap intervals."""

import numpy as np
import pytest
from analysis_rows import line, row, table
from scipy import stats

from arena.errors import RunError
from eval.analysis.frame import factor_names, unit_scores, with_levels
from eval.analysis.intervals import bootstrap_means, resamples, summarise
from eval.analysis.summary import cell_means, summary


def test_replicates_come_before_scenarios():
    units = unit_scores(
        table(
            row("pc", "a", 0.2, replicate=0),
            row("pc", "a", 0.4, replicate=1),
            row("pc", "a", None, replicate=2),
            row("pc", "b", 0.9),
            row("pc", "c", None),
        )
    )
    one = line(units, scenario="a")
    assert one["f1"] == pytest.approx(0.3) and (one["completed"], one["missing"]) == (2, 1)
    assert np.isnan(line(units, scenario="c")["f1"])
    board = line(summarise(units, ["family", "split"]), method="pc")
    assert board["f1"] == pytest.approx((0.3 + 0.9) / 2)  # not (.2 + .4 + .9) / 3
    assert (board["n"], board["missing"]) == (2, 2)


def test_scores_of_a_fit_that_did_not_complete_do_not_count():
    units = unit_scores(table(row("pc", "a", 0.5, status="invalid"), row("pc", "b", 0.25)))
    assert np.isnan(line(units, scenario="a")["f1"]) and line(units, scenario="b")["f1"] == 0.25


def test_a_plain_table_of_scores_will_do():
    plain = table(row("pc", "a", 0.5))[["family", "scenario", "split", "method", "f1"]]
    assert unit_scores(plain)["f1"].tolist() == [0.5]
    with pytest.raises(RunError, match="no column 'method'"):
        unit_scores(plain.drop(columns="method"))
    with pytest.raises(RunError, match="no rows"):
        unit_scores(plain.iloc[:0])


def test_unsupported_and_d_are_known_per_scenario():
    units = unit_scores(table(row("pc", "a", 0.5, d=7), row("big", "a", None, d=None, status="unsupported")))
    assert line(units, method="big")[["unsupported", "missing", "d"]].tolist() == [1, 1, 7]


def test_a_scenario_counts_in_every_category_it_has():
    units = unit_scores(
        table(
            row("pc", "a", 0.5, factors={"mechanisms": ["x", "y", "x"], "d": 5}),
            row("pc", "b", 1.0, factors={"mechanisms": ["y"], "d": 20}),
            row("pc", "c", 1.0, factors={"d": 100}),
        )
    )
    assert factor_names(units) == ["d", "mechanisms"]
    levels = with_levels(units, "mechanism")  # the paper's name of the factor
    assert sorted(zip(levels["scenario"], levels["level"], strict=True)) == [("a", "x"), ("a", "y"), ("b", "y")]
    assert list(with_levels(units, "d")["level"].cat.categories) == ["5", "20", "100"]  # by size
    with pytest.raises(RunError, match="factor 'graph_family'.*d, mechanisms"):
        with_levels(units, "graph_family")


def test_many_numbers_become_quartiles():
    rows = [row("pc", f"s{i:02d}", 0.5, factors={"n_edges": i + 1}) for i in range(20)]
    levels = with_levels(unit_scores(table(*rows)), "n_edges")
    assert levels.groupby("level", observed=True).size().to_dict() == dict.fromkeys(
        ["1 to 5", "6 to 10", "11 to 15", "16 to 20"], 5
    )


def test_intervals_agree_with_scipy():
    values = np.random.default_rng(0).gamma(2.0, size=(60, 1))
    low, high = bootstrap_means(values, rounds=4000, seed=1)
    reference = stats.bootstrap((values[:, 0],), np.mean, n_resamples=4000, method="percentile", rng=2)
    np.testing.assert_allclose([low[0], high[0]], reference.confidence_interval, atol=0.03)


def test_intervals_leave_gaps_out_and_need_two_scenarios():
    values = np.array([[1.0, 1.0, 1.0], [2.0, 2.0, np.nan], [3.0, np.nan, np.nan]])
    low, high = bootstrap_means(values, rounds=2000)
    assert (low[0], high[0]) == (1.0, 3.0) and (low[1], high[1]) == (1.0, 2.0)
    assert np.isnan([low[2], high[2]]).all()
    again = bootstrap_means(values, rounds=2000)
    np.testing.assert_array_equal(again, (low, high))
    assert (resamples(7, 50, 3).sum(axis=1) == 7).all()


def test_columns_share_their_resamples():
    values = np.random.default_rng(0).random((10, 1))
    low, high = bootstrap_means(np.hstack([values, values + 1]))
    np.testing.assert_allclose([low[1] - low[0], high[1] - high[0]], 1.0)


def test_a_summary_counts_each_metric_for_itself():
    found = summary(
        table(row("pc", "a", 0.2, nshd=0.1), row("pc", "b", 0.6, nshd=np.nan), row("pc", "c", 0.4, nshd=0.3))
    )
    f1, nshd = line(found, metric="f1"), line(found, metric="nshd")
    assert (f1["n"], nshd["n"]) == (3, 2)
    assert f1["mean"] == pytest.approx(0.4) and f1["sd"] == pytest.approx(0.2)  # ddof = 1
    assert nshd["mean"] == pytest.approx(0.2) and nshd["sd"] == pytest.approx(0.1 * np.sqrt(2))
    assert "auroc" not in set(found["metric"])


def test_cell_means_refuse_two_lines_of_a_cell():
    cells = table(row("pc", "a", 0.5), row("pc", "b", 0.7))
    with pytest.raises(ValueError, match="twice|two lines"):
        cell_means(cells, ["f1"])
