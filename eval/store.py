"""`Store`: the finished rows of one run, and what is known of their scenarios, in one SQLite file."""

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arena.errors import RunError
from eval.metrics import COUNTS, METRICS

if TYPE_CHECKING:
    import pandas as pd

APPLICATION_ID = 0xCA5A  # marks the file as ours
SCHEMA_VERSION = 3
FILENAME = "run.sqlite"

KEY = ("scenario", "split", "replicate", "method")
# Order and types of the columns of a row. The key comes first, measured values last.
COLUMNS: dict[str, str] = {
    "scenario": "TEXT NOT NULL",
    "split": "TEXT NOT NULL",
    "replicate": "INTEGER NOT NULL",
    "method": "TEXT NOT NULL",
    "family": "TEXT NOT NULL",
    "control": "INTEGER NOT NULL",
    "status": "TEXT NOT NULL",
    "reason": "TEXT NOT NULL",
    "detail": "TEXT NOT NULL",
    "n": "INTEGER",
    "d": "INTEGER",
    "edges": "INTEGER",
    "var_sortability": "REAL",
    "r2_sortability": "REAL",
    "reduced": "INTEGER NOT NULL",
    "batch": "INTEGER NOT NULL",
    **dict.fromkeys(COUNTS, "INTEGER"),
    **dict.fromkeys((*METRICS, "sid"), "REAL"),
    "seconds_load": "REAL",
    "seconds_fit": "REAL",
    "seconds_score": "REAL",
    "seed": "INTEGER NOT NULL",
    "data_hash": "TEXT NOT NULL",
    "settings": "TEXT NOT NULL",
    "factors": "TEXT NOT NULL",
    "versions": "TEXT NOT NULL",
    "started": "TEXT NOT NULL",
    "finished": "TEXT NOT NULL",
}
# What a row is unless it says otherwise: a fit with the configuration that was asked for, of one table.
DEFAULTS = {"reduced": 0, "batch": 1}
# Columns of the table of scenarios; `about` is JSON, `eval.scenarios.about`.
SCENARIO = {
    "scenario": "TEXT NOT NULL PRIMARY KEY",
    "family": "TEXT NOT NULL",
    "d": "INTEGER",
    "about": "TEXT NOT NULL",
}
# Arrays kept beside a row. Graphs are 0/1 and go as bits; the native answer may be a PAG, whose entries are codes.
ARRAYS = {"truth": "bits", "adjacency": "bits", "native": "|i1", "scores": "<f4"}


class Key(NamedTuple):
    """What names a row within a run."""

    scenario: str
    split: str
    replicate: int
    method: str


