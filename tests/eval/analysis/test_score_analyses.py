"""Analyses of scores against numbers worked out by hand."""

import numpy as np
import pandas as pd
import pytest
from analysis_rows import line, row, table

from arena.errors import RunError
from eval.analysis import ANALYSES, analyze
from eval.analysis.curves import dimension, sample_size
from eval.analysis.deltas import deltas
from eval.analysis.domains import domains
from eval.analysis.frontier import frontier, pareto
from eval.analysis.interactions import double_centred, interactions
from eval.analysis.planes import planes
from eval.analysis.protocols import protocols
from eval.analysis.runtime import cumulated, fit_line, fit_times, runtime, seconds_per_graph
from eval.analysis.slices import slices
from eval.analysis.sortability import sortability
from eval.analysis.wins import wins


def test_slices_average_the_scenarios_of_a_category():
    rows = table(
        row("pc", "a", 0.2, factors={"graph_family": "tree", "mechanisms": ["x", "y"], "k": 1}),
        row("pc", "b", 0.6, factors={"graph_family": "tree", "mechanisms": ["y"], "k": 1}),
        row("pc", "c", None, factors={"graph_family": "chain", "mechanisms": ["y"], "k": 1}),
        row("floor", "a", 0.1, control=1, factors={"graph_family": "tree", "mechanisms": ["x", "y"], "k": 1}),
    )
    found = slices(rows)
    assert set(found["factor"]) == {"graph_family", "mechanisms"}  # k has one value: nothing to compare
    tree = line(found, factor="graph_family", level="tree", method="pc")
    assert tree["f1"] == pytest.approx(0.4) and tree["shd"] == pytest.approx(6.0)
    assert (tree["f1_low"], tree["f1_high"]) == pytest.approx((0.2, 0.6)) and tree["n"] == 2
    chain = line(found, level="chain", method="pc")
    assert np.isnan(chain["f1"]) and (chain["n"], chain["missing"]) == (0, 1)
    assert line(found, factor="mechanisms", level="y", method="pc")["f1"] == pytest.approx(0.4)
    assert line(found, factor="mechanisms", level="x", method="pc")["f1"] == pytest.approx(0.2)
    assert set(slices(rows, factor="mechanism")["factor"]) == {"mechanism"}
    assert line(found, level="tree", method="floor")["control"] == 1


def test_wins_pool_f1_and_shd_over_common_scenarios():
    rows = table(
        row("a", "s1", 0.8, shd=5), row("b", "s1", 0.6, shd=5),  # F1: a; SHD: tie
        row("a", "s2", 0.5, shd=9), row("b", "s2", 0.7, shd=4),  # F1: b; SHD: b
        row("a", "s3", 0.9, shd=1), row("b", "s3", None),  # not compared
    )  # fmt: skip
    found = wins(rows)
    one, two = line(found, method="a"), line(found, method="b")
    assert (one["rate"], one["comparisons"]) == (1.5 / 4, 4) and two["rate"] == 2.5 / 4
    never = wins(table(row("a", "s1", 0.5), row("b", "s2", 0.5)))
    assert never["rate"].isna().all() and (never["comparisons"] == 0).all()


def test_planes_have_every_family_and_split():
    rows = table(row("a", "s1", 0.5), row("a", "s1", 0.7, split="obs_int"), row("a", "s2", 0.9, family="real"))
    found = planes(rows)
    assert len(found) == 3 and line(found, split="obs_int")["f1"] == 0.7


def test_curves():
    rows = table(
        row("a", "s1", 0.9, d=10, factors={"n": 100}),
        row("a", "s2", 0.7, d=10, factors={"n": 1000}),
        row("a", "s3", 0.3, d=50, factors={"n": 1000}),
        row("a", "s4", None, d=50, factors={"n": 1000}),
        row("a", "t", 0.3, d=50, family="real"),
    )
    by_d, by_n = dimension(rows), sample_size(rows)
    assert line(by_d, d=10)["f1"] == pytest.approx(0.8) and len(by_d) == 3
    assert line(by_d, d=50, family="synthetic")[["n", "missing"]].tolist() == [1, 1]
    assert line(by_n, rows=1000)["f1"] == pytest.approx(0.5) and by_n["rows"].tolist() == [100, 1000]
    with pytest.raises(RunError, match="factor 'n'"):
        sample_size(table(row("a", "s", 0.5)))


