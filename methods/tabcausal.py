"""TabCausal: a pretrained axial transformer that reads the table and its interventions."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from arena.dataset import Dataset
from arena.errors import MethodError
from methods import bridge, padding
from methods.base import Capabilities, Estimate, Method
from methods.checkpoints import Checkpoint
from methods.lightning import as_array

CHECKPOINT = Checkpoint(
    name="tabcausal-base",
    files=(("tabcausal-base.pt", "https://huggingface.co/LAMDA-Tabular/TabCausal/resolve/main/tabcausal-base.pt"),),
    size="size not known",
    licence="none stated",
)
# Most cells of a batch; one table may have more.
_CELLS = 100_000
# Standardised values beyond this are cut, as in the published program.
_CLIP = 10.0
# What wrappers around a network put before the names of its weights.
_PREFIXES = ("module.", "_orig_mod.", "raw_model.", "model.")
# The published program takes the first of these that is there; `ema` is an average over the last training steps.
_WEIGHTS = ("ema", "state_dict", "model_state_dict")


@dataclasses.dataclass(frozen=True)
class TabCausal(Method):
    """TabCausal with the published base checkpoint (paper B.4); an edge is where its probability is at least 0.5.

    Attributes:
        threshold: An edge is where its probability is at least that, in (0, 1).

    Raises:
        MethodError: If `threshold` is out of range.
    """

    threshold: float = 0.5

    name = "tabcausal"
    title = "TabCausal"
    capabilities = Capabilities(
        scores=True,
        output="digraph",
        packages=("torch", "safetensors"),
        install=bridge.INSTALL,
        licence="none stated",
        citation="Li et al. (2026). TabCausal: Pretraining Across Causal Environments for Tabular Causal Discovery. "
        "arXiv:2605.31156",
        checkpoint=CHECKPOINT,
        batched=True,
    )

    def __post_init__(self):
        if not 0 < self.threshold < 1:
            raise MethodError(f"tabcausal: threshold is {self.threshold}; it must lie between 0 and 1")

    def prepare(self) -> None:
        super().prepare()
        self._network()

    def fit(self, dataset: Dataset, key: jax.Array) -> Estimate:
        return self.predict_batch([dataset], [key])[0]

    def predict_batch(self, datasets: Sequence[Dataset], keys: Sequence[jax.Array]) -> list[Estimate]:
        network, answers = self._network(), {}
        clipped = [dataclasses.replace(table, values=table.values.clip(-_CLIP, _CLIP)) for table in datasets]
        for group in padding.groups(clipped, _CELLS):
            tables = [clipped[position] for position in group]
            batch = bridge.to_torch(padding.pad(tables))
            with bridge.inference():
                logits = network(batch.values, batch.interventions, batch.rows, batch.columns)
                odds = np.asarray(bridge.to_jax(logits), np.float64)
            for b, (position, table) in enumerate(zip(group, tables, strict=True)):
                answers[position] = self._estimate(odds[b, : table.d, : table.d])
        return [answers[position] for position in range(len(datasets))]

    def _estimate(self, logits: np.ndarray) -> Estimate:
        scores = 1.0 / (1.0 + np.exp(-logits))
        np.fill_diagonal(scores, 0.0)
        return Estimate((scores >= self.threshold).astype(np.int8), scores=scores)

    def _network(self) -> Any:
        folder = CHECKPOINT.require()
        from methods import tabcausal_net

        return bridge.pretrained(folder, tabcausal_net.build)


def convert(loaded: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The tensors and the configuration in a published TabCausal checkpoint.

    The configuration is its `model_config`; where there is none, what its `hyper_parameters` or `config` say.

    Raises:
        MethodError: If there are no weights in it.
    """
    kept = next((loaded[name] for name in _WEIGHTS if isinstance(loaded.get(name), Mapping)), None)
    if kept is None:
        wanted = ", ".join(f"'{name}'" for name in _WEIGHTS)
        raise MethodError(f"not a TabCausal checkpoint: expected one of {wanted}, found {', '.join(map(str, loaded))}")
    tensors = {_bare(name): as_array(tensor) for name, tensor in kept.items()}
    return tensors, _config(loaded)


def _bare(name: str) -> str:
    """The name of a weight without what wrappers put before it."""
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            return _bare(name.removeprefix(prefix))
    return name


def _config(loaded: Mapping[str, Any]) -> dict[str, Any]:
    from methods.tabcausal_net import Settings

    explicit = loaded.get("model_config")
    sources = [explicit] if isinstance(explicit, Mapping) else [loaded.get("hyper_parameters"), loaded.get("config")]
    said = [source if isinstance(source, Mapping) else vars(source) for source in sources if source is not None]
    config = {}
    for field in dataclasses.fields(Settings):
        found = next((source[field.name] for source in said if source.get(field.name) is not None), None)
        if found is not None:
            config[field.name] = found
    return config
