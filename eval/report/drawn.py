"""The figures of a page: for each analysis its chart, or why there is none."""

import functools
import importlib.util
from typing import TYPE_CHECKING, Any

from arena.errors import ArenaError

if TYPE_CHECKING:
    from eval.run import Run

INSTALL = "pip install 'causal-arena[report]'"
#: Columns without which an analysis has nothing to show, where all of their values are missing.
_SHOWN = {
    "wins": "rate", "interactions": "interaction", "runtime": "seconds_mean", "coverage": "ratio", "ood": "f1_ood",
    "domains": "shift", "elo": "elo", "ranks": "mean_rank", "errors": "true", "deltas": "delta",
}  # fmt: skip

#: What has nothing to show where there is one value only.
_CURVES = {"dimension": "d", "sample_size": "rows", "protocols": "protocol", "runtime": "d"}


def figures_available() -> bool:
    """Whether the libraries that draw figures are installed."""
    return all(importlib.util.find_spec(name) for name in ("altair", "vl_convert"))


@functools.cache
def library() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, which sets `window.vegaEmbed`."""
    import altair
    import vl_convert

    release = ".".join(altair.SCHEMA_VERSION.split(".")[:2])  # of Vega-Lite, such as v6.4
    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", release)


def figures(run: "Run", rows: Any) -> list[dict[str, Any]]:
    """For each analysis that has a figure: `name`, `title`, `source`, `about`, and `spec` or `reason`.

    A chart that cannot be made from this run's tables is a reason, so that the rest of the page is still there.
    """
    from eval.analysis import ANALYSES
    from eval.report.figures import FIGURES, draw

    found = []
    for name, analysis in ANALYSES.items():
        if name not in FIGURES:
            continue
        about = (FIGURES[name].__doc__ or "").strip()
        line: dict[str, Any] = {"name": name, "title": analysis.title, "source": analysis.source, "about": about}
        line |= {"spec": None, "reason": ""}
        if analysis.required():
            line["reason"] = f"it needs more: arena analyze RUN --what {name} --{analysis.required()[0]} ..."
        else:
            try:
                frame = analysis.function(run if analysis.needs_run else rows)
                line["reason"] = _nothing(name, frame)
                if not line["reason"]:
                    line["spec"] = draw(name, frame)
            except ArenaError as error:
                line["reason"] = str(error)
            # What numbers that nobody foresaw do to pandas or Altair; a page with one figure less is worth having.
            except (ValueError, LookupError, TypeError, ArithmeticError) as error:
                line["reason"] = f"it cannot be drawn from this run ({type(error).__name__}: {error})"
        found.append(line)
    return found


def _nothing(name: str, frame: Any) -> str:
    """Why there is nothing to be seen in a table; empty if there is."""
    value = _SHOWN.get(name, "f1")
    if frame.empty:
        return "this run has no data for it"
    axis = _CURVES.get(name)
    if axis is not None and frame.loc[frame[value].notna(), axis].nunique() < 2:
        return f"all scores of this run have the same '{axis}'"
    if not frame[value].notna().any():
        return f"this run has no value of '{value}' for it"
    return ""
