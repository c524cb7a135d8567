"""Aggregation against sums done by hand."""

import json

import numpy as np
import pandas as pd
import pytest

from arena.errors import RunError
from eval.aggregate import TALLIES, VALUES, failures, leaderboard, scenario_means
from eval.store import COLUMNS


def table(*cells):
    """Rows from (family, scenario, split, replicate, method, f1, shd), with f1 None for a failure."""
    rows = []
    for family, scenario, split, replicate, method, f1, shd in cells:
        row = dict.fromkeys(COLUMNS, np.nan) | {"family": family, "scenario": scenario, "split": split, "control": 0}
        row |= {
            "replicate": replicate,
            "method": method,
            "f1": f1,
            "shd": shd,
            "sid": 1.0,
            "seconds_fit": 2.0,
        }
        row |= {
            "status": "completed",
            "reason": "",
            "factors": json.dumps({"domain": scenario[0], "m": ["x", "y"]}),
        }
        if f1 is None:
            row |= {
                "status": "timed_out",
                "reason": "over 1 s",
                "sid": np.nan,
                "seconds_fit": np.nan,
                "f1": np.nan,
            }
        rows.append(row)
    return pd.DataFrame(rows)


TOY = table(
    ("synthetic", "a1", "obs", 0, "pc", 0.2, 10),
    ("synthetic", "a1", "obs", 1, "pc", 0.4, 20),
    ("synthetic", "a2", "obs", 0, "pc", 0.6, 5),
    ("synthetic", "a2", "obs", 1, "pc", None, np.nan),  # the scenario counts by its other replicate
    ("synthetic", "a3", "obs", 0, "pc", None, np.nan),  # this one does not
    ("synthetic", "a3", "obs", 1, "pc", None, np.nan),
    ("formula", "b1", "obs", 0, "pc", 0.9, 1),
    ("formula", "b1", "obs_int", 0, "pc", 0.5, 3),
    ("formula", "b1", "obs", 0, "slow", None, np.nan),
)


def cell(board, **where):
    for name, value in where.items():
        board = board[board[name] == value]
    assert len(board) == 1
    return board.iloc[0]


def test_replicates_then_scenarios_then_families():
    board = leaderboard(TOY)
    assert list(board.columns) == ["family", "split", "method", "control", "complete", *TALLIES, *VALUES]
    synthetic = cell(board, family="synthetic", split="obs", method="pc")
    assert (synthetic["n"], synthetic["missing"]) == (2, 3)
    assert synthetic["f1"] == pytest.approx((0.3 + 0.6) / 2)
    assert synthetic["f1_sd"] == pytest.approx(0.3 / np.sqrt(2))  # ddof = 1 over the two scenario means
    assert synthetic["shd"] == pytest.approx((15 + 5) / 2)
    assert synthetic["shd_sd"] == pytest.approx(10 / np.sqrt(2))
    assert synthetic["seconds"] == 2

    lone = cell(board, family="formula", split="obs", method="pc")
    assert lone["f1"] == 0.9 and np.isnan(lone["f1_sd"])

    overall = cell(board, family="all", split="obs", method="pc")
    assert overall["f1"] == pytest.approx((0.45 + 0.9) / 2)
    assert overall["f1_sd"] == pytest.approx(0.3 / np.sqrt(2))  # of the available cells
    assert (overall["n"], overall["missing"]) == (3, 3)
    average = cell(board, family="all", split="avg", method="pc")
    assert average["f1"] == pytest.approx((0.45 + 0.9 + 0.5) / 3)


def test_a_method_without_any_score_stays_in_the_table_without_numbers():
    for family in ("formula", "all"):
        slow = cell(leaderboard(TOY), family=family, split="obs", method="slow")
        assert (slow["n"], slow["missing"], slow["sid_missing"]) == (0, 1, 0)
        assert slow[list(VALUES)].isna().all()


def test_order_is_by_group_and_then_by_f1():
    rows = table(
        ("f", "a", "obs", 0, "low", 0.1, 1),
        ("f", "a", "obs", 0, "high", 0.9, 1),
        ("f", "a", "obs", 0, "none", None, 1),
    )
    assert list(leaderboard(rows)["method"])[:3] == ["high", "low", "none"]
    assert list(leaderboard(rows)["split"]) == ["obs"] * 6 + ["avg"] * 3


