"""CDFM: a pretrained transformer with a threshold that it fits to its own predictions; network from cdfm-base."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from arena.dataset import Dataset
from arena.errors import MethodError
from methods import bridge, padding
from methods.base import Capabilities, Estimate, Method
from methods.checkpoints import Checkpoint

_SOURCE = "https://huggingface.co/DMIRLAB/CDFM/resolve/main"
CHECKPOINT = Checkpoint(
    name="cdfm",
    files=(("config.json", f"{_SOURCE}/config.json"), ("model.safetensors", f"{_SOURCE}/model.safetensors")),
    size="39 MB",
    licence="Apache-2.0",
    pickled=False,
)
# Most cells of a batch; one table may have more.
_CELLS = 100_000
# The settings of the network among those of a checkpoint, with the defaults of the published loader.
_NETWORK = {
    "embed_dim": 128,
    "p_dim": 64,
    "nhead": 8,
    "dim_feedforward": 512,
    "num_inds": 128,
    "dropout": 0.0,
    "num_of_experts": 0,
    "num_layers": 4,
    "num_blocks_of_embedding": 3,
}


@dataclasses.dataclass(frozen=True)
class CDFM(Method):
    """CDFM with the published checkpoint and its official output: a threshold calibrated for each graph (paper B.4).

    The network's second input says what is missing, never what was set, so that it takes observational tables only. The
    graph may have cycles.

    Attributes:
        threshold: An edge is where its probability is above, in (0, 1); None calibrates it as the checkpoint says.

    Raises:
        MethodError: If `threshold` is out of range.
    """

    threshold: float | None = None

    name = "cdfm"
    title = "CDFM"
    capabilities = Capabilities(
        splits=("obs",),
        scores=True,
        output="digraph",
        packages=("torch", "safetensors", "sklearn", "cdfm"),
        install=bridge.INSTALL,
        licence="Apache-2.0 (cdfm-base, weights)",
        citation="Qiao et al. (2026). CDFM: Towards a General-Purpose Causal Discovery Foundation Model. "
        "arXiv:2607.11508",
        checkpoint=CHECKPOINT,
        batched=True,
    )

    def __post_init__(self):
        if self.threshold is not None and not 0 < self.threshold < 1:
            raise MethodError(f"cdfm: threshold is {self.threshold}; it must lie between 0 and 1, or be None")

    def prepare(self) -> None:
        super().prepare()
        self._loaded()

    def fit(self, dataset: Dataset, key: jax.Array) -> Estimate:
        return self.predict_batch([dataset], [key])[0]

    def predict_batch(self, datasets: Sequence[Dataset], keys: Sequence[jax.Array]) -> list[Estimate]:
        (network, calibration), answers = self._loaded(), {}
        # The network takes masks for padding, and what is masked out still changes its answer.
        for group in padding.groups(datasets, _CELLS, exact=True):
            values = padding.pad([datasets[position] for position in group]).values
            with bridge.inference():
                logits, _ = network(bridge.to_torch(jnp.stack([values, jnp.zeros_like(values)], -1)))
                odds = np.asarray(bridge.to_jax(logits), np.float64)
            for b, position in enumerate(group):
                answers[position] = self._estimate(odds[b], calibration)
        return [answers[position] for position in range(len(datasets))]

    def _estimate(self, logits: np.ndarray, calibration: Mapping[str, Any] | None) -> Estimate:
        logits = np.where(np.eye(len(logits), dtype=bool), 0.0, logits)
        threshold = self.threshold
        if threshold is None:
            from cdfm.utils import suggest_threshold

            assert calibration is not None
            threshold = float(
                suggest_threshold(
                    logits,
                    weights=np.asarray(calibration["coefficients"], np.float64),
                    features=list(calibration["feature_names"]),
                )
            )
        scores = 1.0 / (1.0 + np.exp(-logits.clip(-50.0, 50.0)))
        np.fill_diagonal(scores, 0.0)
        return Estimate((scores > threshold).astype(np.int8), scores=scores, info={"threshold": threshold})

    def _loaded(self) -> tuple[Any, Mapping[str, Any] | None]:
        """The network and its calibration.

        Raises:
            MethodError: If the checkpoint is not there or not CDFM's, or a calibration is needed and it has none.
        """
        folder = CHECKPOINT.require()
        calibration = bridge.read_config(folder).get("calibration_config")
        if calibration is None and self.threshold is None:
            raise MethodError(
                f"{folder / bridge.CONFIG} has no 'calibration_config'; set the threshold of cdfm yourself"
            )
        return bridge.pretrained(folder, build), calibration


def build(config: Mapping[str, Any]) -> Any:
    """The network of the package, as its own loader makes it from a configuration."""
    from cdfm.model.cdfm_model import CDFM as Network

    return Network(**{name: config.get(name, default) for name, default in _NETWORK.items()})
