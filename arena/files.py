"""Scenario directories: a spec, a graph and its tables on disk, every file hashed.

    <scenario>/
      manifest.json            what is here: names, sizes, hashes, seeds, versions
      spec.json                the declarative SCM, where there is one (opaque here)
      adjacency.csv            0/1, named rows and columns, row causes column
      replicate_0/
        obs.parquet            values [n, d], one column a variable, dtype kept
        obs_int.parquet        the same with interventions
        obs_int_mask.parquet   bool [n, d], true where a variable was set in a row

The manifest is written last and carries its own checksum: a directory with a readable manifest is complete.
Parquet files open in any tool; they hold no timestamps, so the same input gives the same bytes.
"""

import csv
import functools
import hashlib
import io
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from arena.dataset import SPLITS, Dataset, Split, check_dag
from arena.errors import DataError
from arena.scenario import Scenario
from arena.sortability import order_alignment, path_lengths, r2_of_columns, variances
from arena.tables import check_exists, parse_graph

SCHEMA_VERSION = 1
MANIFEST = "manifest.json"
# A directory under construction: hidden, and refused by `open_scenario` whatever it holds.
_PARTIAL = ".partial"


def write_scenario(
    path: str | os.PathLike[str],
    *,
    id: str,
    family: str,
    factors: Mapping[str, Any],
    adjacency: np.ndarray,
    names: Sequence[str],
    spec_json: str | None,
    replicates: Sequence[Mapping[Split, Dataset]],
    provenance: Mapping[str, Any],
    overwrite: bool = False,
) -> Path:
    """Writes a scenario directory, whole or not at all.

    Everything is built in a hidden sibling (`.<name>.partial`), the manifest last and synced to disk, and the
    sibling is then renamed to `path`. A write that was interrupted leaves at most that sibling, which nothing
    reads and the next write of the same path removes. One writer a path.

    Args:
        path: Where to; parents are created. An existing scenario is refused, or with `overwrite` replaced by
            two renames: an interruption exactly between them leaves nothing at `path`, never a mixture.
        id: The scenario's id, unique within a run.
        family: `synthetic`, `semantic`, `formula`, `real` or `table`.
        factors: phi(S), JSON values.
        adjacency: `[d, d]`, `adjacency[i, j] == 1` for i -> j.
        names: The `d` column names, the order of every table.
        spec_json: Text of `spec.json`, or None.
        replicates: For each replicate, its splits; all have the same ones. Exogenous noise is not stored.
        provenance: Seeds, versions, `target_pool` (names) and whatever else is worth recording; JSON values.
        overwrite: Replace an existing scenario directory. Anything else at `path` is never removed.

    Returns:
        `path`.

    Raises:
        DataError: If the tables disagree with names, graph or each other, or something else is at `path`.
    """
    target = Path(path)
    _check_target(target, overwrite)
    names = tuple(names)
    adjacency = check_dag(adjacency, names, id)
    splits = _check_replicates(replicates, names, adjacency, id)

    contents: dict[str, bytes] = {"adjacency.csv": _graph_bytes(adjacency, names)}
    if spec_json is not None:
        contents["spec.json"] = spec_json.encode()
    for index, replicate in enumerate(replicates):
        for split, dataset in replicate.items():
            contents[_table(index, split)] = _parquet_bytes(dataset.values, names)
            if split == "obs_int":
                contents[_mask(index)] = _parquet_bytes(dataset.mask, names)

    manifest = {
        "schema_version": SCHEMA_VERSION,
        "id": id,
        "family": family,
        "factors": dict(factors),
        "names": list(names),
        "splits": list(splits),
        "replicates": len(replicates),
        "rows": [{split: dataset.n for split, dataset in replicate.items()} for replicate in replicates],
        "sortability": _sortability(replicates, adjacency),
        "files": {name: _sha256(data) for name, data in sorted(contents.items())},
        "provenance": dict(provenance),
        "versions": {"numpy": np.__version__, "pyarrow": pa.__version__},
    }
    try:
        rendered = _render(manifest)
    except (TypeError, ValueError) as error:
        raise DataError(f"{id}: factors and provenance must be JSON values; {error}") from error
    _publish(target, contents, rendered)
    return target


