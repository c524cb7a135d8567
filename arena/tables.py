"""A table, a graph and perhaps targets, as CSV files that anyone can write.

A folder holds `data.csv` (a header of names, one row a sample), `graph.csv` (0/1, named rows and columns, row
causes column) and optionally `targets.csv` (0/1, the shape of the data, 1 where a variable was intervened on)
and `meta.json`. Each may be gzipped (`data.csv.gz`). Files are aligned by variable name, never by position.

`meta.json` may name the files (`{"files": {"data": "measurements.csv"}}`), permit constant columns
(`"allow_constant": true`) and say in words what is missing from the folder (`"missing": "..."`).
"""

import csv
import gzip
import hashlib
import io
import json
import math
import os
import zlib
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

from arena.dataset import SPLITS, Dataset, Split, check_dag
from arena.errors import DataError, SourceError
from arena.scenario import Scenario


class TableScenario(Scenario):
    """One table with a known graph; a single replicate.

    `obs` keeps the rows without intervention (paper 5.2), `obs_int` all rows. A split that would be empty of
    what its name says does not exist: `obs` needs a row without, `obs_int` a row with an intervention.
    """

    def __init__(self, dataset: Dataset, *, id: str, family: str = "table"):
        intervened = dataset.mask.any(axis=1)
        present = {"obs": not intervened.all(), "obs_int": bool(intervened.any())}
        self.id = id
        self.family = family
        self.names = dataset.names
        self.factors: dict[str, Any] = {"dimension": dataset.d}
        self.splits: tuple[Split, ...] = tuple(split for split in SPLITS if present[split])
        self._dataset = dataset

    def n_replicates(self) -> int:
        """Always 1."""
        return 1

    def load(self, split: Split, replicate: int = 0) -> Dataset:
        """The rows of a split, with the graph.

        Raises:
            SourceError: If the table has no such split, or `replicate` is not 0.
        """
        check_exists(self, split, replicate)
        whole = self._dataset
        dataset = whole.observational() if split == "obs" else whole
        return Dataset(
            names=dataset.names,
            values=dataset.values,
            intervention_mask=dataset.mask,
            adjacency=dataset.truth,
            name=self.id,
            split=split,
            info=dict(dataset.info),
        )

    def content_hash(self, split: Split, replicate: int = 0) -> str:
        """`values_checksum` of the split."""
        return values_checksum(self.load(split, replicate))


def check_exists(scenario: Scenario, split: Split, replicate: int) -> None:
    """Raises SourceError unless `scenario` has that split and that replicate."""
    if split not in scenario.splits:
        raise SourceError(f"{scenario.id} has no split '{split}'; it has {', '.join(scenario.splits)}")
    if not 0 <= replicate < scenario.n_replicates():
        raise SourceError(
            f"{scenario.id} has no replicate {replicate}; replicates are 0 to {scenario.n_replicates() - 1}"
        )


def open_table(path: str | os.PathLike[str], *, id: str | None = None, family: str = "table") -> TableScenario:
    """The table folder at `path` as a scenario; `id` is `table/<folder name>` when omitted.

    Raises:
        DataError: As `read_table`.
    """
    folder = Path(path)
    return TableScenario(read_table(folder), id=id or f"table/{folder.resolve().name}", family=family)


def table_files(path: str | os.PathLike[str]) -> dict[str, Path]:
    """Which of the files of a table folder are there: `data`, `graph`, `targets` -> path.

    Raises:
        DataError: If `meta.json` is not JSON or names files that do not exist.
    """
    folder = Path(path)
    meta = _read_meta(folder / "meta.json")
    found = {role: _find(folder, role, meta) for role in ("data", "graph", "targets")}
    return {role: file for role, file in found.items() if file is not None}


