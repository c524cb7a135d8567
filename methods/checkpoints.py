"""Published weights: where they come from, where they lie on disk, and the command that brings them.

`methods.fetch` downloads what is published, `methods.convert` makes safetensors of it.
"""

import dataclasses
import json
import os
from pathlib import Path

from arena.errors import MethodError

#: Who reads a published checkpoint: its name -> `module:function`. The function gets what was unpickled, a mapping, and
#: returns (tensors by name, configuration as JSON values). JSON files that were published beside the pickle are in the
#: mapping under their file names.
CONVERTERS: dict[str, str] = {
    "arrowfm-base": "methods.arrow:convert",
    "avici-scm-v0": "methods.avici:convert",
    "causcale-synthetic": "methods.causcale:convert",
    "foundcause": "methods.foundcause:convert",
    "sea-fci-synthetic": "methods.sea:convert",
    "tabcausal-base": "methods.tabcausal:convert",
}


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """The weights of a pretrained method.

    On disk, a folder of that name in the cache holds `model.safetensors` and `config.json`, whatever was published.
    What was published is kept in its folder `published`, with a lock file of the hashes that were seen.

    Attributes:
        name: Name of the folder.
        files: What is published: file name -> URL.
        size: Of all files, for people.
        licence: Of the weights.
        pickled: Whether a published file is a pickle, which must be converted once (`arena checkpoint convert`).
        sha256: Hashes of published files that are known beforehand: file name -> 64 hex digits.
    """

    name: str
    files: tuple[tuple[str, str], ...]
    size: str
    licence: str
    pickled: bool = True
    sha256: tuple[tuple[str, str], ...] = ()

    @property
    def folder(self) -> Path:
        """Where the converted checkpoint lies: `$ARENA_CHECKPOINTS/<name>`."""
        root = os.environ.get("ARENA_CHECKPOINTS") or Path.home() / ".cache" / "causal-arena" / "checkpoints"
        return Path(root) / self.name

    @property
    def published(self) -> Path:
        """Where the published files are kept."""
        return self.folder / "published"

    @property
    def fetched(self) -> bool:
        """Whether all published files are there."""
        return all((self.published / file).is_file() for file, _ in self.files)

    @property
    def ready(self) -> bool:
        """Whether the weights can be read."""
        return (self.folder / "model.safetensors").is_file()

    @property
    def command(self) -> str:
        """The command that brings the weights, or the next one on the way there."""
        return f"arena checkpoint convert {self.name}" if self.fetched else f"arena checkpoint fetch {self.name} --yes"

    def require(self) -> Path:
        """The folder.

        Raises:
            MethodError: If the weights are not there, with the command that would bring them.
        """
        if not self.ready:
            raise MethodError(f"checkpoint '{self.name}' not found in {self.folder}; run: {self.command}")
        return self.folder

    def hashes(self) -> dict[str, str]:
        """SHA-256 of each published file as far as it is known: pinned, or as it was first seen here."""
        lock = self.published / "lock.json"
        seen = json.loads(lock.read_text()) if lock.is_file() else {}
        return {**{file: entry["sha256"] for file, entry in seen.items()}, **dict(self.sha256)}