def test_protocols_change_against_the_default():
    protocol = lambda name: {"split": "obs_int", "factors": {"protocol": name}}  # noqa: E731
    rows = table(
        row("a", "s-default", 0.4, **protocol("default_resampling")),
        row("a", "s-shift", 0.3, **protocol("shift")),
        row("a", "s-dense", 0.8, **protocol("dense")),
        row("b", "s-default", 0.5, **protocol("default_resampling")),
        row("b", "s-shift", None, **protocol("shift")),
    )
    found = protocols(rows)
    assert line(found, method="a", protocol="dense")["delta_f1"] == pytest.approx(0.4)
    assert line(found, method="a", protocol="shift")["f1_sd"] == pytest.approx(np.std([0.4, 0.3, 0.8]))  # ddof = 0
    assert np.isnan(found.loc[found["method"] == "b", "f1_sd"]).all()  # not the spread over fewer protocols
    with pytest.raises(RunError, match="protocol 'other'; found|has the protocol 'other'"):
        protocols(rows, default="other")


def test_domains_are_centred_on_the_method_itself():
    rows = table(
        row("a", "s1", 0.2, factors={"domain": "health"}),
        row("a", "s2", 0.4, factors={"domain": "health"}),
        row("a", "s3", 0.9, factors={"domain": "energy"}),
    )
    found = domains(rows)
    assert line(found, domain="health")["shift"] == pytest.approx(0.3 - 0.5)
    assert line(found, domain="energy")["shift"] == pytest.approx(0.9 - 0.5)
    assert found["sd"].tolist() == pytest.approx([0.6 / np.sqrt(2)] * 2)  # shifts -.2 and .4, ddof = 1