class StoredScenario(Scenario):
    """A scenario directory. Opening reads the manifest only; tables are read and checked when asked for."""

    def __init__(self, path: Path, manifest: Mapping[str, Any]):
        self.path = path
        self.manifest = dict(manifest)
        self.id: str = manifest["id"]
        self.family: str = manifest["family"]
        self.factors: dict[str, Any] = dict(manifest["factors"])
        self.splits: tuple[Split, ...] = tuple(split for split in SPLITS if split in manifest["splits"])
        self.names: tuple[str, ...] = tuple(manifest["names"])

    def n_replicates(self) -> int:
        """How many replicates are stored."""
        return self.manifest["replicates"]

    def load(self, split: Split, replicate: int) -> Dataset:
        """One table with mask and graph, aligned by name to `adjacency.csv`.

        Raises:
            DataError: If a file is absent, is not what the manifest recorded, or cannot be parsed.
            SourceError: If the split or the replicate does not exist.
        """
        check_exists(self, split, replicate)
        values = self._read_table(_table(replicate, split), np.floating)
        mask = self._read_table(_mask(replicate), np.bool_) if split == "obs_int" else None
        if mask is not None and mask.shape != values.shape:
            raise DataError(
                f"{self.path / _mask(replicate)}: the mask has shape {mask.shape}, "
                f"its table {values.shape}; they must agree"
            )
        return Dataset(
            names=self._graph[0],
            values=values,
            intervention_mask=mask,
            adjacency=self._graph[1],
            name=self.id,
            split=split,
            info={"replicate": replicate},
        )

    def shape(self, split: Split, replicate: int) -> tuple[int, int]:
        """Rows and variables of a table as recorded; reads none."""
        check_exists(self, split, replicate)
        return self.manifest["rows"][replicate][split], len(self.names)

    def content_hash(self, split: Split, replicate: int) -> str:
        """SHA-256 over the recorded hashes of graph, table and mask; reads no table."""
        check_exists(self, split, replicate)
        files = self.manifest["files"]
        parts = ["adjacency.csv", _table(replicate, split)]
        if split == "obs_int":
            parts.append(_mask(replicate))
        return _sha256("".join(files[part] for part in parts).encode())

    def spec_json(self) -> str | None:
        """Text of `spec.json`, checked; None where there is none."""
        return self.read("spec.json").decode() if "spec.json" in self.manifest["files"] else None

    def adjacency(self) -> np.ndarray:
        """The graph `[d, d]` in the order of `names`."""
        return self._graph[1]

    def read(self, name: str) -> bytes:
        """The bytes of a file of the directory, checked against the manifest.

        Raises:
            DataError: If it is absent, not recorded, or its hash differs.
        """
        path = self.path / name
        recorded = self.manifest["files"].get(name)
        if recorded is None:
            raise DataError(f"{path}: is not recorded in {MANIFEST}")
        try:
            data = path.read_bytes()
        except OSError as error:
            raise DataError(f"{path}: is recorded in {MANIFEST} but cannot be read; {error.strerror}") from error
        found = _sha256(data)
        if found != recorded:
            raise DataError(f"{path}: is damaged; sha256 is {found}, {MANIFEST} recorded {recorded}")
        return data

    @functools.cached_property
    def _graph(self) -> tuple[tuple[str, ...], np.ndarray]:
        where = self.path / "adjacency.csv"
        columns, adjacency = parse_graph(self.read("adjacency.csv").decode(), str(where))
        if set(columns) != set(self.names):
            raise DataError(f"{where}: names {', '.join(columns)}; {MANIFEST} has {', '.join(self.names)}")
        index = [columns.index(name) for name in self.names]
        return self.names, adjacency[np.ix_(index, index)]

    def _read_table(self, name: str, kind: type[np.generic]) -> np.ndarray:
        """`[n, d]`, columns in the order of the graph."""
        path, data = self.path / name, self.read(name)
        try:
            with pq.ParquetFile(pa.BufferReader(data)) as file:
                table = file.read(use_threads=False)
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{path}: is not a readable Parquet file; {error}") from error
        names = self._graph[0]
        columns = table.column_names
        if sorted(columns) != sorted(names):
            raise DataError(
                f"{path}: has columns {', '.join(columns)}; the graph has {', '.join(names)}; they must agree"
            )
        arrays = [table.column(columns.index(column)).to_numpy() for column in names]
        values = np.stack(arrays, axis=1) if arrays else np.zeros((table.num_rows, 0), np.float32)
        if not np.issubdtype(values.dtype, kind):
            raise DataError(f"{path}: columns are {values.dtype}, expected {kind.__name__}")
        return values


def open_scenario(path: str | os.PathLike[str]) -> StoredScenario:
    """The scenario directory at `path`.

    Raises:
        DataError: If it is not a finished scenario directory, its manifest is damaged or was edited, or its
            schema version is not one that this package reads.
    """
    folder = Path(path)
    file = folder / MANIFEST
    if folder.name.endswith(_PARTIAL):
        raise DataError(f"{folder}: is an unfinished write; write the scenario again")
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise DataError(f"{folder}: is not a scenario directory; {MANIFEST}: {error.strerror}") from error
    try:
        manifest = json.loads(raw)
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DataError(f"{file}: is damaged, not JSON; {error}") from error
    version = manifest.get("schema_version") if isinstance(manifest, dict) else None
    if version != SCHEMA_VERSION:
        raise DataError(f"{file}: schema_version is {version!r}; this version of arena reads {SCHEMA_VERSION}")
    manifest.pop("checksum", None)
    if _render(manifest) != raw:
        raise DataError(f"{file}: is damaged or was edited; its contents do not match its checksum")
    return StoredScenario(folder, manifest)


def is_scenario(path: str | os.PathLike[str]) -> bool:
    """Whether `path` is a finished scenario directory, by the presence of a manifest."""
    folder = Path(path)
    return not folder.name.endswith(_PARTIAL) and (folder / MANIFEST).is_file()


