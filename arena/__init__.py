"""CausalArena: a JAX-native, differentiable simulator and evaluator for causal discovery.

Everything a user types hangs here; each name is imported when it is first used, so that `import arena` is light. `run`
belongs to the layer above, as the command line does.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "ArenaError": "arena.errors",
    "DataError": "arena.errors",
    "Dataset": "arena.dataset",
    "MethodError": "arena.errors",
    "NodeSpec": "arena.spec",
    "ProviderError": "arena.errors",
    "RunError": "arena.errors",
    "SCM": "arena.scm",
    "SCMSpec": "arena.spec",
    "Selection": "arena.selection",
    "SourceError": "arena.errors",
    "SpecError": "arena.errors",
    "adjacency": "arena.sampling",
    "answer_key": "arena.plants",
    "ate": "arena.interventions",
    "auto_calibrate": "arena.thresholds",
    "compile": "arena.compiler",
    "counterfactual": "arena.interventions",
    "do": "arena.interventions",
    "expectation": "arena.interventions",
    "json_schema": "arena.spec",
    "load": "arena.loading",
    "run": "eval.launch",
    "sample": "arena.sampling",
    "sample_batch": "arena.sampling",
    "shift": "arena.interventions",
    "soft": "arena.interventions",
}
_SUBMODULES = ("synthetic", "real")

__all__ = [*_HOME, *_SUBMODULES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name in _SUBMODULES:
        return importlib.import_module(f"arena.{name}")
    raise AttributeError(f"module 'arena' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])


if TYPE_CHECKING:
    from arena import real, synthetic
    from arena.compiler import compile
    from arena.dataset import Dataset
    from arena.errors import ArenaError, DataError, MethodError, ProviderError, RunError, SourceError, SpecError
    from arena.interventions import ate, counterfactual, do, expectation, shift, soft
    from arena.plants import answer_key
    from arena.sampling import adjacency, sample, sample_batch
    from arena.scm import SCM
    from arena.selection import Selection
    from arena.spec import NodeSpec, SCMSpec, json_schema
    from arena.thresholds import auto_calibrate
    from eval.launch import run