class Store:
    """The rows of a run. One process writes, any number read meanwhile.

    Args:
        path: The SQLite file; its directory must exist.
        write: Take the write lock, creating the file if it is absent. The lock ends with the process, however
            that ends.

    Raises:
        RunError: If the file is not a run, is of another schema version, is absent (reading), or another
            process is writing to it.
    """

    def __init__(self, path: str | Path, *, write: bool):
        self.path = Path(path)
        if not write and not self.path.is_file():
            raise RunError(f"{self.path.parent}: no run here ({self.path.name} is absent)")
        self._lock = _lock(self.path.with_suffix(".lock")) if write else None
        try:
            self._db = sqlite3.connect(self.path, timeout=30) if write else _reader(self.path)
            self._check(write)
        except sqlite3.DatabaseError as error:
            self.close()
            raise RunError(f"{self.path} is not a run that can be read: {error}") from None
        except RunError:
            self.close()
            raise

    def _check(self, write: bool):
        (application,) = self._db.execute("PRAGMA application_id").fetchone()
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        (tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if write and not tables:
            self._create()
        elif application != APPLICATION_ID:
            raise RunError(f"{self.path} is a database, but not a run; choose another directory")
        elif version != SCHEMA_VERSION:
            raise RunError(
                f"{self.path} has schema version {version}, this release reads {SCHEMA_VERSION}; "
                "open it with the release that wrote it, or choose another directory"
            )
        if write:
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")

    def _create(self):
        columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
        arrays = ", ".join(f"{name} BLOB" for name in ARRAYS)
        key = ", ".join(KEY)
        # One transaction: a process killed here leaves an empty file, which the next one fills.
        self._db.executescript(
            f"""
            BEGIN;
            CREATE TABLE rows ({columns}, PRIMARY KEY ({key}));
            CREATE TABLE estimates (scenario TEXT NOT NULL, split TEXT NOT NULL, replicate INTEGER NOT NULL,
                method TEXT NOT NULL, d INTEGER NOT NULL, {arrays}, info TEXT NOT NULL, PRIMARY KEY ({key}));
            CREATE TABLE scenarios ({", ".join(f"{name} {kind}" for name, kind in SCENARIO.items())});
            PRAGMA application_id = {APPLICATION_ID};
            PRAGMA user_version = {SCHEMA_VERSION};
            COMMIT;
            """
        )

    def add(
        self,
        row: Mapping[str, Any],
        arrays: Mapping[str, np.ndarray | None] | None = None,
        info: Mapping[str, Any] | None = None,
    ) -> None:
        """Commit one finished row, replacing an earlier one of the same key.

        Args:
            row: A value for every column of `COLUMNS` that is not missing (or as in `DEFAULTS`); nan counts as missing.
            arrays: `truth`, `adjacency`, `native`, `scores`, each `[d, d]` or None; stored when given.
            info: What the method says beside its estimate, as JSON values.

        Raises:
            KeyError: If a column is unknown.
        """
        unknown = set(row) - set(COLUMNS)
        if unknown:
            raise KeyError(f"unknown column {sorted(unknown)[0]!r}")
        values = [_plain(row.get(name, DEFAULTS.get(name))) for name in COLUMNS]
        key = [_plain(row[name]) for name in KEY]
        with self._db:
            self._db.execute(
                f"INSERT OR REPLACE INTO rows VALUES ({', '.join('?' * len(values))})",
                values,
            )
            self._db.execute(f"DELETE FROM estimates WHERE {_match()}", key)
            if arrays is not None:
                blobs = [_pack(name, arrays.get(name)) for name in ARRAYS]
                about = json.dumps(dict(info or {}), default=str)
                marks = ", ".join("?" * (len(KEY) + len(blobs) + 2))
                self._db.execute(f"INSERT INTO estimates VALUES ({marks})", [*key, _plain(row["d"]), *blobs, about])

    def add_scenario(self, scenario: str, family: str, about: Mapping[str, Any]) -> None:
        """Commit what is known of a scenario (`eval.scenarios.about`), replacing what was known before."""
        text = json.dumps(about, default=str)
        with self._db:
            self._db.execute(
                "INSERT OR REPLACE INTO scenarios VALUES (?, ?, ?, ?)", (scenario, family, len(about["names"]), text)
            )

    def described(self) -> set[str]:
        """The scenarios of which something is known."""
        return {scenario for (scenario,) in self._db.execute("SELECT scenario FROM scenarios")}

    def scenarios(self) -> "pd.DataFrame":
        """What is known of each scenario: `scenario`, `family`, `d`, and `about` (a dict), sorted by id."""
        import pandas as pd

        found = self._db.execute("SELECT * FROM scenarios ORDER BY scenario").fetchall()
        table = pd.DataFrame([(*rest, json.loads(about)) for *rest, about in found], columns=list(SCENARIO))
        return table.astype({"scenario": "str", "family": "str", "d": "Int64"})

    def finished(self) -> dict[Key, dict[str, Any]]:
        """The keys of all rows, each with the columns that tell whether it stands."""
        names = ("status", "reason", "detail", "data_hash", "settings", "seed", "reduced")
        found = self._db.execute(f"SELECT {', '.join(KEY + names)} FROM rows")
        return {Key(*row[:4]): dict(zip(names, row[4:], strict=True)) for row in found}

    def rows(self) -> "pd.DataFrame":
        """All rows as a table, sorted by key; missing metrics are nan."""
        import pandas as pd

        table = pd.DataFrame(
            self._db.execute(f"SELECT * FROM rows ORDER BY {', '.join(KEY)}").fetchall(),
            columns=list(COLUMNS),
        )
        kinds = {"TEXT": "str", "INTEGER": "Int64", "REAL": "float64"}
        return table.astype({name: kinds[kind.split()[0]] for name, kind in COLUMNS.items()})

    def estimate(self, key: Iterable[Any]) -> dict[str, Any]:
        """What a method answered: `truth`, `adjacency`, `native`, `scores` (`[d, d]` or None) and `info`.

        Raises:
            RunError: If the row has no estimate.
        """
        key = tuple(map(_plain, key))
        found = self._db.execute(f"SELECT d, info, {', '.join(ARRAYS)} FROM estimates WHERE {_match()}", key).fetchone()
        if found is None:
            raise RunError(f"{self.path}: no estimate for {' / '.join(map(str, key))}")
        return _estimate(*found)

    def estimates(self, **where: str) -> Iterator[tuple[Key, dict[str, Any]]]:
        """All answers as from `estimate`, with their keys, in one pass and in the order of the keys.

        Args:
            where: Only those with this `scenario`, `split` or `method`.
        """
        chosen = " AND ".join(f"{KEY[KEY.index(name)]} = ?" for name in where) or "1"
        query = f"SELECT {', '.join(KEY)}, d, info, {', '.join(ARRAYS)} FROM estimates WHERE {chosen}"
        for row in self._db.execute(f"{query} ORDER BY {', '.join(KEY)}", list(where.values())):
            yield Key(*row[: len(KEY)]), _estimate(*row[len(KEY) :])

    def export(self, directory: str | Path) -> tuple[Path, Path]:
        """Write all rows to `rows.parquet` and `rows.csv` in a directory, and return the two paths."""
        directory = Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        table = self.rows()
        parquet, csv = directory / "rows.parquet", directory / "rows.csv"
        table.to_parquet(parquet, index=False)
        table.to_csv(csv, index=False)
        return parquet, csv

    def close(self) -> None:
        """Release the file and the lock."""
        for connection in (getattr(self, "_db", None), self._lock):
            if connection is not None:
                connection.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.close()
        if isinstance(error, sqlite3.DatabaseError):  # pages of it are damaged, or there is no room for more
            raise RunError(f"{self.path} cannot be read or written any further: {error}") from error


def _reader(path: Path) -> sqlite3.Connection:
    """A connection for reading; readers of a run keep files beside it, unless nobody can be writing to it."""
    immutable = not (_writable(path) and _writable(path.parent)) and not path.with_name(path.name + "-wal").exists()
    if immutable:
        return sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)
    return sqlite3.connect(path, timeout=30)


