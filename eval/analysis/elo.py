"""Elo as living benchmarks print it (package `bencheval`): Bradley-Terry over scenarios, anchored on RandomRegress."""

import logging
from collections.abc import Mapping
from typing import Any

import pandas as pd

from arena.errors import RunError
from eval.analysis.frame import Source, competitors, score_table, unit_scores

ANCHOR, RATING = "random_regress", 1000.0
WORST = "worst"
#: Metric -> how an error, smaller is better and never negative, is made of it.
ERRORS = {"f1": lambda value: 1.0 - value, "shd": lambda value: value}
COLUMNS = ["split", "board", "method", "elo", "elo_low", "elo_high", "rank", "imputed_cells", "cells"]
MAX_NAMED = 5

Imputation = str | float


def elo(
    source: Source,
    *,
    split: str = "obs",
    metric: str = "f1",
    impute: Imputation | Mapping[str, Imputation] | None = None,
    anchor: str = ANCHOR,
    rounds: int = 100,
) -> pd.DataFrame:
    """Elo ratings with 95% intervals; every scenario is a game between each pair of methods.

    A method competes in a split if it takes it: one that is unsupported on every table does not. Floors do not compete.
    A rating needs every method on every scenario, so a missing cell is an error, unless it is said what stands in for
    it; then there are two boards: the observed one, of the methods that have every cell, and the imputed one, of all.

    Args:
        source: A run or its rows.
        split: The split.
        metric: `f1` or `shd`.
        impute: What a missing cell counts as: `worst` (the worst score that any method has on that scenario), a number,
            or the name of a method, whose score on that scenario is taken. One for all methods, or by method.
        anchor: The method that is rated 1000.
        rounds: Bootstrap resamples of the scenarios.

    Returns:
        `split`, `board` (`observed` or `imputed`), `method`, `elo`, `elo_low`, `elo_high`, `rank`, `imputed_cells`,
        `cells`. The intervals are those of the ratings about the mean of the field, put around the anchored rating. A
        method that wins or loses everything has no finite rating but by a tiny penalty; its number means very little.

    Raises:
        RunError: If cells are missing and nothing stands in for them (they are named), the anchor does not compete or
            is incomplete, or `bencheval` is not installed.
    """
    if metric not in ERRORS:
        raise RunError(f"unknown metric '{metric}'; Elo is rated on {' or '.join(ERRORS)}")
    units: Any = competitors(unit_scores(source))
    units = units[units["split"] == split]
    tables = units["completed"] + units["missing"]
    takes = (units["unsupported"] < tables).groupby(units["method"]).any()
    table = score_table(units[units["method"].map(takes).astype(bool)], metric)
    if anchor not in table.columns:
        raise RunError(f"ratings are anchored on '{anchor}', which has no fit in split '{split}'; run it too")
    gaps = table.isna()
    if impute is None and gaps.to_numpy().any():
        raise RunError(_missing(gaps, split))
    boards = [("observed", table.dropna(axis=1), gaps)]
    if impute is not None:
        boards.append(("imputed", _imputed(table, impute, metric), gaps))
    shown: Any = pd.concat([_board(*board, metric, anchor, rounds) for board in boards], ignore_index=True)
    return shown.assign(split=split).loc[:, COLUMNS]


def _missing(gaps: pd.DataFrame, split: str) -> str:
    cells = [f"{method} on {scenario}" for scenario, line in gaps.iterrows() for method in gaps.columns[line]]
    more = f" and {len(cells) - MAX_NAMED} more" if len(cells) > MAX_NAMED else ""
    return (
        f"{len(cells)} cells of split '{split}' have no score: {'; '.join(cells[:MAX_NAMED])}{more}. Ratings need "
        "all of them: run them again, or say what they count as (impute: 'worst', a number, or the name of a method)"
    )


def _imputed(table: pd.DataFrame, impute: Imputation | Mapping[str, Imputation], metric: str) -> pd.DataFrame:
    by_method = impute if isinstance(impute, Mapping) else dict.fromkeys(table.columns, impute)
    filled: Any = table.copy()
    for method in table.columns[table.isna().any()]:
        if method not in by_method:
            raise RunError(f"'{method}' lacks scores, and nothing is said to stand in for them")
        how, gaps = by_method[method], table[method].isna()
        if how == WORST:
            stand_in: Any = table.min(axis=1) if metric == "f1" else table.max(axis=1)
        elif isinstance(how, str):
            if how not in table.columns:
                raise RunError(
                    f"cannot impute by '{how}': it is neither '{WORST}', a number, nor a method of this split"
                )
            stand_in = table[how]
        else:
            stand_in = pd.Series(float(how), index=table.index)
        filled.loc[gaps, method] = stand_in[gaps]
    if filled.isna().to_numpy().any():
        raise RunError(f"what stands in for a missing cell is missing too; {_missing(filled.isna(), 'imputed')}")
    return filled


def _board(name: str, table: pd.DataFrame, gaps: pd.DataFrame, metric: str, anchor: str, rounds: int) -> pd.DataFrame:
    """Ratings of the methods of a table `[scenarios, methods]` without gaps."""
    if anchor not in table.columns:
        raise RunError(f"the {name} board has no anchor: '{anchor}' lacks scores itself")
    if table.shape[1] < 2:
        raise RunError(f"the {name} board has only '{anchor}'; a rating needs two methods with every score")
    evaluator = _evaluator()
    errors = ERRORS[metric](table)
    long = errors.melt(ignore_index=False, var_name="method", value_name="metric_error").reset_index(names="task")
    rated = evaluator.compute_elo(
        results_per_task=long, calibration_framework=anchor, INIT_RATING=RATING, BOOTSTRAP_ROUNDS=rounds,
        round_decimals=None,
    )  # fmt: skip
    imputed: Any = gaps[table.columns].sum()
    lines = pd.DataFrame(
        {"method": rated.index.astype(str), "elo": rated["elo"].to_numpy(),
         "elo_low": (rated["elo"] - rated["elo-"]).to_numpy(), "elo_high": (rated["elo"] + rated["elo+"]).to_numpy()}
    )  # fmt: skip
    lines["rank"] = lines["elo"].round(6).rank(ascending=False, method="min").astype(int)
    lines["imputed_cells"] = lines["method"].map(imputed).astype(int) if name == "imputed" else 0
    return lines.assign(board=name, cells=len(table))


def _evaluator() -> Any:
    try:
        from bencheval.evaluator import BenchmarkEvaluator
    except ImportError:
        raise RunError(
            "Elo needs the package bencheval; install it with: pip install 'causal-arena[analysis]'"
        ) from None
    logging.getLogger("bencheval").setLevel(logging.ERROR)
    return BenchmarkEvaluator(columns_to_agg_extra=None)
