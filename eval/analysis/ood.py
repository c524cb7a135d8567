"""Pretraining exposure: scores on and off the documented prior (equations 8 to 10; figures 15 and 16)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from arena.errors import RunError
from eval.analysis.frame import PLURALS, Source, score_table, unit_scores
from eval.analysis.priors import AXES, MEAN, Prior, coverage, priors
from eval.analysis.summary import average_f1

#: The graphical-search methods whose mean tells how hard a category is.
REFERENCE = ("cdis", "gies", "igsp", "pc")
COLUMNS = [
    *("split", "method", "axis", "f1_id", "f1_ood", "ref_id", "ref_ood", "r_id", "r_ood", "gap"),
    *("levels_id", "levels_ood", "n", "basis"),
]


def relative_gain(f1: float, reference: float) -> float:
    """Equation 8: how far above the reference a score is, as a share of the reference; nan for a reference of 0."""
    return (f1 - reference) / reference if reference > 0 else float("nan")


def relative_gap(r_id: float, r_ood: float) -> float:
    """Equation 9: delta = (1 + R_ID) / (1 + R_OOD) - 1."""
    return (1 + r_id) / (1 + r_ood) - 1


def full_estimates(f1: float, c: float, delta: float) -> tuple[float, float]:
    """Equation 10: the F1 that a score would be if all categories were covered, and if none was.

    Args:
        f1: The average F1.
        c: Mean documented coverage, 0 to 1.
        delta: As from `relative_gap`.

    Returns:
        `f1_id`, `f1_ood`; then c * f1_id + (1 - c) * f1_ood = f1 and f1_id = (1 + delta) * f1_ood.
    """
    f1_ood = f1 / (1 + c * delta)
    return (1 + delta) * f1_ood, f1_ood


def ood(source: Source, *, reference: Sequence[str] = REFERENCE, split: str = "obs") -> pd.DataFrame:
    """F1 on covered (ID) and held-out (OOD) categories, beside the mean of the reference methods on the same.

    Scenarios are those with a graph family. One counts in every category that it has, and categories are averaged
    before they are summed up. Only scenarios where the method and all reference methods have a score count, so that
    both are measured on the same ones.

    Args:
        source: A run or its rows. Rows whose label is a method with a prior are used.
        reference: The methods that say how hard a category is.
        split: The split.

    Returns:
        `split`, `method`, `axis` (the four axes, and their plain mean, which needs all four), `f1_id`, `f1_ood`,
        `ref_id`, `ref_ood`, `r_id`, `r_ood` (equation 8), `gap` = r_id - r_ood, `levels_id`, `levels_ood` (categories),
        `n` (scenarios), `basis` (of the prior; `assumed`: only how many categories it covers is published).

    Raises:
        RunError: If a reference method, or every method with a prior, has no score in that split.
    """
    units: Any = unit_scores(source)
    synthetic = np.array(["graph_family" in factors for factors in units["factors"]])
    units = units[(units["split"] == split) & synthetic]
    scored = set(units.loc[units["f1"].notna(), "method"])
    known = {name: prior for name, prior in priors().items() if name in scored}
    lacking = [name for name in reference if name not in scored]
    if lacking:
        raise RunError(
            f"the reference methods {', '.join(reference)} must all have scores of synthetic SCMs in split '{split}'; "
            f"{', '.join(lacking)} has none"
        )
    if not known:
        raise RunError(f"no method with a documented prior has a score in split '{split}': {', '.join(priors())}")
    table = score_table(units, "f1")
    factors = units.drop_duplicates("scenario").set_index("scenario")["factors"]
    lines = []
    for name, prior in known.items():
        both = pd.DataFrame({"method": table[name], "reference": table[list(reference)].mean(axis=1, skipna=False)})
        axes = [_axis(both.dropna(), factors, prior, axis) for axis in AXES]
        names = ("r_id", "r_ood", "gap")
        means = {field: float(np.mean([line[field] for line in axes])) for field in names}
        basis = "assumed" if "assumed" in prior.basis.values() else "documented"
        axes.append({"axis": MEAN, "n": axes[0]["n"], "basis": basis, **means})
        lines += [{"split": split, "method": name, **line} for line in axes]
    levels = ["levels_id", "levels_ood"]
    return pd.DataFrame(lines).reindex(columns=COLUMNS).astype(dict.fromkeys([*levels, "n"], "Int64"))


def estimates(source: Source, *, reference: Sequence[str] = REFERENCE, split: str = "obs") -> pd.DataFrame:
    """Crude F1 of each pretrained method if all, or none, of the categories were covered (equations 9 and 10).

    Args:
        source: A run or its rows.
        reference: As in `ood`.
        split: The split on which the gains are measured.

    Returns:
        `method`, `f1` (mean over the family-split cells of the run, as in Table 2, Avg), `c`, `delta`, `f1_id`,
        `f1_ood`, `basis`; nan where an axis has no covered or no held-out category in the run.

    Raises:
        RunError: As `ood`.
    """
    gains: Any = ood(source, reference=reference, split=split)
    average: Any = average_f1(unit_scores(source))
    ratios: Any = coverage()
    covered: Any = ratios[ratios["axis"] == MEAN].set_index("method")["ratio"]
    lines = []
    for line in gains[gains["axis"] == MEAN].itertuples():
        f1, c, delta = average[line.method], covered[line.method], relative_gap(line.r_id, line.r_ood)
        f1_id, f1_ood = full_estimates(f1, c, delta)
        lines.append(
            {"method": line.method, "f1": f1, "c": c, "delta": delta, "f1_id": f1_id, "f1_ood": f1_ood,
             "basis": line.basis}
        )  # fmt: skip
    return pd.DataFrame(lines)


def _name(axis: str) -> str:
    return PLURALS.get(axis, axis)


def _axis(scores: pd.DataFrame, factors: Any, prior: Prior, axis: str) -> dict[str, Any]:
    """One axis: means over categories of means over scenarios, on both sides of the prior."""
    members: dict[str, list[str]] = {}
    for scenario in scores.index:
        value = factors[scenario].get(_name(axis), [])
        for level in {value} if isinstance(value, str) else set(value):
            members.setdefault(level, []).append(scenario)
    line: dict[str, Any] = {"axis": axis, "n": len(scores), "basis": prior.basis[axis]}
    for side, inside in (("id", True), ("ood", False)):
        levels = sorted(level for level in members if (level in prior.covered[axis]) == inside)
        means = [scores.loc[members[level]].mean() for level in levels]
        f1, ref = (float(np.mean([m[name] for m in means])) if means else np.nan for name in ("method", "reference"))
        line |= {
            f"f1_{side}": f1,
            f"ref_{side}": ref,
            f"r_{side}": relative_gain(f1, ref),
            f"levels_{side}": len(levels),
        }
    return line | {"gap": line["r_id"] - line["r_ood"]}