def _writable(path: Path) -> bool:
    return os.access(path, os.W_OK)


def _lock(path: Path) -> sqlite3.Connection:
    # SQLite's own file lock: portable, not inherited by forked workers, and gone when the process is.
    lock = sqlite3.connect(path, timeout=0, isolation_level=None)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.DatabaseError as error:
        lock.close()
        if "locked" in str(error):
            raise RunError(
                f"{path.parent}: another process is running here; wait for it, or choose another --out"
            ) from None
        raise RunError(f"{path} is in the way of the run's lock: {error}") from None
    return lock


def _estimate(d: int, info: str, *blobs: bytes | None) -> dict[str, Any]:
    arrays = {name: _unpack(name, blob, d) for name, blob in zip(ARRAYS, blobs, strict=True)}
    return {**arrays, "info": json.loads(info)}


def _match() -> str:
    return " AND ".join(f"{name} = ?" for name in KEY)


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic | np.ndarray) else value
    return None if isinstance(value, float) and np.isnan(value) else value


def _pack(name: str, array: np.ndarray | None) -> bytes | None:
    if array is None:
        return None
    if ARRAYS[name] == "bits":
        return np.packbits(np.asarray(array) != 0).tobytes()
    return np.asarray(array).astype(ARRAYS[name]).tobytes()


def _unpack(name: str, blob: bytes | None, d: int) -> np.ndarray | None:
    if blob is None:
        return None
    if ARRAYS[name] == "bits":
        bits = np.unpackbits(np.frombuffer(blob, np.uint8), count=d * d)
        return bits.reshape(d, d).astype(np.int8)
    return np.frombuffer(blob, ARRAYS[name]).reshape(d, d).copy()
