"""AVICI: a pretrained axial transformer, run natively in JAX on the published parameters."""

import concurrent.futures
import dataclasses
import functools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from arena.dataset import Dataset
from arena.errors import MethodError
from methods import axial, bridge, padding
from methods.base import Capabilities, Estimate, Method
from methods.checkpoints import Checkpoint

_SOURCE = "https://huggingface.co/larslorch/avici/resolve/main/scm-v0"
_KWARGS = "kwargs.json"
CHECKPOINT = Checkpoint(
    name="avici-scm-v0",
    files=(
        (_KWARGS, f"{_SOURCE}/{_KWARGS}"),
        ("checkpoint_0300000.pkl", f"{_SOURCE}/checkpoint_0300000.pkl"),
    ),
    size="about 60 MB",
    licence="MIT",
)
# Attention scores at once: what a core's cache holds, or what keeps an accelerator busy.
_CPU, _ACCELERATOR = 1 << 17, 1 << 27
# Cells of the tables that an accelerator gets at once.
_CELLS = 1 << 21


@dataclasses.dataclass(frozen=True)
class AVICI(Method):
    """AVICI with the published checkpoint `scm-v0`; probabilities are cut at 0.5 (paper B.4).

    Tables are padded to sizes of which few are compiled, and the padding masked out. Many tables are worked on side by
    side: in threads on CPU, in one program on an accelerator.

    Attributes:
        threshold: An edge is where its probability is above, in (0, 1).

    Raises:
        MethodError: If `threshold` is out of range.
    """

    threshold: float = 0.5

    name = "avici"
    title = "AVICI"
    capabilities = Capabilities(
        scores=True,
        output="digraph",
        packages=("safetensors",),
        install="pip install safetensors",
        licence="MIT (avici)",
        citation="Lorch et al. (2022). Amortized Inference for Causal Structure Learning. NeurIPS 35",
        checkpoint=CHECKPOINT,
        batched=True,
    )

    def __post_init__(self):
        if not 0 < self.threshold < 1:
            raise MethodError(f"{self.name}: threshold is {self.threshold}; it must lie between 0 and 1")

    def prepare(self) -> None:
        super().prepare()
        network(CHECKPOINT.require())

    def fit(self, dataset: Dataset, key: jax.Array) -> Estimate:
        return self.predict_batch([dataset], [key])[0]

    def predict_batch(self, datasets: Sequence[Dataset], keys: Sequence[jax.Array]) -> list[Estimate]:
        found = probabilities(network(CHECKPOINT.require()), datasets)
        return [Estimate((scores > self.threshold).astype(np.int8), scores=scores) for scores in found]


def probabilities(weights: Mapping[str, Any], datasets: Sequence[Dataset]) -> list[np.ndarray]:
    """The probability of every edge of every table: `[d, d]` float64 each, zero on the diagonal.

    Args:
        weights: From `network`.
        datasets: Tables of any size, location and scale.
    """
    on_cpu = jax.default_backend() == "cpu"

    def run(group: list[int]) -> list[np.ndarray]:
        tables = [datasets[position] for position in group]
        n, d = (padding.bucket(max(sizes)) for sizes in zip(*(table.values.shape for table in tables), strict=True))
        logits = axial.edge_logits(weights, padding.pad(tables, n=n, d=d), _CPU if on_cpu else _ACCELERATOR)
        odds = np.asarray(logits, np.float64)
        return [_without_diagonal(odds[b, : table.d, : table.d]) for b, table in enumerate(tables)]

    groups = list(padding.groups(datasets, 1 if on_cpu else _CELLS))
    answers: dict[int, np.ndarray] = {}
    # NPROC is XLA's own limit, which is 1 in a worker: no method gets more cores there than another.
    cores = int(os.environ.get("NPROC") or os.cpu_count() or 1)
    with concurrent.futures.ThreadPoolExecutor(cores if on_cpu else 1) as pool:
        for group, found in zip(groups, pool.map(run, groups), strict=True):
            answers.update(zip(group, found, strict=True))
    return [answers[position] for position in range(len(datasets))]


def _without_diagonal(logits: np.ndarray) -> np.ndarray:
    scores = 1.0 / (1.0 + np.exp(-logits))
    np.fill_diagonal(scores, 0.0)
    return scores


def network(folder: Path) -> dict[str, Any]:
    """The weights of a converted checkpoint, as `methods.axial.edge_logits` takes them; read once while they stay.

    Raises:
        MethodError: If the configuration or the weights are not those of AVICI.
    """
    return _network(folder, bridge.written(folder))


@functools.lru_cache(maxsize=2)
def _network(folder: Path, written: tuple[int, ...]) -> dict[str, Any]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    architecture = bridge.built(_architecture, folder)
    path = folder / bridge.WEIGHTS
    try:
        found = load_file(path)
    except (OSError, SafetensorError) as error:
        raise MethodError(f"{path} cannot be read as safetensors: {error}") from error
    bridge.check_layout(architecture.layout(), {name: array.shape for name, array in found.items()}, str(path))
    return axial.weights(architecture, found)


def _architecture(config: Mapping[str, Any]) -> axial.Architecture:
    return axial.Architecture(**config)


def convert(loaded: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The tensors and the configuration in a published AVICI checkpoint.

    Args:
        loaded: The training state, whose `params` are haiku's, module -> name -> array; and under `kwargs.json` the
            file of that name.

    Raises:
        MethodError: If it is another kind of checkpoint, or of a variant that this package does not know.
    """
    params, kwargs = loaded.get("params"), loaded.get(_KWARGS)
    if not isinstance(params, Mapping) or not isinstance(kwargs, Mapping):
        raise MethodError(f"not an AVICI checkpoint: expected 'params' and '{_KWARGS}', found {', '.join(loaded)}")
    settings = kwargs.get("neural_net_kwargs")
    if not isinstance(settings, Mapping):
        raise MethodError(f"{_KWARGS} has no 'neural_net_kwargs'; it is not AVICI's")
    settings = settings.get("model_kwargs", settings)  # where older versions kept them
    if settings.get("ln_axis", -1) != -1:
        raise MethodError(f"avici: the checkpoint has ln_axis = {settings['ln_axis']!r}; only -1 is known here")
    if not kwargs.get("inference_model_kwargs", {}).get("mask_diag", True):
        raise MethodError("avici: the checkpoint was trained with self-loops; only one without is known here")
    # What is not here is about training, or of versions whose networks had no such thing.
    config = {f.name: settings[f.name] for f in dataclasses.fields(axial.Architecture) if f.name in settings}
    tensors = {
        f"{module}/{name}": np.asarray(array, np.float32)
        for module, arrays in params.items()
        for name, array in arrays.items()
    }
    return tensors, config
