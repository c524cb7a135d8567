"""AVICI as its authors publish it: the package avici, in its own environment, on the converted checkpoint.

The reference for `methods.avici`, which is the same network run here and much faster.
"""

import dataclasses
import json
from collections.abc import Sequence

import jax
import numpy as np

from arena.dataset import Dataset
from methods import environments
from methods.avici import AVICI, CHECKPOINT
from methods.base import Estimate, Method
from methods.call import SCRIPTS, call


@dataclasses.dataclass(frozen=True)
class AVICIPackage(AVICI):
    """As `AVICI`, by the package.

    Every call starts a process, reads the weights and compiles the network for the size of the table, so that many
    tables at once are much faster than one after another.
    """

    name = "avici_package"
    title = "AVICI (package)"
    capabilities = dataclasses.replace(AVICI.capabilities, environment="avici")

    def prepare(self) -> None:
        Method.prepare(self)
        CHECKPOINT.require()

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