def read_table(path: str | os.PathLike[str], *, allow_constant: bool = False, fill: bool = False) -> Dataset:
    """Reads a table folder (see the module).

    Args:
        path: The folder.
        allow_constant: Accept columns that hold one value only.
        fill: Give missing cells the mean of their column over the rows without intervention where it is known.

    Returns:
        All rows: `values` `[n, d]` float64 in the units and column order of the data file, the mask and graph
        aligned to it.

    Raises:
        DataError: If a file is absent, empty or not numeric, a cell is missing, names repeat or differ from
            file to file, the graph is not a DAG, or a column is constant. The message names file, place and
            remedy.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; expected one with data.csv and graph.csv")
    meta = _read_meta(folder / "meta.json")
    data, graph = _require(folder, "data", meta), _require(folder, "graph", meta)
    names, values = _read_numbers(data, gaps=fill)
    adjacency = _align_graph(*parse_graph(_text(graph), str(graph)), names, graph, data)
    targets = _find(folder, "targets", meta)
    mask = None if targets is None else _read_targets(targets, names, len(values), data)
    if fill:
        values = _filled(names, values, mask, data)
    if not (allow_constant or meta.get("allow_constant") is True):
        _refuse_constant(names, values, data)
    return Dataset(names, values, intervention_mask=mask, adjacency=adjacency, name=folder.resolve().name)


def values_checksum(dataset: Dataset) -> str:
    """SHA-256 of what a dataset means, whatever file it came from.

    Canonical bytes: names and shape as JSON, `values` as little-endian float64 in row order, then mask and
    adjacency as bytes.
    """
    head = json.dumps({"names": list(dataset.names), "shape": [dataset.n, dataset.d]}, ensure_ascii=True)
    digest = hashlib.sha256(head.encode())
    digest.update(np.ascontiguousarray(dataset.values, dtype="<f8").tobytes())
    digest.update(np.ascontiguousarray(dataset.mask, dtype=np.uint8).tobytes())
    digest.update(np.ascontiguousarray(dataset.truth, dtype=np.uint8).tobytes())
    return digest.hexdigest()


def parse_graph(text: str, where: str) -> tuple[tuple[str, ...], np.ndarray]:
    """Names and adjacency `[d, d]` of a graph CSV; rows are put in the order of the columns.

    Raises:
        DataError: If it is empty, not square, its rows and columns name different variables, a name repeats,
            an entry is not 0 or 1, or there is a directed cycle.
    """
    rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    if not rows:
        raise DataError(f"{where}: is empty; expected a 0/1 matrix with named rows and columns")
    columns, labels = tuple(rows[0][1:]), tuple(row[0] for row in rows[1:])
    _refuse_repeats(columns, where)
    _refuse_repeats(labels, where, "row")
    if len(labels) != len(columns):
        raise DataError(
            f"{where}: has {len(labels)} rows and {len(columns)} columns after the names; it must be square"
        )
    for label, row in zip(labels, rows[1:], strict=True):
        if label not in columns:
            raise DataError(
                f"{where}: row '{label}' is not among the columns{suggest(label, columns)}; "
                "the first cell of each row must name its variable"
            )
        if len(row) != len(columns) + 1:
            raise DataError(f"{where}: row '{label}' has {len(row) - 1} entries, the header {len(columns)} names")
    adjacency = np.zeros((len(columns), len(columns)), np.int8)
    position = {name: i for i, name in enumerate(columns)}
    for row in rows[1:]:
        for j, cell in enumerate(row[1:]):
            if cell.strip() not in ("0", "1", "0.0", "1.0"):
                raise DataError(f"{where}: row '{row[0]}', column '{columns[j]}' is {cell!r}; entries must be 0 or 1")
            adjacency[position[row[0]], j] = cell.strip()[0] == "1"
    return columns, check_dag(adjacency, columns, where)


def suggest(name: str, known: Sequence[str]) -> str:
    """` (did you mean 'x'?)`, or nothing when no known name is close."""
    close = get_close_matches(name, known, n=1)
    return f" (did you mean '{close[0]}'?)" if close else ""


def _read_meta(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        meta = json.loads(_text(path))
    except json.JSONDecodeError as error:
        raise DataError(f"{path}: is not JSON; {error}") from error
    if not isinstance(meta, dict):
        raise DataError(f"{path}: must hold a JSON object, found {type(meta).__name__}")
    return meta


def _find(folder: Path, role: str, meta: dict[str, Any]) -> Path | None:
    """The file of a role: as `meta.json` names it, else `<role>.csv` or `<role>.csv.gz`; None when absent."""
    files = meta.get("files")
    named = files.get(role) if isinstance(files, dict) else None
    if isinstance(named, str):
        # Published folders add a remark after the name: "targets.csv (0/1 mask)".
        for name in (named, named.split(" (")[0]):
            if (folder / name).is_file():
                return folder / name
        raise DataError(f"{folder / 'meta.json'}: names '{named}' as the {role} file, but there is no such file")
    candidates = (folder / f"{role}.csv", folder / f"{role}.csv.gz")
    return next((path for path in candidates if path.is_file()), None)


def _require(folder: Path, role: str, meta: dict[str, Any]) -> Path:
    path = _find(folder, role, meta)
    if path is None:
        why = f"; meta.json says what is missing: {meta['missing']}" if meta.get("missing") else ""
        raise DataError(f"{folder}: no such file as {role}.csv or {role}.csv.gz{why}")
    return path


def _text(path: Path) -> str:
    """The file's text, unzipped; a byte-order mark is dropped."""
    try:
        raw = path.read_bytes()
        return (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: is not UTF-8 text; {error}") from error
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read; {error}") from error


def _read_numbers(path: Path, *, gaps: bool = False) -> tuple[tuple[str, ...], np.ndarray]:
    """Header and float64 cells `[n, d]` of a CSV, correctly rounded; all are present, or nan where `gaps` may be."""
    text = _text(path)
    names = tuple(next(csv.reader(io.StringIO(text, newline="")), []))
    if not names:
        raise DataError(f"{path}: is empty; expected a header of variable names and one row a sample")
    if "" in names:
        raise DataError(
            f"{path}: column {names.index('') + 1} has no name; if it is a row index, write the file without it"
        )
    _refuse_repeats(names, path)
    try:
        table = arrow_csv.read_csv(
            io.BytesIO(text.encode()),
            read_options=arrow_csv.ReadOptions(use_threads=False),
            convert_options=arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.float64())),
        )
    except pa.ArrowInvalid as error:
        raise _explain(path, text, names, error) from error
    if not table.num_rows:
        raise DataError(f"{path}: has a header but no rows")
    values = np.stack([column.to_numpy() for column in table.columns], axis=1)
    missing = np.argwhere(np.isnan(values))
    if len(missing) and not gaps:
        row, col = missing[0]
        raise DataError(
            f"{path}: {len(missing)} of {values.size} cells are missing, the first in column '{names[col]}', "
            f"line {row + 2}; fill them, or drop those rows or columns"
        )
    return names, values


