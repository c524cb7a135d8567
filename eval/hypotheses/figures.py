"""The figure of a plant: its dose-response under do(), with bands of Monte Carlo error, as a Vega-Lite chart."""

from typing import Any

import altair as alt
import pandas as pd

from eval.hypotheses.doses import BAND, DATA, HELD, Curves, labels
from eval.hypotheses.proposals import NOMINAL
from eval.report.charts import span, tips

WIDTH, HEIGHT = "container", 240
_COLOURS = ["#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756"]
_LOW, _HIGH = "low", "high"


def figure(curves: Curves, kinds: dict[str, str], units: dict[str, str], outcome: str, at: float | None) -> Any:
    """The specification of a figure, its numbers within.

    Args:
        curves: What to draw; levels of a nominal variable as bars, else a line over the doses.
        kinds: Kind of each variable.
        units: Unit of each variable that has one.
        outcome: The outcome, and how it is read.
        at: Where the planted term turns, if that is a dose; a dotted line is drawn there.
    """
    points = [(p.line, p.dose, p.effect, p.error, p.effect - BAND * p.error, p.effect + BAND * p.error)
              for p in curves.points]  # fmt: skip
    frame = pd.DataFrame(points, columns=["line", "dose", "effect", "error", _LOW, _HIGH])
    for name in ("dose", "effect", "error", _LOW, _HIGH):
        frame[name] = [float(f"{value:.6g}") for value in frame[name]]
    title = _titled(curves.variable, units)
    name = [f"{outcome}: mean, in SD from", "where it is when nothing is set"]
    y, between = alt.Y("effect:Q", title=name), span(_LOW, _HIGH, name, horizontal=False)
    tooltip = tips(frame, *(["line"] if curves.second or len(curves.lines) > 1 else []), "dose", "effect", "error")
    nominal = kinds[curves.variable] in (*NOMINAL, "binary")
    x: Any = alt.X("dose:Q", title=title, scale=alt.Scale(zero=False, nice=False, padding=8))
    if nominal or curves.kind == "levels":
        texts = dict(zip(sorted(set(frame["dose"])), labels(sorted(set(frame["dose"]))), strict=True))
        frame["dose"] = [texts[dose] for dose in frame["dose"]]
        x = alt.X("dose:N", title=title, sort=list(texts.values()), axis=alt.Axis(labelAngle=0))
    base = alt.Chart(frame).encode(x=x)
    zero = alt.Chart(pd.DataFrame({"zero": [0.0]})).mark_rule(strokeDash=[4, 4], opacity=0.5, color="#8a93a3")
    layers = [zero.encode(y=alt.Y("zero:Q"))]
    if curves.kind == "levels":
        layers += [base.mark_bar(size=34, opacity=0.85, color=_COLOURS[0]).encode(y=y, tooltip=tooltip),
                   base.mark_rule(strokeWidth=2, color="currentColor").encode(**between)]  # fmt: skip
    else:
        marks = _lines(curves, units)
        dash = alt.condition(
            f"datum.line === '{DATA}' || datum.line === '{HELD}'", alt.value([5, 3]), alt.value([1, 0])
        )
        bands = (base.mark_rule(strokeWidth=6, opacity=0.25) if nominal else base.mark_area(opacity=0.25)).encode(
            **between, color=marks["color"]
        )
        layers += [bands, base.mark_line(strokeWidth=2).encode(y=y, color=marks["color"], strokeDash=dash),
                   base.mark_point(filled=True, size=46, opacity=1).encode(y=y, tooltip=tooltip, **marks)]  # fmt: skip
    doses = [point.dose for point in curves.points]
    if at is not None and not nominal and min(doses) <= at <= max(doses):
        here = alt.Chart(pd.DataFrame({"at": [at]})).mark_rule(strokeDash=[2, 3], strokeWidth=1.5, color="#c0730c")
        layers.append(here.encode(x="at:Q", tooltip=[alt.Tooltip("at:Q", title="the planted term turns at")]))
    chart = alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)
    chart = chart.configure_axis(titleLimit=420, labelFontSize=12, titleFontSize=12)
    return chart.configure_legend(
        orient="bottom", columns=5, titleLimit=420, labelFontSize=12, titleFontSize=12, symbolOpacity=1, symbolSize=70,
        offset=4,
    ).to_dict()  # fmt: skip


def _lines(curves: Curves, units: dict[str, str]) -> dict[str, Any]:
    """Colour and shape of each line, with one legend; none where there is one line."""
    if len(curves.lines) == 1:
        return {"color": alt.value(_COLOURS[0]), "shape": alt.value("circle")}
    title = _titled(curves.second, units) if curves.second else None
    order = list(curves.lines)
    scale = alt.Scale(domain=order, range=_COLOURS[: len(order)])
    shapes = alt.Scale(domain=order, range=["circle", "square", "triangle-up", "diamond", "cross"][: len(order)])
    return {"color": alt.Color("line:N", title=title, scale=scale, sort=order),
            "shape": alt.Shape("line:N", title=title, scale=shapes, sort=order)}  # fmt: skip


def _titled(name: str, units: dict[str, str]) -> str:
    return f"{name} ({units[name]})" if units.get(name) else name
