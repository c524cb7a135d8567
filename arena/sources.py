"""From what a user types to scenarios: `real:sachs`, `real`, or a path.

A path is a scenario directory (`arena.files`), a table folder (`arena.tables`), or a folder that holds any
number of either at any depth. Named suites are resolved by their own module, which passes their names here so
that the message for an unknown source lists everything that would have been known.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from arena import real
from arena.errors import DataError, SourceError
from arena.files import StoredScenario, is_scenario, lost_its_manifest, open_scenario
from arena.selection import Selection
from arena.tables import TableScenario, open_table, suggest, table_files

PREFIX = "real:"


def scenarios(
    source: str | os.PathLike[str], select: Selection | None = None, *, suites: Sequence[str] = ()
) -> list[StoredScenario | TableScenario]:
    """The scenarios of a source, sorted by id where it is a folder.

    Args:
        source: `real:<name>`, `real` (every public set at hand; `absent` names the rest), or a path.
        select: Which part of it.
        suites: Names of suites that are resolved elsewhere, for the message when nothing matches.

    Returns:
        At least one scenario.

    Raises:
        SourceError: If the source is unknown, holds no scenario, two share an id, or the filters leave none.
        DataError: If a scenario found cannot be read.
    """
    select = select or Selection()
    found = _resolve(os.fspath(source), suites)
    kept = select.choose(found, id=lambda s: s.id, family=lambda s: s.family, d=lambda s: len(s.names))
    if not kept:
        present = ", ".join(sorted({scenario.family for scenario in found}))
        smallest = min(len(scenario.names) for scenario in found)
        raise SourceError(
            f"{source}: none of its {len(found)} scenarios is left by families={select.families}, "
            f"max_d={select.max_d}; its families are {present}, its smallest scenario has {smallest} variables"
        )
    return kept


def absent(source: str | os.PathLike[str]) -> dict[str, str]:
    """The scenarios that belong to a source but cannot be had here: id -> reason.

    Only `real` can have any; every other source is whole or an error.
    """
    return real.load_all()[1] if os.fspath(source) == "real" else {}


def _resolve(source: str, suites: Sequence[str]) -> list[StoredScenario | TableScenario]:
    if source.startswith(PREFIX):
        return [real.load(source.removeprefix(PREFIX))]
    if source == "real":
        found, missing = real.load_all()
        if not found:
            name, reason = next(iter(missing.items()))
            raise SourceError(f"real: none of {len(missing)} public sets is at hand; {name}: {reason}")
        return list(found)
    folder = Path(source)
    if not folder.is_dir():
        raise SourceError(_unknown(source, suites))
    scenarios = sorted(_walk(folder, folder), key=lambda scenario: scenario.id)
    if not scenarios:
        raise SourceError(
            f"{source}: holds no scenario; expected directories with manifest.json, "
            "or folders with data.csv and graph.csv"
        )
    for first, second in zip(scenarios, scenarios[1:], strict=False):
        if first.id == second.id:
            raise SourceError(f"{source}: two scenarios have the id '{first.id}'; ids must be unique in a run")
    return scenarios


def _walk(folder: Path, root: Path) -> Iterator[StoredScenario | TableScenario]:
    """Scenarios in and below a folder. Hidden folders are unfinished writes, or not for us; links are not followed."""
    if is_scenario(folder):
        yield open_scenario(folder)
    elif lost_its_manifest(folder):
        raise DataError(f"{folder}: has the files of a scenario and no manifest.json; write it again or remove it")
    elif table_files(folder).keys() & {"data", "graph"}:
        # Half a table is an error rather than something to pass over.
        inner = folder.relative_to(root).as_posix()
        yield open_table(folder, id=None if inner == "." else f"table/{inner}")
    else:
        for child in sorted(folder.iterdir()):
            if child.is_dir() and not child.is_symlink() and not child.name.startswith("."):
                yield from _walk(child, root)


def _unknown(source: str, suites: Sequence[str]) -> str:
    path = Path(source)
    if path.exists():
        return f"{source}: is a file; give the folder that holds it"
    names = [*suites, "real", *(PREFIX + name for name in real.names())]
    return (
        f"no source '{source}'{suggest(source, names)}: there is no such folder, and the names are {', '.join(names)}"
    )
