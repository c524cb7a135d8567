"""Charts of what is compared in pairs or ranked: two scores a method, ratings, mean ranks."""

from typing import Any

import altair as alt

from eval.report.charts import F1, UNIT, Frame, panels, ranked, span, tips

_ENDS = {"f1_id": "inside", "f1_ood": "outside", "f1_before": "before", "f1_after": "after"}


def ood(frame: Frame) -> Any:
    """F1 inside and outside of the documented training, axis by axis."""
    tooltip = ("method", "axis", "f1_id", "f1_ood", "ref_id", "ref_ood", "r_id", "r_ood", "gap")
    return _pairs(frame, "f1_id", "f1_ood", tooltip, columns="axis")


def estimates(frame: Frame) -> Any:
    """What F1 would be if everything, or nothing, were inside of the documented training."""
    return _pairs(frame, "f1_id", "f1_ood", ("method", "f1", "c", "delta", "f1_id", "f1_ood"))


def deltas(frame: Frame) -> Any:
    """F1 before and after."""
    return _pairs(frame, "f1_before", "f1_after", ("family", "split", "method", "f1_before", "f1_after", "delta",
                  "rank_before", "rank_after", "units"), rows="family")  # fmt: skip


def _pairs(frame: Frame, first: str, second: str, tooltip: tuple[str, ...], **facets: Any) -> Any:
    """Two points a method, joined."""
    y = alt.Y("method:N", sort=ranked(frame, second), title=None)
    bar = alt.Chart().mark_rule(color="#8a93a3", strokeWidth=2).encode(y=y, **span(first, second, F1, scale=UNIT))
    ends = [_ENDS[first], _ENDS[second]]
    shown = alt.Color("end:N", title=None, scale=alt.Scale(domain=ends, scheme="tableau10"))
    points = [
        alt.Chart().mark_point(filled=True, size=70).transform_calculate(end=f"'{end}'").encode(
            x=alt.X(f"{name}:Q", title=F1, scale=UNIT), y=y, color=shown, shape=alt.Shape("end:N", title=None,
            scale=alt.Scale(domain=ends, range=["circle", "diamond"])), tooltip=tips(frame, *tooltip))
        for name, end in zip((first, second), ends, strict=True)
    ]  # fmt: skip
    return panels(alt.layer(bar, *points).properties(width=320, height=alt.Step(20)), frame, **facets)


def elo(frame: Frame) -> Any:
    """Elo ratings with intervals; hollow where cells were imputed."""
    y = alt.Y("method:N", sort=ranked(frame, "elo"), title=None)
    scale = alt.Scale(zero=False)
    bar = (
        alt.Chart()
        .mark_rule(strokeWidth=2, color="#5b86b8")
        .encode(y=y, **span("elo_low", "elo_high", "Elo", scale=scale))
    )
    point = alt.Chart().mark_point(size=70, color="#5b86b8").encode(
        x=alt.X("elo:Q", title="Elo", scale=scale), y=y,
        fill=alt.condition("datum.imputed_cells > 0", alt.value("transparent"), alt.value("#5b86b8")),
        tooltip=tips(frame, "board", "rank", "method", "elo", "elo_low", "elo_high", "imputed_cells", "cells"),
    )  # fmt: skip
    return panels(
        alt.layer(bar, point).properties(width=320, height=alt.Step(20)), frame, rows="split", columns="board"
    )


def ranks(frame: Frame) -> Any:
    """Mean ranks with intervals; the band is as wide as the critical difference, from the best."""
    y = alt.Y("method:N", sort=ranked(frame, "mean_rank", rising=True), title=None)
    scale = alt.Scale(zero=False, nice=True)
    best: Any = frame.groupby([name for name in ("split", "metric") if name in frame.columns])["mean_rank"].transform(
        "min"
    )
    frame = frame.assign(best=best, within=best + frame["critical_difference"])
    band = alt.Chart().mark_bar(color="#8a93a3", opacity=0.18, height={"band": 1}).encode(
        y=y, **span("best", "within", "Mean rank (1 is best)", scale=scale)
    )  # fmt: skip
    bar = alt.Chart().mark_rule(strokeWidth=2, color="#5b86b8").encode(
        y=y, **span("rank_low", "rank_high", "Mean rank (1 is best)", scale=scale)
    )  # fmt: skip
    point = alt.Chart().mark_point(filled=True, size=70, color="#5b86b8").encode(
        x=alt.X("mean_rank:Q", scale=scale, title="Mean rank (1 is best)"), y=y,
        tooltip=tips(frame, "method", "metric", "mean_rank", "rank_low", "rank_high", "critical_difference", "groups"),
    )  # fmt: skip
    chart = alt.layer(band, bar, point).properties(width=320, height=alt.Step(20))
    return panels(chart, frame, rows="split", columns="metric")
