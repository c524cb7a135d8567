"""Files of the evaluator: what `arena simulate` writes and `arena judge` reads, whole or not at all."""

import io
import json
import os
from pathlib import Path
from typing import Any

from arena.errors import DataError, SpecError
from arena.outputs import target, write
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
    data = read_json(path)
    if isinstance(data, dict) and set(data) == {"proposals"}:
        data = data["proposals"]
    if not isinstance(data, list):
        raise DataError(f"{path}: found {type(data).__name__}, expected a list of proposals")
    return data


def read_json(path: str | os.PathLike[str]) -> Any:
    """What a JSON file holds.

    Raises:
        DataError: If it cannot be read.
    """
    try:
        return strict_json(Path(path).read_bytes().decode("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read {path}: {error}") from None
    except SpecError as error:
        raise DataError(f"{path}: {error}") from None


def as_json(value: Any) -> bytes:
    """JSON text for a person, in UTF-8."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False).encode() + b"\n"
