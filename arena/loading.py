"""`load`: an SCM spec from whatever names it."""

import os
from pathlib import Path
from typing import Any

from arena import authored
from arena.errors import SourceError
from arena.spec import SCMSpec


def load(source: SCMSpec | dict[str, Any] | str | os.PathLike) -> SCMSpec:
    """The spec that `source` stands for.

    Args:
        source: `formula:NAME`, a JSON file, a scenario directory (its spec.json), a parsed JSON object, or a spec.

    Raises:
        SourceError: If there is no such scenario or file.
        SpecError: If what is there is not a spec.
    """
    if isinstance(source, SCMSpec):
        return source
    if isinstance(source, dict):
        return SCMSpec.from_dict(source)
    family, colon, name = os.fspath(source).partition(":")
    if colon and family in authored.FAMILIES:
        return authored.spec(family, name)
    path = Path(source)
    if path.is_dir():
        path = path / "spec.json"
    if not path.is_file():
        raise SourceError(f"'{source}' is neither a spec file nor a scenario directory with a spec.json")
    return SCMSpec.load(path)
