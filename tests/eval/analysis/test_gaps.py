"""What is missing, equal or unfinished changes no other number, and is said."""

import numpy as np
import pytest
from analysis_rows import line, row, table

from arena.errors import RunError
from eval.aggregate import leaderboard
from eval.analysis import analyze
from eval.analysis.frame import unit_scores, with_levels


def test_equal_scores_are_ties_in_any_order_of_the_replicates():
    values = [1 / 11, 2 / 11, 3 / 11, 2 / 11, 2 / 11, 0.1]
    rng = np.random.default_rng(0)
    for _ in range(30):
        rows = [row("a", "s", f1, replicate=r) for r, f1 in enumerate(values)]
        rows += [row("b", "s", f1, replicate=r, shd=0.0) for r, f1 in enumerate(rng.permutation(values))]
        units = unit_scores(table(*rows)).set_index("method")
        assert units.loc["a", "f1"] == units.loc["b", "f1"]


def test_no_protocol_in_the_split_is_said():
    rows = table(row("a", "s", 0.5, factors={"protocol": "default_resampling"}))
    with pytest.raises(RunError, match="no scenario of split 'obs_int' has the protocol"):
        analyze(rows, "protocols")


def test_fits_without_an_answer_are_no_graphs_of_a_runtime_fit():
    rows = [row("a", f"s{k}", 0.5, seconds_fit=1.0, finished=f"{k:02}") for k in range(10)]
    rows += [row("a", f"t{k}", None, seconds_fit=100.0, finished=f"0{k}x") for k in range(5)]
    times = analyze(table(*rows), "runtime", pretrained=["a"])
    assert line(times, d=3).t_graph == pytest.approx(1.0)


@pytest.mark.parametrize("by", ["d", "edges"])
def test_boards_by_size_keep_what_never_saw_its_table(by):
    rows = [row("a", "s", 0.5, edges=4), row("b", "s", None, edges=None) | {"d": None}]
    rows = table(*rows).assign(reduced=0, sid=np.nan, auroc=np.nan).astype({"d": "Int64", "edges": "Int64"})
    for name in ("nshd", "reachability_distance", "average_precision", "cpdag_shd"):
        rows[name] = np.nan
    board = leaderboard(rows, by=by)
    assert board[board["method"] == "b"]["missing"].tolist() == [1, 1, 1]
    with pytest.raises(RunError, match="cannot group by method"):
        leaderboard(rows, by=["method"])


def test_a_method_that_failed_everywhere_is_named_beside_the_ranks():
    rows = [row(m, f"s{k}", f1) for m, f1 in (("a", 0.5), ("b", 0.4), ("c", None)) for k in range(4)]
    assert set(analyze(table(*rows), "ranks")["without"]) == {"c"}
    refused = [r | {"status": "unsupported"} if r["method"] == "c" else r for r in rows]
    assert set(analyze(table(*refused), "ranks")["without"]) == {""}


def test_interactions_are_those_of_common_scenarios():
    """A and B score the same wherever both have a score, so that nothing favours either."""
    levels = {"s1": "x", "s2": "x", "s3": "y", "s4": "y"}
    scores = {"s1": 0.9, "s2": 0.1, "s3": 0.5, "s4": 0.5}
    rows = [row(m, s, None if (m, s) == ("b", "s1") else f1, factors={"graph_family": levels[s]})
            for m in "ab" for s, f1 in scores.items()]  # fmt: skip
    found = analyze(table(*rows), "interactions", factor="graph_family")
    assert found["interaction"].abs().max() < 1e-12
    assert line(found, method="a", level="x").n == 2 and line(found, method="a", level="x").common == 1


def test_deltas_pair_replicates():
    before = table(row("a", "s", 0.2, replicate=0), row("a", "s", 0.8, replicate=1))
    after = table(row("a", "s", None, replicate=0), row("a", "s", 0.8, replicate=1))
    assert analyze(before, "deltas", other=after)["delta"].tolist() == [0.0]
    with pytest.raises(RunError, match="no method with a score on the same table"):
        analyze(before, "deltas", other=table(row("a", "s", None)))


def test_a_summary_says_what_has_no_score_at_all():
    found = line(analyze(table(row("a", "s", None)), "summary"), metric="f1")
    assert found.n == 0 and found.missing == 1 and np.isnan(found["mean"])


def test_quartiles_are_those_of_scenarios_however_many_methods_ran():
    rows = [row("a", f"s{z}", 0.5, factors={"z": z}) for z in range(14)]
    more = [row("b", f"s{z}", 0.5, factors={"z": z}) for z in range(3)]
    one, two = (with_levels(unit_scores(table(*some)), "z")["level"].cat.categories for some in (rows, rows + more))
    assert list(one) == list(two) and len(one) == 4
    lists = [row("a", f"s{z}", 0.5, factors={"z": [z, z + 1]}) for z in range(14)]
    assert len(analyze(table(*lists), "slices", factor="z")) == 4


def test_sortability_of_a_scenario_is_a_mean_over_its_tables():
    """Whatever number of methods has a row of each, as in a run that is not finished."""
    rows = [row("a", "s", 0.5, replicate=0, var_sortability=0.0)]
    rows += [row(m, "s", 0.5, replicate=1, var_sortability=0.9) for m in "abc"]
    assert set(analyze(table(*rows), "sortability", which="var")["bin"]) == {2}


@pytest.mark.parametrize("options", [{"rounds": 0}, {"rounds": -1}, {"seed": -1}])
def test_options_that_are_no_counts(options):
    with pytest.raises(RunError, match="must be a whole number"):
        analyze(table(row("a", "s", 0.5), row("a", "t", 0.6)), "planes", **options)


@pytest.mark.parametrize("alpha", [0, 1, 2])
def test_a_level_lies_between_0_and_1(alpha):
    with pytest.raises(RunError, match="alpha is .*between 0 and 1"):
        analyze(table(row("a", "s", 0.5), row("b", "s", 0.6)), "ranks", alpha=alpha)
