"""Scenarios that are written, not drawn: one JSON each, shipped with the package, `<family>/<domain>/<name>.json`."""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from arena.blocks import GivenRoot
from arena.calibrate import Calibrated, calibrate
from arena.compiler import PARENTS_STEP, bank_key
from arena.errors import SourceError
from arena.pool import Frame
from arena.spec import SCMSpec
from arena.spec_errors import did_you_mean
from mechanisms.base import Blueprint

#: Families of written scenarios; each has a folder here.
FAMILIES = ("formula",)
#: So many scenarios are sampled together at most; up to that, any number shares one program.
MOST = 128


class Authored(NamedTuple):
    """One written scenario.

    Attributes:
        name: Unique in its family; also the name of its file.
        domain: The name of its folder.
    """

    family: str
    name: str
    domain: str
    spec: SCMSpec


@functools.cache
def files(family: str) -> dict[str, Path]:
    """The file of every scenario of a family, by name, sorted."""
    found = sorted((Path(__file__).parent / family).glob("*/*.json"), key=lambda path: path.stem)
    return {path.stem: path for path in found}


def scenario(family: str, name: str) -> Authored:
    """One scenario.

    Raises:
        SourceError: If there is none of that name.
        SpecError: If its file holds no spec.
    """
    known = files(family)
    if name not in known:
        raise SourceError(f"no {family} scenario '{name}'{did_you_mean(name, known)}; there are {len(known)}")
    return _read(family, name)


@functools.cache
def _read(family: str, name: str) -> Authored:
    path = files(family)[name]
    found = SCMSpec.load(path)
    return Authored(family, name, path.parent.name, found.model_copy(update={"factors": _factors(found, path)}))


def _factors(found: SCMSpec, path: Path) -> dict[str, Any]:
    """What slices are cut by: it follows from the spec and where its file lies, and cannot disagree."""
    nodes = found.nodes
    return {
        **found.factors,
        "domain": path.parent.name,
        "laws": sorted({equation.law for equation in found.equations if equation.core}),
        "d": len(nodes),
        "n_edges": int(found.adjacency.sum()),
        "mechanisms": sorted({node.process or node.component.cls.family for node in nodes if node.parents}),
        "noises": sorted({node.channel.cls.family for node in nodes if node.parents}),
        "roots": sorted({node.root.family for node in nodes if node.root is not None}),
    }


def spec(family: str, name: str) -> SCMSpec:
    """The spec of one scenario; see `scenario`."""
    return scenario(family, name).spec


def scenarios(family: str) -> list[Authored]:
    """All scenarios of a family, sorted by name."""
    return [scenario(family, name) for name in files(family)]


@functools.cache
def frame(family: str) -> Frame:
    """What any batch of a family's scenarios needs; see `Pool`."""
    return _frame([one.spec for one in scenarios(family)])


def frame_of(specs: Sequence[SCMSpec]) -> Frame:
    """What these specs need, beside all that are shipped: so that most specs share the programs of those."""
    return _frame([*specs, *(one.spec for family in FAMILIES for one in scenarios(family))])


def _frame(specs: Sequence[SCMSpec]) -> Frame:
    found = {}
    for blueprint in (Blueprint(GivenRoot, {}), *(part for one in specs for part in _parts(one))):
        found.setdefault(bank_key(blueprint), blueprint)
    vocabulary = tuple(found[key] for key in sorted(found))
    return Frame(vocabulary, MOST, max(len(one.nodes) for one in specs), (PARENTS_STEP,))


def _parts(one: SCMSpec) -> list[Blueprint]:
    """The components of a spec."""
    structural = [part for node in one.nodes if node.parents for part in (node.component, node.channel)]
    return [*structural, *(node.component for node in one.nodes if node.root is not None)]


def sampled(specs: Sequence[SCMSpec], frame: Frame | None = None, *, jobs: int | None = None) -> list[Calibrated]:
    """A sample of each spec as it is, and how much each parent moves its child; see `calibrate`."""
    frame = frame or frame_of(specs)
    batches = [specs[start : start + MOST] for start in range(0, len(specs), MOST)]
    return [one for batch in batches for one in calibrate(batch, None, frame=frame, jobs=jobs)]