def test_means_over_other_tables_come_after_those_over_all():
    rows = table(
        ("f", "a", "obs", 0, "whole", 0.4, 1),
        ("f", "b", "obs", 0, "whole", 0.4, 1),
        ("f", "a", "obs", 0, "lost one", 0.9, 1),
        ("f", "b", "obs", 0, "lost one", None, 1),
        ("f", "a", "obs", 0, "not there yet", 0.8, 1),
        ("g", "c", "obs", 0, "whole", 0.4, 1),
        ("g", "c", "obs", 0, "one group", 0.9, 1),
        ("g", "c", "obs_int", 0, "whole", 0.4, 1),
        ("g", "c", "obs_int", 0, "lost one", 0.9, 1),
    )
    board = leaderboard(rows)
    whole = {tuple(line) for line in board[board["complete"]][["family", "split", "method"]].to_numpy()}
    assert whole == {
        *(("f", "obs", "whole"), ("g", "obs", "whole"), ("g", "obs", "one group"), ("all", "obs", "whole")),
        *(("g", "obs_int", "whole"), ("g", "obs_int", "lost one"), ("all", "obs_int", "whole")),
        *(("all", "obs_int", "lost one"), ("all", "avg", "whole")),
    }
    for _, group in board.groupby(["family", "split"]):
        assert list(group["complete"]) == sorted(group["complete"], reverse=True)
        for _, part in group.groupby("complete"):
            assert list(part["f1"]) == sorted(part["f1"], reverse=True)
    # Replicates count too, though the scenarios are the same.
    replicates = table(*(("f", "a", "obs", r, m, 0.1, 1) for r, m in ((0, "m"), (1, "m"), (0, "half"))))
    assert not cell(leaderboard(replicates), family="f", method="half")["complete"]


def test_scored_tables_without_an_auroc_are_counted_where_there_are_edge_scores():
    rows = table(*((f, s, "obs", 0, m, 0.1, 1) for f, s in (("f", "a"), ("f", "b"), ("g", "c")) for m in ("w", "hard")))
    rows.loc[[0], ["auroc", "average_precision"]] = 0.7
    board = leaderboard(rows)
    assert cell(board, family="f", method="w")["auroc_missing"] == 1
    assert cell(board, family="g", method="w")["auroc_missing"] == 1  # a gap in the mean over the groups
    assert cell(board, family="all", split="obs", method="w")["auroc_missing"] == 2
    assert not board[board["method"] == "hard"]["auroc_missing"].any()


def test_cyclic_predictions_are_counted_where_sid_is_averaged():
    rows = table(("f", "a", "obs", 0, "m", 0.1, 1), ("f", "b", "obs", 0, "m", 0.1, 1))
    rows.loc[0, "sid"] = np.nan
    found = cell(leaderboard(rows), family="f", split="obs", method="m")
    assert (found["sid"], found["sid_missing"], found["missing"]) == (1.0, 1, 0)


def test_average_row_as_in_the_published_table():
    """Table 2, GIES: means and SDs of the six cells, and their plain means in column Avg."""
    published = {
        ("synthetic", "obs"): (0.48, 0.13, 123.6, 174.1),
        ("synthetic", "obs_int"): (0.48, 0.11, 134.0, 180.7),
        ("semantic", "obs"): (0.55, 0.13, 33.4, 15.2),
        ("semantic", "obs_int"): (0.57, 0.13, 32.9, 15.4),
        ("formula", "obs"): (0.47, 0.12, 36.7, 14.1),
        ("formula", "obs_int"): (0.52, 0.13, 34.7, 14.0),
    }
    cells = []
    for (family, split), (f1, f1_sd, shd, shd_sd) in published.items():
        for scenario, sign in (("a", 1), ("b", -1)):  # two scenarios with that mean and sample SD
            half = sign / np.sqrt(2)
            cells.append((family, scenario, split, 0, "gies", f1 + half * f1_sd, shd + half * shd_sd))
    average = cell(leaderboard(table(*cells)), family="all", split="avg")
    assert round(average["f1"], 2) == 0.51 and round(average["shd"], 1) == 65.9
    assert round(average["shd_sd"], 1) == 68.9
    assert average["f1_sd"] == pytest.approx(0.13, abs=0.006)  # printed from unrounded cells


def test_grouping_by_factors():
    board = leaderboard(TOY, by=("domain", "m"))
    assert cell(board, domain="a", split="obs", method="pc")["f1"] == pytest.approx(0.45)
    assert set(board["m"]) == {"x, y", "all"}
    with pytest.raises(RunError, match="cannot group by 'colour'; scenarios have the factors domain, m"):
        leaderboard(TOY, by=("colour",))


def test_failures_are_counted_by_reason():
    lost = failures(TOY)
    assert list(lost.columns) == ["family", "split", "method", "status", "reason", "count", "example"]
    assert list(lost["count"]) == [1, 3]
    assert cell(lost, family="synthetic")["example"] == "a2"
    assert failures(TOY[TOY["status"] == "completed"]).empty


def test_scenario_means():
    lines = scenario_means(TOY)
    half = cell(lines, scenario="a2")
    assert (half["completed"], half["missing"], half["f1"], half["status"]) == (
        1,
        1,
        0.6,
        "completed, timed_out",
    )
    assert np.isnan(cell(lines, scenario="a3")["f1"])


def test_nothing_finished_gives_empty_tables():
    nothing = TOY.iloc[:0]
    assert leaderboard(nothing).empty and failures(nothing).empty and scenario_means(nothing).empty
