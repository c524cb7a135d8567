"""Files of the evaluator: what `arena simulate` writes and `arena judge` reads, whole or not at all."""

import io
import json
import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arena.errors import DataError, SpecError
from arena.spec_errors import strict_json
from eval.hypotheses.simulator import Simulator

DATASET, META, ANSWER_KEY, SPEC = "dataset.parquet", "meta.json", "answer_key.json", "spec.json"
#: Rows of a dataset, at most; a limit of memory.
MOST_ROWS = 100_000_000


def write_simulation(simulator: Simulator, n: int, out: str | os.PathLike[str]) -> dict[str, Path]:
    """Write n rows of data, the columns' roles and types, the answer key and the calibrated spec into a folder.

    Returns:
        The files, by name.

    Raises:
        DataError: If n is no number of rows, or `out` is no folder that can be written.
    """
    if not 1 <= n <= MOST_ROWS:
        raise DataError(f"{n} rows are asked for, expected 1 to {MOST_ROWS}")
    for name in (DATASET, META, ANSWER_KEY, SPEC):
        target(Path(out) / name)
    parquet = io.BytesIO()
    simulator.generate(n).to_parquet(parquet, index=False)
    return write(
        Path(out),
        {
            DATASET: parquet.getvalue(),
            META: as_json(simulator.meta(n)),
            ANSWER_KEY: as_json(simulator.key_as_json()),
            SPEC: simulator.spec.to_json().encode() + b"\n",
        },
    )


def read_proposals(path: str | os.PathLike[str]) -> list[Any]:
    """The proposals in a JSON file: a list, or an object with a list under `proposals`.

    Raises:
        DataError: If the file cannot be read, or holds no list.
    """
    try:
        data = strict_json(Path(path).read_bytes().decode("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read {path}: {error}") from None
    except SpecError as error:
        raise DataError(f"{path}: {error}") from None
    if isinstance(data, dict) and set(data) == {"proposals"}:
        data = data["proposals"]
    if not isinstance(data, list):
        raise DataError(f"{path}: found {type(data).__name__}, expected a list of proposals")
    return data


def as_json(value: Any) -> bytes:
    """JSON text for a person, in UTF-8."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def target(path: str | os.PathLike[str]) -> Path:
    """Where a file is to be written: itself, or what a symbolic link leads to. Nothing is made or changed.

    Raises:
        DataError: If something else than a regular file is there, or its folder cannot be made or written.
    """
    try:
        out = Path(os.path.realpath(path))
        above = next(folder for folder in out.parents if os.path.lexists(folder))
        wrong = {
            "it is a symbolic link that leads to itself": os.path.islink(out),
            "it is a folder, expected a file": out.is_dir(),
            "it is no regular file, expected one, or none yet": os.path.lexists(out) and not out.is_file(),
            f"{above} is no folder": not above.is_dir(),
            f"{above} is not writable": not os.access(above, os.W_OK | os.X_OK),
        }
    except OSError as error:
        raise DataError(f"cannot write to {path}: {error.strerror}") from None
    for why, holds in wrong.items():
        if holds:
            raise DataError(f"cannot write to {path}: {why}")
    return out


def write(folder: Path, contents: Mapping[str, bytes]) -> dict[str, Path]:
    """Write files of a folder, all whole or none; it is made where it is missing. Symbolic links are followed.

    Raises:
        DataError: If the folder cannot be made, or a file cannot be written.
    """
    targets = {name: target(folder / name) for name in contents}
    waiting: dict[str, Path] = {}
    try:
        for name, data in contents.items():
            out = targets[name]
            out.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=out.parent, prefix=".unfinished-", delete=False) as file:
                waiting[name] = Path(file.name)
                file.write(data)
            os.chmod(file.name, stat.S_IMODE(out.stat().st_mode) if out.exists() else 0o644)
        for name in contents:
            waiting[name].replace(targets[name])
    except OSError as error:
        raise DataError(f"cannot write to {folder}: {error.strerror}") from None
    finally:
        for path in waiting.values():
            path.unlink(missing_ok=True)
    return {name: folder / name for name in contents}
