"""A run as a terminal table, CSV, Markdown, LaTeX, JSON or one HTML page; all from the same aggregated tables."""

from eval.report.drawn import INSTALL, figures_available
from eval.report.formats import FORMATS, to_csv, to_json, to_latex, to_md
from eval.report.numbers import MISSING, TITLES, best_cells, places, show
from eval.report.page import write_html
from eval.report.published import beside
from eval.report.terminal import render_table

__all__ = [
    "FORMATS",
    "INSTALL",
    "MISSING",
    "TITLES",
    "beside",
    "best_cells",
    "figures_available",
    "places",
    "render_table",
    "show",
    "to_csv",
    "to_json",
    "to_latex",
    "to_md",
    "write_html",
]
