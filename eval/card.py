"""The card of an SCM as one HTML page: its graph with roles in colours, equations, variables with histograms."""

import os
from pathlib import Path
from typing import Any, get_args

import numpy as np

import arena
from arena import cards
from arena.keys import key_of
from arena.outputs import write
from arena.spec import SCMSpec
from arena.spec_equations import Role
from eval.report.template import render

#: Units of the sample that histograms are of, and bars of a histogram.
N_UNITS, BARS = 4000, 32
#: Values of a variable that are shown one by one.
FEW = 12


def write_card(spec: SCMSpec, path: str | os.PathLike[str]) -> Path:
    """Write the card of an SCM, one offline file.

    Raises:
        DataError: If the file cannot be written.
    """
    html, path = render("card.html", _content(spec), styles=("card.css",), scripts=("graph.js", "card.js")), Path(path)
    return write(path.parent, {path.name: html.encode()})[path.name]


def _content(spec: SCMSpec) -> dict[str, Any]:
    sample = arena.sample(arena.compile(spec), key_of("card", spec.content_hash), N_UNITS).values
    lines = cards.lines(spec)
    sketches = {name: _sketch(column) for name, column in zip(spec.names, sample.T, strict=True)}
    used = [role for role in get_args(Role) if any(line.role == role for line in lines)]
    return {
        "spec": spec,
        "head": cards.head(spec),
        "lines": lines,
        "span": cards.span,
        "sketches": sketches,
        "roles": used,
        "n": N_UNITS,
        "library": "",
        "data": {
            "names": [line.name for line in lines],
            "roles": [line.role for line in lines],
            "about": [[f"{line.role}, {line.process or 'root'}", line.equation, line.about] for line in lines],
            "edges": [
                [[line.name for line in lines].index(parent), k]
                for k, line in enumerate(lines)
                for parent in spec.nodes[spec.names.index(line.name)].parents
            ],
        },
    }


def _sketch(column: np.ndarray) -> dict[str, Any]:
    """A histogram of a column: where it lies and how high its bars are, of 1."""
    values, counts = np.unique(column, return_counts=True)
    if len(values) <= FEW:
        high = counts / counts.max()
        return {"low": f"{values[0]:.4g}", "high": f"{values[-1]:.4g}", "middle": f"{np.median(column):.4g}",
                "bars": [round(float(h), 3) for h in high], "few": True}  # fmt: skip
    # Between the outermost per mille, so that one outlier does not hide the rest.
    low, high = np.quantile(column, [0.001, 0.999])
    counts = np.histogram(column, bins=BARS, range=(low, high))[0]
    return {"low": f"{low:.4g}", "high": f"{high:.4g}", "middle": f"{np.median(column):.4g}",
            "bars": [round(float(h), 3) for h in counts / counts.max()], "few": False}  # fmt: skip
