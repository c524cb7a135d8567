"""One Altair chart for each analysis of `eval.analysis`, drawn from exactly its columns.

Each function takes the tidy table of the analysis of its name. Points and cells are shown as they are; a cell without
a value is left empty. Layout, filters and colours are in `eval.report.charts`.
"""

import json
from collections.abc import Callable
from typing import Any

import altair as alt

from eval.report.charts import (
    DIVERGING,
    F1,
    RISING,
    UNIT,
    Frame,
    colour,
    filtered,
    heatmap,
    panels,
    ranked,
    several,
    span,
    tips,
)
from eval.report.pairs import deltas, elo, estimates, ood, ranks

_LOG = alt.Scale(type="log", nice=False)


def _plain(frame: Frame) -> Frame:
    """Numbers as floats, missing ones nan; six significant digits are enough to draw, and half as long."""
    frame = frame.reset_index(drop=True)
    numbers: Any = {name: frame[name] for name in frame.columns if frame[name].dtype.kind in "fiu"}
    found = {name: column.astype("float64") for name, column in numbers.items()}
    return frame.assign(**{name: [float(f"{value:.6g}") for value in column] for name, column in found.items()})


def _natural(values: Any) -> list[str]:
    """Levels in order: numbers by size, then words."""

    def key(level: str) -> tuple[int, float, str]:
        number = level.replace(".", "", 1).lstrip("-").isdigit()
        return (0, float(level), "") if number else (1, 0.0, level)

    return sorted({str(value) for value in values}, key=key)


def slices(frame: Frame) -> Any:
    """Mean F1 by level of one factor at a time, methods across."""
    chart = heatmap(
        frame, "method", "level", "f1", title=F1, scale=alt.Scale(scheme=RISING, domain=[0, 1]), xs=ranked(frame),
        ys=_natural(frame["level"]),
        tooltip=("factor", "level", "method", "f1", "f1_low", "f1_high", "shd", "precision", "recall", "n", "missing"),
        pale="datum.f1 < 0.6",
    )  # fmt: skip
    return panels(chart, frame, choose="factor")


def wins(frame: Frame) -> Any:
    """How often the method of a row beats that of a column."""
    order = ranked(frame, "rate")
    chart = heatmap(
        frame, "opponent", "method", "rate", title="Win rate", scale=alt.Scale(scheme=DIVERGING, domain=[0, 1]),
        xs=order, ys=order, tooltip=("method", "opponent", "rate", "comparisons"),
        pale="abs(datum.rate - 0.5) > 0.4",
    )  # fmt: skip
    return panels(chart, frame)


def planes(frame: Frame) -> Any:
    """Precision against recall, over lines of equal F1; and F1 against SHD with their intervals."""
    marks = {"color": colour(frame), "shape": _floor_shape(frame)}
    tooltip = tips(frame, "family", "split", "method", "precision", "recall", "f1", "shd", "n", "missing")
    contours = alt.layer(*(_equal_f1(level) for level in (0.2, 0.4, 0.6, 0.8)))
    points = alt.Chart().mark_point(filled=True, size=70, opacity=0.9)
    points = points.encode(
        x=alt.X("recall:Q", scale=UNIT, title="Recall"), y=alt.Y("precision:Q", scale=UNIT, title="Precision"),
        tooltip=tooltip, **marks,
    )  # fmt: skip
    left = panels(alt.layer(contours, points).properties(width=220, height=220), frame)
    base = alt.Chart().encode(color=colour(frame))
    y = alt.Y("f1:Q", scale=UNIT, title=F1)
    x = alt.X("shd:Q", title="SHD (lower is better)", scale=alt.Scale(type="sqrt"))
    middle = base.mark_point(filled=True, size=70).encode(x=x, y=y, tooltip=tooltip, shape=_floor_shape(frame))
    tall = base.mark_rule(opacity=0.6).encode(x=x, **span("f1_low", "f1_high", F1, horizontal=False))
    wide = base.mark_rule(opacity=0.6).encode(y=y, **span("shd_low", "shd_high", "SHD (lower is better)"))
    right = panels(alt.layer(tall, wide, middle).properties(width=220, height=220), frame)
    return alt.vconcat(left, right)


def _floor_shape(frame: Frame) -> Any:
    if not several(frame, "control"):
        return alt.value("circle")
    return alt.condition("datum.control == 1", alt.value("cross"), alt.value("circle"))


