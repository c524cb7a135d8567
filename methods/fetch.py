"""Download the published files of a checkpoint: over HTTPS only, and only if they are what they were before."""

import hashlib
import json
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from arena.errors import MethodError
from methods.checkpoints import Checkpoint

_CHUNK = 1 << 20
_TIMEOUT = 60.0


def fetch(checkpoint: Checkpoint, say: Callable[[str], None] = lambda line: None) -> list[Path]:
    """Bring the published files that are not there yet into `checkpoint.published`.

    A file whose hash is pinned must have it. Of another the hash is written to `lock.json` when it is first seen, and
    whatever is fetched later must agree.

    Args:
        checkpoint: What to bring.
        say: Called with a line about each file.

    Returns:
        The files.

    Raises:
        MethodError: If a file cannot be had, or is another than it was.
    """
    checkpoint.published.mkdir(parents=True, exist_ok=True)
    paths = []
    for file, url in checkpoint.files:
        path = checkpoint.published / file
        if path.is_file():
            check(checkpoint, path, file)
            say(f"{file} is there")
        else:
            say(f"{file} from {url}")
            _download(checkpoint, file, url)
        paths.append(path)
    return paths


def check(checkpoint: Checkpoint, path: Path, file: str) -> str:
    """The SHA-256 of what is said to be the published `file`.

    Raises:
        MethodError: If that is known to have another one.
    """
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    _agree(checkpoint, file, found)
    return found


def _agree(checkpoint: Checkpoint, file: str, found: str) -> None:
    expected = checkpoint.hashes().get(file, found)
    if found != expected:
        raise MethodError(
            f"checkpoint '{checkpoint.name}': {file} has SHA-256 {found}, expected {expected}; it is not the file that "
            f"is known. If a new one was published on purpose, remove {checkpoint.published / 'lock.json'}"
        )


def _download(checkpoint: Checkpoint, file: str, url: str) -> None:
    path = checkpoint.published / file
    partial, digest = path.with_name(path.name + ".part"), hashlib.sha256()
    try:
        with _open(url) as answer, partial.open("wb") as out:
            while chunk := answer.read(_CHUNK):
                digest.update(chunk)
                out.write(chunk)
        found = digest.hexdigest()
        _agree(checkpoint, file, found)
        _lock(checkpoint, file, url, found)
        os.replace(partial, path)
    except (urllib.error.URLError, OSError) as error:
        reason = getattr(error, "reason", None) or error
        raise MethodError(f"checkpoint '{checkpoint.name}': {url} cannot be fetched: {reason}") from error
    finally:
        partial.unlink(missing_ok=True)


def _lock(checkpoint: Checkpoint, file: str, url: str, sha256: str) -> None:
    lock = checkpoint.published / "lock.json"
    seen = json.loads(lock.read_text()) if lock.is_file() else {}
    seen[file] = {"url": url, "sha256": sha256}
    partial = lock.with_name("lock.json.part")
    partial.write_text(json.dumps(seen, indent=1))
    os.replace(partial, lock)


class _HttpsOnly(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        _must_be_https(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _must_be_https(url: str) -> None:
    if not url.startswith("https://"):
        raise MethodError(f"{url} is not fetched: only https is")


def _open(url: str) -> Any:
    _must_be_https(url)
    request = urllib.request.Request(url, headers={"User-Agent": "causal-arena"})
    return urllib.request.build_opener(_HttpsOnly).open(request, timeout=_TIMEOUT)
