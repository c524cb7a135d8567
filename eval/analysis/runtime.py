"""Runtime: one load and then k graphs, T(k) = T_fixed + k T_graph (paper 5.5, Tables 4 and 5)."""

from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd

from arena.errors import RunError
from eval.analysis.frame import Source, as_rows, unit_scores
from eval.analysis.priors import priors
from methods.base import Status

#: Shares of all graphs at which cumulated time is read: the proportions of the paper's nested runs.
NESTED = (0.1, 0.2, 0.5, 1.0)
COLUMNS = ["split", "method", "d", "t_fixed", "t_graph", "r2", "points", "seconds_mean", "seconds_sd", "timing"]
FIT, END_TO_END = "fit", "end_to_end"


def runtime(source: Source, *, split: str = "obs", pretrained: Collection[str] | None = None) -> pd.DataFrame:
    """Seconds of each method, by dimension and over all.

    The fit takes the rows of a method and dimension in the order in which they were finished as one run that loads once
    (for as long as its longest load took) and then scores one graph after another. Rows fitted in one call share its
    time.

    Args:
        source: A run or its rows, with `seconds_load` and `seconds_fit`.
        split: The split.
        pretrained: Methods whose comparable time is `t_graph`, since a load is soon amortised; those with a documented
            prior when None.

    Returns:
        `split`, `method`, `d` (missing: all dimensions), `t_fixed`, `t_graph`, `r2`, `points` of the fit (nan and 0
        below three points; over all dimensions plain means of those with a fit), `seconds_mean`, `seconds_sd` (load and
        fit of a table, mean and sample standard deviation over scenarios, replicates averaged first), `timing` (`fit`
        or `end_to_end`: which number is to be compared).

    Raises:
        RunError: If no row of the split has a time.
    """
    rows: Any = as_rows(source)
    rows = rows[rows["split"] == split]
    if not len(rows) or not {"seconds_fit", "seconds_load"} <= set(rows.columns) or rows["seconds_fit"].isna().all():
        raise RunError(f"no row of split '{split}' tells how many seconds it took")
    fits = fit_times(cumulated(rows))
    units: Any = unit_scores(rows)
    units["seconds"] = units["seconds_fit"] + units["seconds_load"].fillna(0.0)
    how = {"seconds_mean": ("seconds", "mean"), "seconds_sd": ("seconds", "std")}
    spent = units.dropna(subset=["seconds", "d"]).groupby(["method", "d"]).agg(**how).reset_index()
    lines = spent.merge(fits, on=["method", "d"], how="left")
    whole = units.dropna(subset="seconds").groupby("method").agg(**how).reset_index()
    lines = pd.concat([lines, whole.merge(mean_over_d(fits), on="method", how="left")], ignore_index=True)
    amortised = set(priors() if pretrained is None else pretrained)
    lines["timing"] = [FIT if method in amortised else END_TO_END for method in lines["method"]]
    lines["points"] = lines["points"].fillna(0).astype(int)
    lines["d"] = lines["d"].astype("Int64")
    return lines.assign(split=split).sort_values(["method", "d"], ignore_index=True).loc[:, COLUMNS]


def cumulated(rows: pd.DataFrame) -> pd.DataFrame:
    """Total time of nested runs: `method`, `d`, `k` (graphs), `seconds` (one load and k graphs); of completed rows."""
    table: Any = rows.dropna(subset=["seconds_fit", "d"])
    if "status" in table.columns:
        table = table[table["status"] == Status.completed]
    table = table.assign(batch=table["batch"] if "batch" in table.columns else 1)
    parts = []
    for (method, d), part in table.groupby(["method", "d"]):
        part = part.sort_values("finished", kind="stable") if "finished" in part.columns else part
        load = float((part["seconds_load"].fillna(0.0) * part["batch"].astype(float)).max())
        k = np.unique(np.ceil(len(part) * np.asarray(NESTED)).astype(int))
        total = load + part["seconds_fit"].to_numpy(float).cumsum()
        parts.append(pd.DataFrame({"method": method, "d": int(d), "k": k, "seconds": total[k - 1]}))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["method", "d", "k", "seconds"])


def fit_times(times: pd.DataFrame) -> pd.DataFrame:
    """The line through the times of nested runs, for each method and dimension.

    Args:
        times: `method`, `d`, `k`, `seconds`, as from `cumulated` or measured by nested runs.

    Returns:
        `method`, `d`, `t_fixed`, `t_graph`, `r2`, `points`; nan below three points, which any line would fit.
    """
    lines, table = [], times
    grouped: Any = table.groupby(["method", "d"])
    for (method, d), part in grouped:
        fit = fit_line(part["k"].to_numpy(float), part["seconds"].to_numpy(float)) if len(part) >= 3 else (np.nan,) * 3
        lines.append((method, d, *fit, len(part) if len(part) >= 3 else 0))
    found = pd.DataFrame(lines, columns=["method", "d", "t_fixed", "t_graph", "r2", "points"])
    return found.astype({"d": "Int64"})


def fit_line(k: np.ndarray, seconds: np.ndarray) -> tuple[float, float, float]:
    """Least squares of T(k) = T_fixed + k T_graph.

    Returns:
        T_fixed, T_graph, and R2, the share of the variance of the times that the line explains (nan if they are equal).
    """
    graph, fixed = np.polyfit(k, seconds, 1)
    spread = ((seconds - seconds.mean()) ** 2).sum()
    rest = ((seconds - fixed - graph * k) ** 2).sum()
    return float(fixed), float(graph), float(1 - rest / spread) if spread > 0 else np.nan


def mean_over_d(fits: pd.DataFrame) -> pd.DataFrame:
    """Plain means over the dimensions of a method (Table 4, T_fixed, Mean, Mean R2); `points` are summed."""
    table: Any = fits.dropna(subset="t_graph")
    how = {"t_fixed": "mean", "t_graph": "mean", "r2": "mean", "points": "sum"}
    return table.groupby("method").agg(how).reset_index()


def seconds_per_graph(times: pd.DataFrame) -> pd.DataFrame:
    """One comparable number a method (Table 5): mean `t_graph` where the load is amortised, else mean seconds.

    Args:
        times: The lines of all dimensions, as from `runtime`: `method`, `t_graph`, `seconds_mean`, `timing`.

    Returns:
        `method`, `seconds`, `timing`, `rank` (1 is fastest), fastest first. A pretrained method without a fit has its
        mean seconds, and says so by `timing`.
    """
    table: Any = times
    fitted = (table["timing"] == FIT) & table["t_graph"].notna()
    lines = pd.DataFrame({"method": table["method"], "seconds": table["seconds_mean"].mask(fitted, table["t_graph"])})
    lines["timing"] = np.where(fitted, FIT, END_TO_END)
    lines["rank"] = lines["seconds"].rank(method="min").astype("Int64")
    return lines.sort_values("seconds", ignore_index=True)
