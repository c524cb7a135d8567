"""Published weights: where they come from, where they lie on disk, and the command that brings them."""

import dataclasses
import os
from pathlib import Path

from arena.errors import MethodError


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """The weights of a pretrained method.

    On disk, a folder of that name in the cache holds `model.safetensors` and `config.json`, whatever was published.

    Attributes:
        name: Name of the folder.
        files: What is published: file name -> URL.
        size: Of all files, for people.
        licence: Of the weights.
        pickled: Whether a published file is a pickle, which must be converted once (`arena checkpoint convert`).
    """

    name: str
    files: tuple[tuple[str, str], ...]
    size: str
    licence: str
    pickled: bool = True

    @property
    def folder(self) -> Path:
        """Where the converted checkpoint lies: `$ARENA_CHECKPOINTS/<name>`."""
        root = os.environ.get("ARENA_CHECKPOINTS") or Path.home() / ".cache" / "causal-arena" / "checkpoints"
        return Path(root) / self.name

    def require(self) -> Path:
        """The folder.

        Raises:
            MethodError: If the weights are not there, with the command that would bring them.
        """
        if not (self.folder / "model.safetensors").is_file():
            raise MethodError(f"checkpoint '{self.name}' not found in {self.folder}; run: arena checkpoint fetch {self.name}")
        return self.folder
