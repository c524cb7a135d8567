"""Elo against the closed form for two methods, ranks against tables of Demsar 2006 and worked examples."""

import math

import numpy as np
import pytest
from analysis_rows import line, row, table

from arena.errors import RunError
from eval.analysis import elo as module
from eval.analysis.ranks import critical_difference, neighbours, ranks


def games(*outcomes, **more):
    """Rows of `random_regress` against `a`, one scenario an outcome: F1 of each."""
    return [
        row(method, f"s{i:02d}", f1, **more)
        for i, pair in enumerate(outcomes)
        for method, f1 in zip(("random_regress", "a"), pair, strict=True)
    ]


def elo(rows, *, rounds=5, **options):
    return module.elo(rows, rounds=rounds, **options)


WON, LOST, DRAWN = (0.3, 0.8), (0.8, 0.3), (0.5, 0.5)


def test_two_methods_have_the_odds_of_their_games():
    found = elo(table(*games(*[WON] * 6, LOST, DRAWN, DRAWN)), rounds=50)
    assert line(found, method="random_regress")["elo"] == pytest.approx(1000.0)
    a = line(found, method="a")  # 7 of 9
    assert a["elo"] == pytest.approx(1000 + 400 * math.log10(7 / 2), abs=0.01)
    assert a["elo_low"] < a["elo"] < a["elo_high"] and a["rank"] == 1
    assert set(found["board"]) == {"observed"} and (found["cells"] == 9).all() and (found["imputed_cells"] == 0).all()


def test_shd_counts_the_other_way():
    rows = table(*games(WON, WON, LOST)).assign(shd=lambda frame: frame["f1"] * 10)
    by_f1, by_shd = (line(elo(rows, metric=metric), method="a")["elo"] for metric in ("f1", "shd"))
    assert by_f1 - 1000 == pytest.approx(1000 - by_shd, abs=0.01)
    with pytest.raises(RunError, match="unknown metric"):
        elo(rows, metric="sid")


def gappy():
    rest = [row("b", f"s{i:02d}", f1) for i, f1 in enumerate((0.9, 0.9, None, 0.9))]
    return table(*games(WON, WON, LOST, DRAWN), *rest)


def test_a_missing_cell_is_an_error_that_names_it():
    with pytest.raises(RunError, match="1 cells of split 'obs' have no score: b on s02.*impute"):
        elo(gappy())
    absent = gappy()
    with pytest.raises(RunError, match="b on s02"):  # whether its row failed or is not there
        elo(absent[absent["f1"].notna()])


def test_imputation_is_by_name_and_both_boards_are_shown():
    found = elo(gappy(), impute="worst")
    observed, imputed = (found[found["board"] == board] for board in ("observed", "imputed"))
    assert set(observed["method"]) == {"random_regress", "a"}
    assert line(imputed, method="b")["imputed_cells"] == 1 and line(imputed, method="a")["imputed_cells"] == 0
    complete = elo(gappy().dropna(subset="f1").query("scenario != 's02'"))
    assert set(complete["method"]) == {"random_regress", "a", "b"}
    # worst on s02 is .3, a tie with `a` and a loss to random_regress
    by_hand = gappy()
    by_hand.loc[by_hand["f1"].isna(), ["f1", "status"]] = [0.3, "completed"]
    expected = elo(by_hand)
    for method in ("a", "b"):
        assert line(imputed, method=method)["elo"] == pytest.approx(line(expected, method=method)["elo"])


def test_a_number_a_method_or_a_mapping_can_stand_in():
    board = lambda how: elo(gappy(), impute=how).query("board == 'imputed'").set_index("method")["elo"]  # noqa: E731
    assert board(0.0)["b"] < board("worst")["b"] < board({"b": "random_regress"})["b"]
    with pytest.raises(RunError, match="'b' lacks scores"):
        elo(gappy(), impute={"a": 0.0})
    with pytest.raises(RunError, match="cannot impute by 'best'"):
        elo(gappy(), impute="best")


def test_methods_that_do_not_take_the_split_and_floors_do_not_compete():
    rows = [row("obs_only", f"s{i:02d}", None, split="obs_int", status="unsupported") for i in range(2)]
    floor = [row("empty", f"s{i:02d}", 0.1, split="obs_int", control=1) for i in range(2)]
    found = elo(table(*games(WON, LOST, split="obs_int"), *rows, *floor), split="obs_int")
    assert set(found["method"]) == {"random_regress", "a"}
    with pytest.raises(RunError, match="anchored on 'random_regress'"):
        elo(table(row("a", "s", 0.5), row("b", "s", 0.6)))


@pytest.mark.parametrize(("k", "q"), [(2, 1.960), (3, 2.343), (5, 2.728), (10, 3.164)])
def test_critical_differences_are_those_of_demsar(k, q):
    """Table 5(a) of Demsar 2006."""
    n = 30
    assert critical_difference(k, n) == pytest.approx(q * math.sqrt(k * (k + 1) / (6 * n)), rel=5e-4)


def test_neighbours_are_the_largest_groups():
    means = {"a": 1.0, "b": 1.8, "c": 2.5, "d": 4.0}
    assert neighbours(means, 1.0) == [("a", "b"), ("b", "c")]
    assert neighbours(means, 0.5) == [] and neighbours(means, 9.0) == [("a", "b", "c", "d")]


def test_ranks_by_hand():
    scores = {"a": (0.9, 0.8, 0.7), "b": (0.5, 0.8, 0.1), "c": (0.2, 0.1, 0.5)}
    rows = [row(name, f"s{i}", f1) for name, values in scores.items() for i, f1 in enumerate(values)]
    rows += [row("a", "s3", 0.1), row("b", "s3", 0.2), row("c", "s3", None), row("empty", "s0", 1.0, control=1)]
    found = ranks(table(*rows))
    f1 = found[found["metric"] == "f1"].set_index("method")
    assert f1["mean_rank"].to_dict() == pytest.approx({"a": 3.5 / 3, "b": 6.5 / 3, "c": 8 / 3})
    assert (f1["n"] == 3).all() and (f1["left_out"] == 1).all()
    # Friedman with ties: 12 sum R^2 / (n k (k + 1)) - 3 n (k + 1), over 1 - sum (t^3 - t) / (n (k^3 - k))
    totals = np.array([3.5, 6.5, 8.0])
    plain = 12 * (totals**2).sum() / (3 * 3 * 4) - 3 * 3 * 4
    assert f1["friedman"].iloc[0] == pytest.approx(plain / (1 - 6 / (3 * 24)))
    assert f1["groups"].iloc[0] == "a, b, c"  # three scenarios separate nothing
    assert (f1["rank_low"] <= f1["mean_rank"]).all() and (f1["mean_rank"] <= f1["rank_high"]).all()
    assert f1["first"].sum() == pytest.approx(1.0) and f1["first"].idxmax() == "a"
    shd = found[found["metric"] == "shd"].set_index("method")
    assert shd["mean_rank"].to_dict() == f1["mean_rank"].to_dict()  # the toy's SHD falls as its F1 grows


def test_ranks_need_a_common_scenario():
    with pytest.raises(RunError, match="at least two methods"):
        ranks(table(row("a", "s1", 0.5), row("b", "s2", 0.5)))