def _filled(names: tuple[str, ...], values: np.ndarray, mask: np.ndarray | None, path: Path) -> np.ndarray:
    """The cells with each missing one as the mean of its column over the rows without intervention."""
    calm = np.ones(len(values), bool) if mask is None else ~mask.any(axis=1)
    values = values.copy()
    for j, name in enumerate(names):
        known = values[calm, j][~np.isnan(values[calm, j])]
        absent = np.isnan(values[:, j])
        if absent.any() and not len(known):
            raise DataError(f"{path}: column '{name}' has no value in any row without intervention to fill it from")
        if absent.any():
            values[absent, j] = math.fsum(known) / len(known)  # exactly rounded, whatever the machine
    return values


def _explain(path: Path, text: str, names: tuple[str, ...], cause: Exception) -> DataError:
    """What the fast parser stumbled over, found by a slow one."""
    reader = csv.reader(io.StringIO(text, newline=""))
    next(reader)
    for row in reader:
        if row and len(row) != len(names):
            return DataError(f"{path}: line {reader.line_num} has {len(row)} cells, the header {len(names)}")
        for name, cell in zip(names, row, strict=False):
            try:
                float(cell or "nan")
            except ValueError:
                return DataError(f"{path}: column '{name}', line {reader.line_num} is {cell!r}; cells must be numbers")
    return DataError(f"{path}: {cause}")


def _read_targets(path: Path, names: tuple[str, ...], n: int, data: Path) -> np.ndarray:
    columns, cells = _read_numbers(path)
    _require_same_names(columns, names, path, data)
    if len(cells) != n:
        raise DataError(f"{path}: has {len(cells)} rows, {data.name} {n}; the mask must have the shape of the data")
    odd = np.argwhere((cells != 0) & (cells != 1))
    if len(odd):
        row, col = odd[0]
        raise DataError(
            f"{path}: column '{columns[col]}', line {row + 2} is {cells[row, col]:g}; entries must be 0 or 1"
        )
    return cells[:, [columns.index(name) for name in names]].astype(bool)


def _align_graph(
    columns: tuple[str, ...], adjacency: np.ndarray, names: tuple[str, ...], graph: Path, data: Path
) -> np.ndarray:
    _require_same_names(columns, names, graph, data)
    index = [columns.index(name) for name in names]
    return adjacency[np.ix_(index, index)]


def _require_same_names(columns: tuple[str, ...], names: tuple[str, ...], path: Path, data: Path) -> None:
    for column in columns:
        if column not in names:
            raise DataError(f"{path}: variable '{column}' is not in {data.name}{suggest(column, names)}")
    for name in names:
        if name not in columns:
            raise DataError(f"{path}: lacks variable '{name}' of {data.name}; both must name the same variables")


def _refuse_repeats(names: Sequence[str], where: str | Path, axis: str = "column") -> None:
    if len(set(names)) != len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise DataError(f"{where}: {axis} '{twice}' appears more than once; names must be unique")


def _refuse_constant(names: tuple[str, ...], values: np.ndarray, path: Path) -> None:
    constant = [name for name, same in zip(names, (values == values[0]).all(axis=0), strict=True) if same]
    if constant:
        listed = ", ".join(f"'{name}'" for name in constant)
        raise DataError(
            f"{path}: constant over all rows: column {listed}; drop it, "
            'or permit it by allow_constant=True or "allow_constant": true in meta.json'
        )
