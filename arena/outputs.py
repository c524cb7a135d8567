"""Files that commands write: whole or not at all, and never over something that is no file."""

import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path

from arena.errors import DataError


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
