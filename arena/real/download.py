"""The published files, fetched at a pinned commit and parsed from their original formats."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np

from arena.dataset import Dataset, check_dag
from arena.errors import DataError, SourceError
from arena.real.catalog import PublicSet

# Condition column of the Sachs data -> the molecule it acts on. Stimulation alone (cd3_cd28, icam2) targets
# none. Conditions aktinhib to ly as in the interventional sparsest-permutation experiments; pma and b2camp
# after Sachs et al. 2005.
SACHS_TARGETS = {
    "aktinhib": "akt",
    "g0076": "pkc",
    "psitect": "pip2",
    "u0126": "mek",
    "ly": "pip3",
    "pma": "pkc",
    "b2camp": "pka",
}


class Unreachable(SourceError):
    """The public source could not be reached."""


def fetchable(public: PublicSet) -> bool:
    """Whether there is a parser for the published files."""
    return public.format is not None


def cache_folder(public: PublicSet) -> Path:
    """Where the downloaded files of a set are kept, in the user's cache directory."""
    import pooch

    return Path(pooch.os_cache("causal-arena")) / "real" / public.name / public.commit[:12]


def fetch(public: PublicSet) -> Dataset:
    """The public set from the download cache or its public source.

    Raises:
        Unreachable: If a file is neither cached nor can be downloaded.
        DataError: If a file is not in the published format.
    """
    import pooch

    pooch.get_logger().setLevel("WARNING")  # not a word where all is well
    folder = cache_folder(public)
    files = []
    for url, path in zip(public.urls(), public.paths, strict=True):
        try:
            # No file hash: the values are checked after parsing, which also holds for local copies.
            file = pooch.retrieve(url, known_hash=None, fname=Path(path).name, path=folder)
        except OSError as error:
            raise Unreachable(f"{url} cannot be reached") from error
        files.append(Path(file))
    try:
        return PARSERS[public.format or ""](public, files)
    except DataError as error:
        raise DataError(f"{error}; if the download was cut short, remove {folder}") from error


def parse_cd_csg(public: PublicSet, files: list[Path]) -> Dataset:
    """CD-CSG: numbers without a header, and a 0/1 matrix (row causes column), both split by blanks."""
    data, graph = (_matrix(file) for file in files)
    if data.shape[1] != len(public.columns):
        raise DataError(f"{files[0]}: has {data.shape[1]} columns, expected {len(public.columns)}")
    return Dataset(public.columns, data, adjacency=graph, name=public.name)


def parse_sachs(public: PublicSet, files: list[Path]) -> Dataset:
    """Sachs in Tetrad's formats: raw values, condition indicators of the same rows, and a list of edges.

    The second file repeats the variables on another scale; only its condition columns are read.
    """
    names, values = _tabbed(files[0])
    columns, cells = _tabbed(files[1])
    if len(cells) != len(values):
        raise DataError(f"{files[1]}: has {len(cells)} rows, {files[0].name} {len(values)}")
    mask = np.zeros(values.shape, bool)
    for condition, target in SACHS_TARGETS.items():
        mask[:, _index(names, target, files[0])] |= cells[:, _index(columns, condition, files[1])] == 1
    adjacency = _edge_list(files[2], names)
    return Dataset(names, values, intervention_mask=mask, adjacency=adjacency, name=public.name)


PARSERS: dict[str, Callable[[PublicSet, list[Path]], Dataset]] = {
    "cd_csg": parse_cd_csg,
    "sachs": parse_sachs,
}


def _matrix(path: Path) -> np.ndarray:
    rows = [line.split() for line in _lines(path) if line.strip()]
    return _numbers(rows, path)


def _tabbed(path: Path) -> tuple[tuple[str, ...], np.ndarray]:
    rows = [line.split("\t") for line in _lines(path) if line.strip()]
    return tuple(cell.strip() for cell in rows[0]) if rows else (), _numbers(rows[1:], path)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: is not UTF-8 text; {error}") from error


def _numbers(rows: list[list[str]], path: Path) -> np.ndarray:
    """`[n, d]` float64, correctly rounded."""
    if not rows:
        raise DataError(f"{path}: is empty")
    try:
        return np.array([[float(cell) for cell in row] for row in rows])
    except ValueError as error:
        raise DataError(f"{path}: is not a table of numbers with rows of one length; {error}") from error


def _edge_list(path: Path, names: tuple[str, ...]) -> np.ndarray:
    """Tetrad's `1. a --> b` lines as an adjacency `[d, d]`."""
    adjacency = np.zeros((len(names), len(names)), np.int8)
    edges = [re.fullmatch(r"\d+\.\s+(\S+)\s+(\S+)\s+(\S+)", line.strip()) for line in _lines(path)]
    for edge in filter(None, edges):
        cause, arrow, effect = edge.groups()
        if arrow != "-->":
            raise DataError(f"{path}: edge '{edge.group()}' is not directed")
        adjacency[_index(names, cause, path), _index(names, effect, path)] = 1
    if not adjacency.any():
        raise DataError(f"{path}: lists no edges")
    return check_dag(adjacency, names, str(path))


def _index(names: tuple[str, ...], name: str, path: Path) -> int:
    if name not in names:
        raise DataError(f"{path}: '{name}' is not among {', '.join(names)}")
    return names.index(name)
