"""Every figure compiles to Vega from the columns of its analysis, and shows each of its rows."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest

altair = pytest.importorskip("altair")
vl_convert = pytest.importorskip("vl_convert")

from arena.errors import RunError  # noqa: E402
from eval.analysis import ANALYSES  # noqa: E402
from eval.report import drawn  # noqa: E402
from eval.report.figures import FIGURES, draw  # noqa: E402

METHODS = ["gies", "pc", "empty"]
SPLITS = ["obs", "obs_int"]
FAMILIES = ["formula", "synthetic"]
BANDS = ["f1", "f1_low", "f1_high", "shd", "shd_low", "shd_high", "precision", "recall", "n", "missing"]


def grid(values: list[str], **axes: list) -> pd.DataFrame:
    """Every combination of the axes, with a number between 0 and 1 in each of the value columns."""
    frame = pd.DataFrame(list(itertools.product(*axes.values())), columns=list(axes))
    numbers = np.random.default_rng(len(frame)).uniform(0.1, 0.9, (len(frame), len(values)))
    return frame.assign(**{name: numbers[:, i] for i, name in enumerate(values)})


def frames() -> dict[str, pd.DataFrame]:
    """A small table of each analysis, with what is awkward in it: a missing value, a nullable column, one split."""
    family = {"family": FAMILIES, "split": SPLITS, "method": METHODS}
    factor = {"factor": ["d", "graph_family"], "level": ["5", "10", "tree"], "split": SPLITS, "method": METHODS}
    found = {
        "slices": grid(BANDS, **factor, family=FAMILIES),
        "wins": grid(["rate", "comparisons"], **family, opponent=METHODS).query("method != opponent"),
        "planes": grid(BANDS, **family).assign(control=lambda frame: frame["method"] == "empty"),
        "interactions": grid(["f1", "interaction", "n"], **factor),
        "dimension": grid(BANDS, **family, d=[10, 20, 50]),
        "sample_size": grid(BANDS, split=["obs"], method=METHODS, rows=[100, 200, 1000]),
        "protocols": grid(["f1", "shd", "delta_f1", "f1_sd", "n", "missing"], method=METHODS, protocol=list("abcdef")),
        "runtime": grid(["t_fixed", "t_graph", "r2", "points", "seconds_mean", "seconds_sd"], split=["obs"],
                        method=METHODS, d=[10, 20, None], timing=["fit", "end_to_end"]).astype({"d": "Int64"}),
        "frontier": grid(["seconds", "f1"], method=METHODS, timing=["fit"]).assign(pareto=[True, False, True]),
        "coverage": grid(["covered", "total", "ratio"], method=["avici", "cdfm"], axis=["noise", "root", "mean"]),
        "ood": grid(["f1_id", "f1_ood", "ref_id", "ref_ood", "r_id", "r_ood", "gap"], split=["obs"],
                    method=["avici", "cdfm"], axis=["noise", "mean"]),
        "estimates": grid(["f1", "c", "delta", "f1_id", "f1_ood"], split=["obs"], method=["avici", "cdfm"]),
        "domains": grid(["f1", "shift", "sd", "n"], **family, domain=["health", "energy"]),
        "elo": grid(["elo", "elo_low", "elo_high", "rank", "imputed_cells", "cells"], board=["observed", "imputed"],
                    method=METHODS),
        "ranks": grid(["mean_rank", "rank_low", "rank_high", "critical_difference"], split=["obs"],
                      metric=["f1", "shd"], method=METHODS).assign(groups="(gies, pc)"),
        "sortability": grid(["f1", "n", "correlation"], which=["var", "r2"], **family, bin=[0, 1]).assign(
            low=lambda frame: frame["bin"] / 2, high=lambda frame: frame["bin"] / 2 + 0.5),
        "errors": grid(["true", "hit", "reversed", "missed", "invented", "recall"], **factor),
        "deltas": grid(["f1_before", "f1_after", "delta", "rank_before", "rank_after", "units"], **family),
    }  # fmt: skip
    found["interactions"].loc[0, "interaction"] = np.nan
    return found


def svg_of(spec):
    return vl_convert.vegalite_to_svg(json.dumps(spec), vl_version=".".join(altair.SCHEMA_VERSION.split(".")[:2]))


@pytest.fixture(scope="module")
def specs():
    return {name: draw(name, frame) for name, frame in frames().items()}


def test_there_is_a_figure_for_each_analysis_but_the_plain_table():
    assert set(FIGURES) == set(frames()) == set(ANALYSES) - {"summary"}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_compiles_and_has_marks(specs, name):
    svg = svg_of(specs[name])
    assert svg.count("aria-roledescription") > len(METHODS) and "NaN" not in svg
    assert all(method in svg for method in frames()[name]["method"].unique())


def test_points_and_cells_are_those_of_the_table(specs):
    def drawn_values(name):
        svg = svg_of(specs[name])
        return svg.count('aria-roledescription="point"'), svg.count('aria-roledescription="rect mark"')

    assert drawn_values("elo")[0] == len(frames()["elo"])
    assert drawn_values("planes")[0] == 2 * len(frames()["planes"])
    assert drawn_values("wins")[1] == len(frames()["wins"])
    # One factor at a time.
    assert drawn_values("slices")[1] == len(frames()["slices"]) / 2


def test_the_page_can_filter_a_figure_by_family_and_split(specs):
    for name, spec in specs.items():
        filters = [column for column in ("family", "split") if column in frames()[name].columns]
        assert [param["name"] for param in spec["params"]][: len(filters)] == filters, name
    spec = json.loads(json.dumps(specs["dimension"]))
    whole = svg_of(spec)
    spec["params"][0]["value"], spec["params"][1]["value"] = "formula", "obs"
    part = svg_of(spec)
    assert "synthetic" in whole and "synthetic" not in part and "obs_int" not in part and "formula" in part
    points = 'aria-roledescription="point"'
    assert part.count(points) == whole.count(points) / 4 == 9


class Analysis:
    """Stands for one of `ANALYSES`."""

    def __init__(self, answer):
        self.title, self.source, self.needs_run, self.answer = "Title", "source", False, answer

    def required(self):
        return []

    def function(self, rows):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_a_figure_that_cannot_be_drawn_says_why(monkeypatch):
    good = frames()
    answers = {
        "planes": good["planes"],
        "wins": good["wins"].iloc[:0],
        "slices": RunError("no factors here"),
        "elo": ValueError("odd numbers"),
        "ranks": good["ranks"].assign(mean_rank=np.nan),
        "dimension": good["dimension"].query("d == 10"),
        "domains": good["domains"].assign(shift=np.inf),
    }
    monkeypatch.setattr("eval.analysis.ANALYSES", {name: Analysis(answer) for name, answer in answers.items()})
    found = {line["name"]: line for line in drawn.figures(None, None)}  # type: ignore
    assert found.pop("planes")["spec"] and all(line["spec"] is None for line in found.values())
    reasons = {name: line["reason"] for name, line in found.items()}
    assert reasons["slices"] == "no factors here" and "ValueError: odd numbers" in reasons["elo"]
    assert reasons["wins"] == "this run has no data for it" and "no value of 'mean_rank'" in reasons["ranks"]
    assert reasons["dimension"] == "all scores of this run have the same 'd'" and "not JSON" in reasons["domains"]