def test_double_centring():
    toy = pd.DataFrame([[0.9, 0.5], [0.3, 0.5]], index=["a", "b"], columns=["x", "y"])
    np.testing.assert_allclose(double_centred(toy), [[0.15, -0.15], [-0.15, 0.15]])
    rng = np.random.default_rng(0)
    additive = pd.DataFrame(rng.random((6, 1)) + rng.random((1, 4)))
    np.testing.assert_allclose(double_centred(additive), 0, atol=1e-12)
    other = double_centred(pd.DataFrame(rng.random((6, 4))))
    np.testing.assert_allclose(other.sum(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(other.sum(axis=1), 0, atol=1e-12)


def interaction_rows(*more):
    return table(
        *(row(method, f"{level}{i}", f1, factors={"graph_family": level})
          for method, level, scores in [("a", "x", (0.8, 1.0)), ("a", "y", (0.5,)), ("b", "x", (0.3, 0.3)),
                                        ("b", "y", (0.5,))]
          for i, f1 in enumerate(scores)),
        *more,
    )  # fmt: skip


def test_interactions_by_graph_family():
    found = interactions(interaction_rows())
    assert line(found, method="a", level="x")[["f1", "interaction", "n"]].tolist() == pytest.approx([0.9, 0.15, 2])
    assert line(found, method="b", level="x")["interaction"] == pytest.approx(-0.15)


def test_a_method_without_a_category_does_not_bias_the_interactions_of_others():
    lacking = row("c", "x0", 1.0, factors={"graph_family": "x"}), row("c", "y0", None, factors={"graph_family": "y"})
    found = interactions(interaction_rows(*lacking))
    pd.testing.assert_frame_equal(
        found[found["method"] != "c"].reset_index(drop=True), interactions(interaction_rows())
    )
    assert found.loc[found["method"] == "c", "interaction"].isna().all()
    assert line(found, method="c", level="x")["f1"] == 1.0 and np.isnan(line(found, method="c", level="y")["f1"])


def test_floors_are_no_part_of_interactions():
    floor = [row("empty", name, 0.0, control=1, factors={"graph_family": name[0]}) for name in ("x0", "y0")]
    pd.testing.assert_frame_equal(interactions(interaction_rows(*floor)), interactions(interaction_rows()))


def test_interactions_of_edges_need_graphs():
    with pytest.raises(RunError, match="give the run"):
        interactions(interaction_rows(), factor="mechanism")
    with pytest.raises(RunError, match="pooled, not 'graph_family'"):
        interactions(interaction_rows(), pooled=True)


def test_the_line_through_nested_runs_is_least_squares():
    from scipy.stats import linregress

    k, seconds = np.array([100.0, 200.0, 500.0, 1000.0]), np.array([60.1, 63.0, 72.5, 87.0])
    fixed, graph, r2 = fit_line(k, seconds)
    reference = linregress(k, seconds)
    assert (fixed, graph, r2) == pytest.approx((reference.intercept, reference.slope, reference.rvalue**2))
    exact = fit_times(pd.DataFrame({"method": "a", "d": 10, "k": [1, 2, 5], "seconds": [3.5, 4.0, 5.5]}))
    assert exact.loc[0, ["t_fixed", "t_graph", "r2", "points"]].tolist() == pytest.approx([3.0, 0.5, 1.0, 3])
    assert np.isnan(fit_times(pd.DataFrame({"method": "a", "d": 10, "k": [1, 2], "seconds": [3.5, 4.0]}))["r2"][0])


def timed(count, *, method="avici", load=10.0, fit=0.5, batch=1, d=10, **more):
    """Rows of one worker: the first call loads."""
    return [
        row(method, f"s{i:02d}", 0.5, d=d, batch=batch, seconds_load=load / batch if i < batch else 0.0,
            seconds_fit=fit, finished=f"{i:02d}", **more)
        for i in range(count)
    ]  # fmt: skip


@pytest.mark.parametrize("batch", [1, 5])
def test_runtime_takes_load_and_graphs_apart(batch):
    rows = table(*timed(20, batch=batch), *timed(20, method="pc", load=0.0, fit=2.0))
    assert cumulated(rows).query("method == 'avici'")["k"].tolist() == [2, 4, 10, 20]
    found = runtime(rows)
    amortised = line(found, method="avici", d=10)
    assert amortised[["t_fixed", "t_graph", "r2", "points"]].tolist() == pytest.approx([10, 0.5, 1, 4])
    assert (amortised["timing"], line(found, method="pc", d=10)["timing"]) == ("fit", "end_to_end")
    seconds = np.repeat([10 / batch + 0.5, 0.5], [batch, 20 - batch])
    assert amortised["seconds_mean"] == pytest.approx(seconds.mean())
    assert amortised["seconds_sd"] == pytest.approx(seconds.std(ddof=1))
    whole = found[found["d"].isna()]
    assert seconds_per_graph(whole)["seconds"].tolist() == pytest.approx([0.5, 2.0])
    assert seconds_per_graph(whole)["rank"].tolist() == [1, 2]


def test_runtime_averages_over_dimensions_not_graphs():
    rows = table(
        *timed(20, fit=0.5), *[line | {"scenario": f"t{i}"} for i, line in enumerate(timed(40, fit=1.5, d=50))]
    )
    assert line(runtime(rows), d=pd.NA)["t_graph"] == pytest.approx(1.0)
    with pytest.raises(RunError, match="split 'obs_int'"):
        runtime(rows, split="obs_int")


def test_the_frontier_keeps_what_nothing_beats():
    assert pareto(np.array([1.0, 2, 2, 3]), np.array([0.3, 0.3, 0.5, 0.4])).tolist() == [True, False, True, False]
    assert pareto(np.array([1.0, 1]), np.array([0.3, 0.3])).tolist() == [True, True]
    rows = table(
        row("quick", "s", 0.3, seconds_fit=1.0),
        row("slow", "s", 0.9, seconds_fit=9.0),
        row("slow", "s", 0.5, split="obs_int", seconds_fit=9.0),
        row("worse", "s", 0.2, seconds_fit=5.0),
        row("empty", "s", 0.0, control=1, seconds_fit=0.1),
        row("broken", "s", None),
    )
    found = frontier(rows)
    assert found["method"].tolist() == ["empty", "quick", "worse", "slow"]
    assert found["pareto"].tolist() == [False, True, False, True]
    assert line(found, method="slow")["f1"] == pytest.approx(0.7)  # the mean of two cells


def test_sortability_bins_and_correlation():
    rows = table(
        *(row("a", f"s{i}", f1, var_sortability=v, r2_sortability=0.5)
          for i, (v, f1) in enumerate([(0.1, 0.2), (0.5, 0.3), (0.55, 0.5), (1.0, 0.9)])),
        row("a", "none", None, var_sortability=0.9, r2_sortability=0.5),
    )  # fmt: skip
    found = sortability(rows)
    var = found[found["which"] == "var"]
    assert var["bin"].tolist() == [0, 2, 4] and var["n"].tolist() == [1, 2, 1]
    assert var["f1"].tolist() == pytest.approx([0.2, 0.4, 0.9]) and (var["correlation"] == 1.0).all()
    assert var[["low", "high"]].to_numpy()[1].tolist() == [0.4, 0.6]
    assert found.loc[found["which"] == "r2", "correlation"].isna().all()  # it does not vary
    with pytest.raises(RunError, match="nothing of sortability"):
        sortability(rows.drop(columns=["var_sortability", "r2_sortability"]))
    with pytest.raises(RunError, match="unknown sortability"):
        sortability(rows, which="mean")


def test_deltas_compare_the_tables_that_both_runs_have():
    before = table(
        row("a", "s1", 0.5), row("b", "s1", 0.6), row("a", "s2", 0.1), row("gone", "s1", 0.9), row("a", "s4", 0.9),
        row("b", "s2", None),
    )  # fmt: skip
    after = table(
        row("a", "s1", 0.8), row("b", "s1", 0.6), row("a", "s2", 0.2), row("new", "s1", 0.9),
        row("a", "s4", 0.0, data_hash="another table"), row("b", "s2", 0.9),
    )  # fmt: skip
    found = deltas(before, other=after)
    assert found["method"].tolist() == ["b", "a"]  # s2 counts for a only
    a = line(found, method="a")
    assert a[["f1_before", "f1_after", "delta", "units"]].tolist() == pytest.approx([0.3, 0.5, 0.2, 2])
    assert line(found, method="b")[["delta", "units"]].tolist() == pytest.approx([0.0, 1])
    assert found["rank_before"].tolist() == [1, 2]
    with pytest.raises(RunError, match="no table in common"):
        deltas(before, other=table(row("a", "elsewhere", 0.5)))
    with pytest.raises(RunError, match="no method with a score"):
        deltas(before, other=table(row("new", "s1", 0.5)))


def test_names_and_options_are_checked():
    rows = table(row("a", "s1", 0.5))
    assert analyze(rows, "planes").equals(planes(rows))
    assert all(name == analysis.name for name, analysis in ANALYSES.items())
    with pytest.raises(RunError, match="no analysis 'plane'.*planes"):
        analyze(rows, "plane")
    with pytest.raises(RunError, match="no option 'round'.*rounds"):
        analyze(rows, "planes", round=3)
    with pytest.raises(RunError, match="needs the option 'other'"):
        analyze(rows, "deltas")
    with pytest.raises(RunError, match="no factor|has the factor|no scenario"):
        analyze(rows, "domains")