def _equal_f1(level: float) -> Any:
    """The line precision = level recall / (2 recall - level), where both are at most 1."""
    recalls = [level / (2 - level) + step / 24 * (1 - level / (2 - level)) for step in range(25)]
    values = [{"recall": r, "precision": level * r / (2 * r - level)} for r in recalls]
    line = alt.Chart(alt.InlineData(values=values)).mark_line(strokeDash=[2, 3], strokeWidth=1, color="#8a93a3")
    return line.encode(x="recall:Q", y="precision:Q", order="recall:Q")


def interactions(frame: Frame) -> Any:
    """Which method does better, or worse, at a level than its own mean and the level's difficulty say."""
    widest = max(0.01, float(frame["interaction"].abs().max()))
    chart = heatmap(
        frame, "method", "level", "interaction", title="Interaction",
        scale=alt.Scale(scheme=DIVERGING, domain=[-widest, widest]), xs=ranked(frame),
        ys=_natural(frame["level"]), text="+.2f",
        tooltip=("factor", "level", "method", "f1", "interaction", "n"),
        pale=f"abs(datum.interaction) > {0.75 * widest}",
    )  # fmt: skip
    return panels(chart, frame, choose="factor")


def dimension(frame: Frame) -> Any:
    """F1 over the number of variables, with intervals."""
    return _curve(frame, "d", "Variables")


def sample_size(frame: Frame) -> Any:
    """F1 over the number of rows, with intervals."""
    return _curve(frame, "rows", "Rows")


def _curve(frame: Frame, x: str, title: str) -> Any:
    values = sorted(float(value) for value in frame[x].unique())
    axis = alt.X(f"{x}:Q", title=title, scale=_LOG, axis=alt.Axis(values=values, format="d", labelOverlap=True))
    base = alt.Chart().encode(x=axis, color=colour(frame))
    y = alt.Y("f1:Q", scale=UNIT, title=F1)
    band = base.mark_area(opacity=0.12).encode(**span("f1_low", "f1_high", F1, horizontal=False, scale=UNIT))
    line = base.mark_line(point=True).encode(
        y=y, tooltip=tips(frame, "family", "split", "method", x, "f1", "f1_low", "f1_high", "shd", "n", "missing")
    )
    return panels(alt.layer(band, line).properties(width=220, height=190), frame)


def protocols(frame: Frame) -> Any:
    """F1 under each way of intervening, methods apart."""
    order = ranked(frame)
    y = alt.Y("method:N", sort=order, title=None)
    line = alt.Chart().mark_line(color="#8a93a3", strokeWidth=1).encode(x="f1:Q", y=y, detail="method:N")
    points = alt.Chart().mark_point(filled=True, size=70).encode(
        x=alt.X("f1:Q", title=F1, scale=UNIT), y=y, color=colour(frame, "protocol"),
        shape=alt.Shape("protocol:N", title="Protocol", legend=None),
        tooltip=tips(frame, "method", "protocol", "f1", "shd", "delta_f1", "f1_sd", "n", "missing"),
    )  # fmt: skip
    return panels(alt.layer(line, points).properties(width=420, height=alt.Step(22)), frame)


def runtime(frame: Frame) -> Any:
    """Seconds a graph over the number of variables: of the fit where one load serves many graphs, else of all."""
    seconds = frame["t_graph"].where(frame["timing"] == "fit", frame["seconds_mean"])
    known = frame.assign(seconds=seconds)[(seconds > 0) & frame["d"].notna()]
    values = sorted(float(value) for value in known["d"].unique())
    base = alt.Chart().encode(
        x=alt.X("d:Q", scale=_LOG, title="Variables", axis=alt.Axis(values=values, format="d", labelOverlap=True)),
        y=alt.Y("seconds:Q", scale=alt.Scale(type="log"), title="Seconds a graph", axis=alt.Axis(format="~g")),
        color=colour(known),
    )  # fmt: skip
    tooltip = tips(known, "method", "d", "timing", "t_fixed", "t_graph", "r2", "points", "seconds_mean", "seconds_sd")
    points = base.mark_point(filled=True, size=50).encode(shape=_timing(known), tooltip=tooltip)
    return panels(alt.layer(base.mark_line(), points).properties(width=320, height=260), known)


def frontier(frame: Frame) -> Any:
    """F1 against seconds a graph; no method is both faster and better than those on the line."""
    known = frame[frame["seconds"] > 0]
    base = alt.Chart().encode(
        x=alt.X("seconds:Q", scale=alt.Scale(type="log"), title="Seconds a graph", axis=alt.Axis(format="~g")),
        y=alt.Y("f1:Q", scale=UNIT, title=F1),
    )
    edge = base.mark_line(interpolate="step-after", color="#8a93a3").transform_filter("datum.pareto")
    points = base.mark_point(filled=True, size=80).encode(
        color=colour(known), shape=_timing(known), opacity=alt.condition("datum.pareto", alt.value(1), alt.value(0.55)),
        tooltip=tips(known, "method", "seconds", "f1", "pareto", "timing"),
    )  # fmt: skip
    names = base.mark_text(dy=-9, fontSize=10).encode(text="method:N").transform_filter("datum.pareto")
    return panels(alt.layer(edge, points, names).properties(width=320, height=260), known)


