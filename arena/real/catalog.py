"""What is known of each public set: `sources.json`, typed."""

import dataclasses
import functools
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

from arena.errors import SourceError
from arena.tables import suggest


@dataclasses.dataclass(frozen=True)
class PublicSet:
    """A published table with a published graph.

    Attributes:
        name: As in `real:<name>`.
        title: What it is called in print.
        repository: The public repository, an https address.
        commit: The commit that the recorded values are from.
        paths: Files in that repository; for a set with a `format`, the ones its parser reads, in order.
        format: The parser in `arena.real.download`, or None where there is none.
        licence: As stated by the sources.
        citation: What to cite.
        d: Number of variables.
        edges: Number of edges of the graph.
        allow_constant: Whether columns that never vary belong to it.
        columns: Variable names in the recorded order; empty where no table has been recorded.
        sha256: `arena.tables.values_checksum` of the whole table; None where no complete table was at hand to
            record, and then only `d` and `edges` are checked.
        note: What a user should know about these values.
        fill: Whether cells that the published files miss are filled with the mean of their column over the
            observational rows, as the source itself does.
    """

    name: str
    title: str
    repository: str
    commit: str
    paths: tuple[str, ...]
    format: str | None
    licence: str
    citation: tuple[str, ...]
    d: int
    edges: int
    allow_constant: bool
    columns: tuple[str, ...]
    sha256: str | None
    note: str
    fill: bool = False

    def urls(self) -> tuple[str, ...]:
        """Where each of `paths` is served at the pinned commit."""
        root = self.repository.replace("https://github.com/", "https://raw.githubusercontent.com/")
        return tuple(f"{root}/{self.commit}/{quote(path)}" for path in self.paths)

    def where(self) -> str:
        """The public source in words."""
        return f"{self.repository} at commit {self.commit}"


def names() -> tuple[str, ...]:
    """The 13 public sets, in the order of the paper's section 5.2."""
    return tuple(_catalog())


def describe(name: str) -> PublicSet:
    """What is known of a public set.

    Raises:
        SourceError: If there is none of that name.
    """
    catalog = _catalog()
    if name not in catalog:
        raise SourceError(f"no public set 'real:{name}'{suggest(name, list(catalog))}; there are {', '.join(catalog)}")
    return catalog[name]


@functools.cache
def _catalog() -> dict[str, PublicSet]:
    entries = json.loads((Path(__file__).parent / "sources.json").read_text(encoding="utf-8"))
    lists = ("paths", "citation", "columns")
    catalog = {}
    for name, entry in entries.items():
        fields: dict[str, Any] = {k: tuple(v) if k in lists else v for k, v in entry.items()}
        catalog[name] = PublicSet(name=name, **fields)
    return catalog
