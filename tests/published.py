"""Tiny random checkpoints in published layouts, written by tests and read by the real loading code."""

from pathlib import Path
from typing import Any

import numpy as np

from methods.checkpoints import Checkpoint
from methods.convert import convert


class Layout(dict[str, tuple[int, ...]]):
    """Names and shapes of a state dict, spelled out."""

    def linear(self, name: str, into: int, out: int, *, bias: bool = True) -> None:
        self[f"{name}.weight"] = (out, into)
        if bias:
            self[f"{name}.bias"] = (out,)

    def norm(self, name: str, size: int) -> None:
        self[f"{name}.weight"] = (size,)
        self[f"{name}.bias"] = (size,)

    def weights(self, seed: int = 0, scale: float = 0.5) -> dict[str, Any]:
        """Random tensors of that layout."""
        import torch

        rng = np.random.default_rng(seed)
        return {name: torch.tensor(rng.normal(size=s) * scale, dtype=torch.float32) for name, s in self.items()}


def publish(checkpoint: Checkpoint, content: dict[str, Any], folder: Path, monkeypatch) -> Path:
    """Save as its authors would, convert as a user would, in a cache of its own; returns where the result lies."""
    import torch

    monkeypatch.setenv("ARENA_CHECKPOINTS", str(folder / "checkpoints"))
    path = folder / checkpoint.files[0][0]
    torch.save(content, path)
    return convert(checkpoint, path)


def rename(folder: Path, old: str, new: str) -> None:
    """Give one tensor of a converted checkpoint another name."""
    from safetensors.numpy import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    tensors[new] = tensors.pop(old)
    save_file(tensors, folder / "model.safetensors")
