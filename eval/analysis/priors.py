"""Documented priors: which categories the training of a pretrained method covered (paper 6.2, figure 14).

One JSON file a method, under `priors/`. The counts are the published ones; the paper does not print which categories
they are, so their assignment is ours, and each file says what it rests on.
"""

import dataclasses
import functools
import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

import numpy as np
import pandas as pd

from arena.errors import RunError

AXES = ("graph_family", "mechanism", "noise", "root")
MEAN = "mean"


@dataclasses.dataclass(frozen=True)
class Prior:
    """What the training of a method covered.

    Attributes:
        method: Name of the method.
        covered: For each of `AXES` the covered tags of our factors.
        basis: For each of `AXES` `documented` (read from the authors' paper or code) or `assumed` (nothing that we
            could read says it; only the number of tags is published).
        note: What the tags rest on.
        source: Where that can be read.
    """

    method: str
    covered: Mapping[str, tuple[str, ...]]
    basis: Mapping[str, str]
    note: str
    source: str


@functools.cache
def priors() -> dict[str, Prior]:
    """The priors that ship with the package, by method."""
    folder = resources.files("eval.analysis") / "priors"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".json")), key=lambda file: file.name)
    found = [read_prior(file.read_text(encoding="utf-8"), file.name) for file in files]
    return {prior.method: prior for prior in found}


def read_prior(text: str, where: str) -> Prior:
    """The prior that a JSON text describes.

    Raises:
        RunError: If a field or an axis is absent, or a basis is unknown.
    """
    try:
        data: dict[str, Any] = json.loads(text)
    except json.JSONDecodeError as error:
        raise RunError(f"{where}: is not JSON; {error}") from None
    for name in ("method", "covered", "basis", "note", "source"):
        if name not in data:
            raise RunError(f"{where}: lacks '{name}'")
    for name in ("covered", "basis"):
        if set(data[name]) != set(AXES):
            raise RunError(f"{where}: '{name}' must have the axes {', '.join(AXES)}; found {', '.join(data[name])}")
    for axis, basis in data["basis"].items():
        if basis not in ("documented", "assumed"):
            raise RunError(f"{where}: basis of '{axis}' is '{basis}'; it is 'documented' or 'assumed'")
    covered = {axis: tuple(data["covered"][axis]) for axis in AXES}
    return Prior(data["method"], covered, data["basis"], data["note"], data["source"])


@functools.cache
def tags() -> dict[str, tuple[str, ...]]:
    """The categories of each axis: the tags of the main suite."""
    from arena.suites import MAIN
    from mechanisms import registry

    families: Any = registry.families("mechanism")
    mechanisms = dict.fromkeys(families[name].tag for name in MAIN.mechanisms)
    return {"graph_family": MAIN.graphs, "mechanism": tuple(mechanisms), "noise": MAIN.noises, "root": MAIN.roots}


def coverage(source: Any = None) -> pd.DataFrame:
    """How much of each axis the documented prior of a method covers (figure 14).

    Args:
        source: Not used; coverage does not depend on a run.

    Returns:
        `method`, `axis` (`AXES` and `mean`), `covered`, `total`, `ratio`, `basis`.
    """
    known = tags()
    counts = pd.DataFrame(
        [
            {"method": name, "axis": axis, "covered": len(prior.covered[axis]), "total": len(known[axis]),
             "basis": prior.basis[axis]}
            for name, prior in priors().items()
            for axis in AXES
        ]
    )  # fmt: skip
    return with_mean(counts)


def with_mean(counts: pd.DataFrame) -> pd.DataFrame:
    """Adds `ratio` = covered / total, and for each method the axis `mean`: the plain mean of its ratios."""
    table: Any = counts.assign(ratio=counts["covered"] / counts["total"])
    means = table.groupby("method", sort=False)["ratio"].mean().reset_index().assign(axis=MEAN)
    if "basis" in table:
        worst = table.groupby("method")["basis"].agg(
            lambda found: "assumed" if "assumed" in set(found) else "documented"
        )
        means["basis"] = means["method"].map(worst)
    both: Any = pd.concat([table, means], ignore_index=True)
    both[["covered", "total"]] = both[["covered", "total"]].astype("Int64")
    order = {name: place for place, name in enumerate(dict.fromkeys(table["method"]))}
    return both.iloc[np.argsort(both["method"].map(order), kind="stable")].reset_index(drop=True)
