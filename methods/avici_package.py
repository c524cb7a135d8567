"""AVICI as its authors publish it: the package avici, in its own environment, on the converted checkpoint.

The reference for `methods.avici`, which is the same network run here and much faster.
"""

import dataclasses
import json
from collections.abc import Sequence

import jax
import numpy as np

from arena.dataset import Dataset
from arena.errors import MethodError
from methods import environments
from methods.avici import CHECKPOINT
from methods.base import Capabilities, Estimate, Method
from methods.call import SCRIPTS, call


@dataclasses.dataclass(frozen=True)
class AVICIPackage(Method):
    """AVICI with the published checkpoint `scm-v0`; probabilities are cut at 0.5 (paper B.4).

    Every call starts a process, reads the weights and compiles the network for the size of the table, so that many
    tables at once are much faster than one after another.

    Attributes:
        threshold: An edge is where its probability is above, in (0, 1).

    Raises:
        MethodError: If `threshold` is out of range.
    """

    threshold: float = 0.5

    name = "avici_package"
    title = "AVICI (package)"
    capabilities = Capabilities(
        scores=True,
        output="digraph",
        packages=("safetensors",),
        install="pip install safetensors",
        licence="MIT (avici)",
        citation="Lorch et al. (2022). Amortized Inference for Causal Structure Learning. NeurIPS 35",
        environment="avici",
        checkpoint=CHECKPOINT,
        batched=True,
    )

    def __post_init__(self):
        if not 0 < self.threshold < 1:
            raise MethodError(f"avici_package: threshold is {self.threshold}; it must lie between 0 and 1")

    def prepare(self) -> None:
        super().prepare()
        CHECKPOINT.require()

    def fit(self, dataset: Dataset, key: jax.Array) -> Estimate:
        return self.predict_batch([dataset], [key])[0]

    def predict_batch(self, datasets: Sequence[Dataset], keys: Sequence[jax.Array]) -> list[Estimate]:
        """As `fit` for each, in one process.

        Raises:
            MethodError: If the environment or the checkpoint is not there.
            RemoteError: If the package fails.
        """
        from safetensors.numpy import load_file

        folder = CHECKPOINT.require()
        arrays = {f"params/{name}": array for name, array in load_file(folder / "model.safetensors").items()}
        for place, dataset in enumerate(datasets):
            arrays |= {f"{place}.values": dataset.values, f"{place}.mask": dataset.mask}
        network = json.loads((folder / "config.json").read_text())
        settings = {"network": network, "warm": False}
        answers, _ = call(environments.get("avici"), SCRIPTS / "avici_package.py", arrays, settings, seed=0)
        return [self._estimate(answers[str(place)].astype(np.float64)) for place in range(len(datasets))]

    def _estimate(self, scores: np.ndarray) -> Estimate:
        return Estimate((scores > self.threshold).astype(np.int8), scores=scores)
