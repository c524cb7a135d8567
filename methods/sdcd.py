"""SDCD: stable differentiable causal discovery, from the package sdcd in its own environment."""

import dataclasses
from typing import Any

import jax
import numpy as np

from arena.dataset import Dataset
from arena.errors import MethodError
from methods import environments
from methods.base import Capabilities, Estimate, Method, generator
from methods.call import SCRIPTS, call

# The package's own schedule: epochs of each stage, and how fast the penalty on cycles grows in the second.
_EPOCHS, _INCREMENT = 2000, 0.005
# Fewer rows leave its validation part, a fifth, empty.
_FEWEST_ROWS = 10


@dataclasses.dataclass(frozen=True)
class SDCD(Method):
    """SDCD with the package's two stages and a threshold of 0.1 (paper B.4).

    A fit takes minutes. The package seeds itself; here it starts from the key. Scores are the weights of the second
    stage before the threshold; edges that would close a cycle are left out by the package, weakest first.

    Attributes:
        threshold: An edge is where the weight is at least this, in (0, 1).
        share: Share of the epochs of both stages that are run, in (0, 1]. The penalty on cycles then grows faster, so
            that it ends as high. It is recorded; a run with less than 1 is a reduced configuration (paper B.3).

    Raises:
        MethodError: If a setting is out of range.
    """

    threshold: float = 0.1
    share: float = 1.0

    name = "sdcd"
    title = "SDCD"
    reduced = {"share": 0.1}
    capabilities = Capabilities(
        scores=True,
        output="dag",
        positional=True,
        install="arena env build sdcd --yes",
        licence="MIT (sdcd)",
        citation="Nazaret, Hong, Azizi and Blei (2024). Stable Differentiable Causal Discovery. ICML",
        environment="sdcd",
    )

    def __post_init__(self):
        if not 0 < self.threshold < 1:
            raise MethodError(f"sdcd: threshold is {self.threshold}; it must lie between 0 and 1")
        if not 0 < self.share <= 1:
            raise MethodError(f"sdcd: share is {self.share}; it must be above 0 and at most 1")

    def fit(self, dataset: Dataset, key: jax.Array) -> Estimate:
        """Estimate the graph.

        Raises:
            MethodError: If there are too few rows, or the environment is not built.
            RemoteError: If the package fails.
        """
        if dataset.n < _FEWEST_ROWS:
            raise MethodError(f"sdcd needs at least {_FEWEST_ROWS} rows, found {dataset.n}")
        settings = self._schedule()
        answer, _ = call(
            environments.get("sdcd"),
            SCRIPTS / "sdcd.py",
            {"values": dataset.values, "mask": dataset.mask},
            {"threshold": self.threshold, **settings},
            seed=int(generator(key).integers(2**32)),
        )
        adjacency, scores = answer["adjacency"], np.abs(answer["scores"])
        np.fill_diagonal(scores, 0.0)
        info = {"reduced": self.share < 1, "epochs": settings["stage1"]["n_epochs"]}
        return Estimate(adjacency, scores=scores, info=info)

    def _schedule(self) -> dict[str, Any]:
        epochs = max(1, round(self.share * _EPOCHS))
        stage2 = {"n_epochs": epochs, "gamma_increment": _INCREMENT * _EPOCHS / epochs, "threshold": self.threshold}
        return {"stage1": {"n_epochs": epochs}, "stage2": stage2}
