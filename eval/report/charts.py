"""What the figures share: panels, colours, filters that the page sets.

A figure shows the rows for which its parameters `family` and `split` are empty or equal; the page sets them when a
reader filters. Families are rows of panels and splits are columns, where there are several.
"""

from collections.abc import Sequence
from typing import Any

import altair as alt

#: A pandas DataFrame. What pandas' own types say of the results of its operations is too little to check.
Frame = Any
F1 = "F1"
#: What the page may set.
FILTERS = ("family", "split")
UNIT = alt.Scale(domain=[0, 1], nice=False)
#: From low to high, readable on light and on dark, and without red and green.
RISING = "viridis"
DIVERGING = "blueorange"
_LEGEND = alt.Legend(symbolOpacity=1, symbolType="circle")
_TEN, _TWENTY = "tableau10", "tableau20"


def several(frame: Frame, column: str) -> bool:
    """Whether there is such a column, with more than one value."""
    return column in frame.columns and frame[column].nunique() > 1


def colour(frame: Frame, field: str = "method") -> alt.Color:
    """A colour for each value, the same in every figure that has the same values."""
    order = sorted(map(str, frame[field].unique()))
    scale = alt.Scale(domain=order, scheme=_TEN if len(order) <= 10 else _TWENTY)
    return alt.Color(f"{field}:N", scale=scale, title=field.replace("_", " ").capitalize(), legend=_LEGEND)


def tips(frame: Frame, *columns: str) -> list[alt.Tooltip]:
    """What is shown beside the pointer: those of the columns that there are, numbers with three digits."""
    shown = []
    for name in columns:
        if name in frame.columns:
            real = frame[name].dtype.kind == "f"
            shown.append(alt.Tooltip(f"{name}:Q", format=".3~f") if real else alt.Tooltip(f"{name}:N", title=name))
    return shown


def panels(chart: Any, frame: Frame, rows: str = "family", columns: str = "split", choose: str | None = None) -> Any:
    """The chart as one panel for each value of two columns, as far as they have several.

    Args:
        chart: A chart or layers, without data.
        frame: The data.
        rows: The column whose values make rows.
        columns: The column whose values stand side by side.
        choose: A column of which one value at a time is shown, picked below the figure.
    """
    facets: dict[str, Any] = {}
    if several(frame, rows):
        facets["row"] = alt.Row(f"{rows}:N", title=None, header=alt.Header(labelAngle=0, labelAlign="left"))
    if several(frame, columns):
        facets["column"] = alt.Column(f"{columns}:N", title=None)
    made: Any = chart.facet(data=frame, **facets) if facets else chart.properties(data=frame)
    if choose is None or not several(frame, choose):
        return made
    options = list(dict.fromkeys(map(str, frame[choose])))
    label = choose.replace("_", " ").capitalize() + " "
    pick = alt.param(name="chosen", value=options[0], bind=alt.binding_select(options=options, name=label))
    return made.add_params(pick).transform_filter(f"datum['{choose}'] === chosen")


def filtered(spec: dict[str, Any], frame: Frame) -> dict[str, Any]:
    """A specification with the page's filters, of the columns that there are."""
    names = [name for name in FILTERS if name in frame.columns]
    params = [{"name": name, "value": ""} for name in names]
    tests = [{"filter": f"{name} === '' || datum['{name}'] === {name}"} for name in names]
    return {**spec, "params": [*params, *spec.get("params", [])], "transform": [*tests, *spec.get("transform", [])]}


def heatmap(
    frame: Frame, x: str, y: str, value: str, *, title: str, scale: alt.Scale, tooltip: Sequence[str],
    text: str = ".2f", xs: Sequence[str] | None = None, ys: Sequence[str] | None = None, legend: bool = True,
    pale: str | None = None,
) -> Any:  # fmt: skip
    """Cells of one value, with the number in each where there are few enough to be read.

    Args:
        frame: The data.
        x: Column of the horizontal axis.
        y: Column of the vertical axis.
        value: Column of the colour.
        title: Of the colours.
        scale: Of the colours.
        tooltip: Columns to show beside the pointer.
        text: How numbers are written.
        xs: Order of the horizontal axis.
        ys: Order of the vertical axis.
        legend: Whether the colours are explained.
        pale: A condition on `datum` under which the cell is so dark that its number is white.
    """
    base = alt.Chart().encode(
        x=alt.X(f"{x}:N", title=None, sort=list(xs) if xs is not None else "ascending", axis=alt.Axis(labelAngle=-45)),
        y=alt.Y(f"{y}:N", title=None, sort=list(ys) if ys is not None else "ascending"),
    )
    shade = alt.Color(f"{value}:Q", title=title, scale=scale, legend=alt.Legend() if legend else None)
    cells = base.mark_rect().encode(color=shade, tooltip=tips(frame, *tooltip))
    if frame[x].nunique() > 14:
        return cells.properties(width=alt.Step(18), height=alt.Step(18))
    ink = alt.condition(pale or "false", alt.value("#ffffff"), alt.value("#16202c"))
    numbers = base.mark_text(fontSize=10).encode(text=alt.Text(f"{value}:Q", format=text), color=ink)
    numbers = numbers.transform_filter(f"isValid(datum['{value}'])")
    return alt.layer(cells, numbers).properties(width=alt.Step(34), height=alt.Step(20))


def ranked(frame: Frame, value: str = "f1", by: str = "method", rising: bool = False) -> list[str]:
    """The values of `by`, the best mean first."""
    means: Any = frame.groupby(by)[value].mean()
    return [str(name) for name in means.sort_values(ascending=rising, na_position="last").index]


def span(low: str, high: str, title: str | list[str], horizontal: bool = True, **options: Any) -> dict[str, Any]:
    """Channels of a bar from one column to another."""
    first, second = ("x", "x2") if horizontal else ("y", "y2")
    made = alt.X if horizontal else alt.Y
    end = alt.X2 if horizontal else alt.Y2
    return {first: made(f"{low}:Q", title=title, **options), second: end(f"{high}:Q")}