def lost_its_manifest(path: str | os.PathLike[str]) -> bool:
    """Whether `path` has the files of a scenario directory but no manifest."""
    folder = Path(path)
    rest = any((folder / name).exists() for name in ("adjacency.csv", "spec.json", "replicate_0"))
    return rest and not (folder / MANIFEST).exists()


def _sortability(
    replicates: Sequence[Mapping[Split, Dataset]], adjacency: np.ndarray
) -> list[dict[Split, dict[str, float | None]]]:
    """How far the causal order shows in the variances and in the R^2 of each table, whatever it was set to."""
    lengths = path_lengths(adjacency)
    of = lambda values: {  # noqa: E731
        "var": order_alignment(variances(values), lengths),
        "r2": order_alignment(r2_of_columns(values), lengths),
    }
    return [{split: of(dataset.values) for split, dataset in replicate.items()} for replicate in replicates]


def _table(replicate: int, split: Split) -> str:
    return f"replicate_{replicate}/{split}.parquet"


def _mask(replicate: int) -> str:
    return f"replicate_{replicate}/obs_int_mask.parquet"


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _render(manifest: Mapping[str, Any]) -> bytes:
    """The manifest's bytes, with a checksum of everything else in it as last entry."""
    dump = functools.partial(json.dumps, indent=1, ensure_ascii=False, allow_nan=False)
    checksum = _sha256(dump(manifest).encode())
    return (dump({**manifest, "checksum": checksum}) + "\n").encode()


def _graph_bytes(adjacency: np.ndarray, names: tuple[str, ...]) -> bytes:
    text = io.StringIO(newline="")
    # The writer leaves a lone carriage return unquoted, which the reader would take for the end of a row.
    quoting = csv.QUOTE_NONNUMERIC if any("\r" in name for name in names) else csv.QUOTE_MINIMAL
    writer = csv.writer(text, lineterminator="\n", quoting=quoting)
    writer.writerow(["", *names])
    writer.writerows([name, *row] for name, row in zip(names, adjacency.tolist(), strict=True))
    return text.getvalue().encode()


def _parquet_bytes(array: np.ndarray, names: tuple[str, ...]) -> bytes:
    """One column a variable. Dictionaries, statistics, a better compression: each doubles the time for little."""
    columns = [pa.array(column) for column in np.ascontiguousarray(array.T)]
    buffer = pa.BufferOutputStream()
    pq.write_table(
        pa.Table.from_arrays(columns, names=list(names)),
        buffer,
        compression="snappy",
        use_dictionary=False,
        write_statistics=False,
    )
    return buffer.getvalue().to_pybytes()


def _check_target(target: Path, overwrite: bool) -> None:
    if not target.exists():
        return
    if not is_scenario(target):
        raise DataError(f"{target}: exists and is not a scenario directory; remove it or choose another path")
    if not overwrite:
        raise DataError(f"{target}: a scenario is already there; pass overwrite=True to replace it")


def _check_replicates(
    replicates: Sequence[Mapping[Split, Dataset]], names: tuple[str, ...], adjacency: np.ndarray, id: str
) -> tuple[Split, ...]:
    """The splits that every replicate has."""
    if not replicates or not replicates[0]:
        raise DataError(f"{id}: no tables to write; need one replicate with one split")
    if not names:
        raise DataError(f"{id}: no variables")
    splits: tuple[Split, ...] = tuple(split for split in SPLITS if split in replicates[0])
    for index, replicate in enumerate(replicates):
        where = f"{id}: replicate {index}"
        if set(replicate) != set(splits):
            raise DataError(f"{where} has splits {sorted(replicate)}, replicate 0 {sorted(splits)}")
        for split, dataset in replicate.items():
            if dataset.names != names:
                raise DataError(f"{where}, {split}: columns are {dataset.names}, expected {names}")
            if not dataset.n:
                raise DataError(f"{where}, {split}: the table has no rows")
            if split == "obs" and dataset.mask.any():
                raise DataError(f"{where}: split 'obs' has intervened rows")
            if dataset.adjacency is not None and not np.array_equal(dataset.adjacency, adjacency):
                raise DataError(f"{where}, {split}: the table's graph differs from the scenario's")
    return splits


def _publish(target: Path, contents: Mapping[str, bytes], manifest: bytes) -> None:
    """Writes the files next to `target` and renames them into place."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.parent / f".{target.name}{_PARTIAL}"
    shutil.rmtree(partial, ignore_errors=True)
    try:
        for name, data in contents.items():
            (partial / name).parent.mkdir(parents=True, exist_ok=True)
            (partial / name).write_bytes(data)
        with (partial / MANIFEST).open("wb") as file:
            file.write(manifest)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            old = target.parent / f".{target.name}.old{_PARTIAL}"
            shutil.rmtree(old, ignore_errors=True)
            os.rename(target, old)
            try:
                os.rename(partial, target)
            except BaseException:
                os.rename(old, target)
                raise
            shutil.rmtree(old)
        else:
            os.rename(partial, target)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