def _timing(frame: Frame) -> Any:
    """What the seconds are of, where that differs."""
    if not several(frame, "timing"):
        return alt.value("circle")
    return alt.Shape(
        "timing:N", title="Seconds of", scale=alt.Scale(domain=["end_to_end", "fit"], range=["circle", "diamond"])
    )


def coverage(frame: Frame) -> Any:
    """Which share of the levels of each axis the documented training of a method covers."""
    chart = heatmap(
        frame, "axis", "method", "ratio", title="Covered", scale=alt.Scale(scheme=RISING, domain=[0, 1]), text=".0%",
        ys=ranked(frame, "ratio"), tooltip=("method", "axis", "covered", "total", "ratio"), pale="datum.ratio < 0.6",
    )  # fmt: skip
    return panels(chart, frame)


def domains(frame: Frame) -> Any:
    """How far a method's F1 in a domain is from its own mean over the domains."""
    widest = max(0.01, float(frame["shift"].abs().max()))
    if several(frame, "family"):
        frame = frame.assign(domain=frame["family"] + ": " + frame["domain"])
    chart = heatmap(
        frame, "method", "domain", "shift", title="F1 shift", text="+.2f",
        scale=alt.Scale(scheme=DIVERGING, domain=[-widest, widest]), xs=ranked(frame, "sd", rising=True),
        tooltip=("family", "split", "method", "domain", "f1", "shift", "sd", "n"),
        pale=f"abs(datum.shift) > {0.75 * widest}",
    )  # fmt: skip
    return panels(chart, frame, rows="")


def sortability(frame: Frame) -> Any:
    """F1 over how much of the order a table's variances, or R2, give away."""
    frame = frame.assign(middle=(frame["low"] + frame["high"]) / 2)
    chart = alt.Chart().mark_line(point=True).encode(
        x=alt.X("middle:Q", title="Sortability", scale=UNIT), y=alt.Y("f1:Q", title=F1, scale=UNIT),
        color=colour(frame),
        tooltip=tips(frame, "which", "family", "split", "method", "low", "high", "f1", "n", "correlation"),
    )  # fmt: skip
    return panels(chart.properties(width=220, height=190), frame, choose="which")


def errors(frame: Frame) -> Any:
    """Of the true edges at each level the share that was hit, reversed and missed; one factor at a time."""
    parts: Any = ["hit", "reversed", "missed"]
    shades = alt.Scale(domain=parts, range=["#3b7ea1", "#d98c21", "#b9bfc9"])
    chart = alt.Chart().transform_fold(parts, as_=["outcome", "edges"]).transform_calculate(
        place="indexof(['hit', 'reversed', 'missed'], datum.outcome)"
    ).mark_bar().encode(
        x=alt.X("edges:Q", stack="normalize", title="True edges", axis=alt.Axis(format="%", tickCount=3)),
        y=alt.Y("level:N", title=None, sort=_natural(frame["level"])),
        color=alt.Color("outcome:N", title=None, scale=shades),
        order="place:Q",
        tooltip=[*tips(frame, "method", "factor", "level", "true", *parts, "invented", "recall")],
    )  # fmt: skip
    chart = chart.properties(width=200, height=alt.Step(15))
    return panels(chart, frame, rows="method", choose="factor")


FIGURES: dict[str, Callable[[Frame], Any]] = {
    function.__name__: function
    for function in (
        *(planes, wins, slices, interactions, dimension, sample_size, protocols, runtime, frontier, ranks, elo),
        *(coverage, ood, estimates, domains, sortability, errors, deltas),
    )
}


def draw(name: str, frame: Frame) -> dict[str, Any]:
    """The figure of an analysis as a Vega-Lite specification, its data within.

    Args:
        name: Of the analysis, a key of `FIGURES`.
        frame: What the analysis gave.

    Raises:
        ValueError: If the chart would hold a number that is not finite.
    """
    chart = FIGURES[name](_plain(frame))
    with alt.data_transformers.enable("default", max_rows=None):
        spec = filtered(chart.to_dict(), frame)
    json.dumps(spec, allow_nan=False)  # a page with a number that JSON lacks would not open
    return spec
