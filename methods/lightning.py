"""What is in a checkpoint that PyTorch Lightning wrote, once somebody has unpickled it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from arena.errors import MethodError


def state_dict(loaded: Mapping[str, Any], known: str) -> dict[str, np.ndarray]:
    """The weights by name as float32 arrays.

    Args:
        loaded: The unpickled file.
        known: A name that must be among them.

    Raises:
        MethodError: If there are none, or they belong to another network.
    """
    weights = loaded.get("state_dict")
    if not isinstance(weights, Mapping):
        raise MethodError(f"not a Lightning checkpoint: 'state_dict' is missing, found {', '.join(map(str, loaded))}")
    if known not in weights:
        raise MethodError(f"the checkpoint is of another network: '{known}' is missing in its state_dict")
    return {name: as_array(tensor) for name, tensor in weights.items()}


def as_array(tensor: Any) -> np.ndarray:
    """A tensor, wherever it is, as a float32 array."""
    if hasattr(tensor, "detach"):
        tensor = tensor.detach().cpu().float().numpy()
    return np.array(tensor, np.float32)


def hyper_parameters(loaded: Mapping[str, Any]) -> dict[str, Any]:
    """The settings saved along: those of the argument `args`, which may be a namespace, if that is how they were."""
    saved = loaded.get("hyper_parameters") or {}
    saved = saved.get("args", saved) if isinstance(saved, Mapping) else saved
    return dict(saved if isinstance(saved, Mapping) else vars(saved))
