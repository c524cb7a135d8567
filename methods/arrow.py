"""Arrow: a pretrained transformer that predicts which variables are adjacent and in what order they stand."""

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
    name="arrowfm-base",
    files=(("arrowfm-base.pt", "https://huggingface.co/ryan-thompson/arrowfm-base/resolve/main/arrowfm-base.pt"),),
    size="size not known",
    licence="MIT (code); of the weights not known",
)
# Most cells of a batch; one table may have more.
_CELLS = 100_000


@dataclasses.dataclass(frozen=True)
class Arrow(Method):
    """Arrow with the published base checkpoint and its official decoded graph (paper B.4).

    Two variables are adjacent where that is more likely than not, and the edge points along the predicted order, so
    that the graph has no cycle. An edge's score is the probability of adjacency times that of its direction.
    """

    name = "arrow"
    title = "Arrow"
    capabilities = Capabilities(
        splits=("obs",),
        scores=True,
        output="dag",
        packages=("torch", "safetensors"),
        install=bridge.INSTALL,
        licence="MIT (code)",
        citation="Thompson (2026). Arrow: A Foundation Model for Causal Discovery. arXiv:2605.07204",
        checkpoint=CHECKPOINT,
        batched=True,
    )

    def prepare(self) -> None:
        super().prepare()
        self._network()

    def fit(self, dataset: Dataset, key: jax.Array) -> Estimate:
        return self.predict_batch([dataset], [key])[0]

    def predict_batch(self, datasets: Sequence[Dataset], keys: Sequence[jax.Array]) -> list[Estimate]:
        network, answers = self._network(), {}
        for group in padding.groups(datasets, _CELLS):
            tables = [_as_published(datasets[position]) for position in group]
            batch = padding.pad(tables)
            with bridge.inference():
                found = network(*bridge.to_torch((batch.values, batch.rows, batch.columns)))
                adjacent, order = (np.asarray(array, np.float64) for array in bridge.to_jax(found))
            for b, (position, table) in enumerate(zip(group, tables, strict=True)):
                answers[position] = decode(adjacent[b, : table.d, : table.d], order[b, : table.d])
        return [answers[position] for position in range(len(datasets))]

    def _network(self) -> Any:
        folder = CHECKPOINT.require()
        from methods import arrow_net

        return bridge.pretrained(folder, arrow_net.build)


def decode(adjacent: np.ndarray, order: np.ndarray) -> Estimate:
    """The official decoding.

    Args:
        adjacent: `[d, d]` probabilities, symmetric.
        order: `[d]`, larger is earlier. Of equal ones the first is earlier.
    """
    rank = np.empty(len(order), int)
    rank[np.argsort(-order, kind="stable")] = np.arange(len(order))
    graph = (adjacent > 0.5) & (rank[:, None] < rank[None, :])
    with np.errstate(over="ignore"):  # an order that is certain
        scores = adjacent / (1.0 + np.exp(order[None, :] - order[:, None]))
    np.fill_diagonal(scores, 0.0)
    return Estimate(graph.astype(np.int8), scores=scores)


def _as_published(dataset: Dataset) -> Dataset:
    """The table with the standard deviation that the published program gives it, whose divisor is n - 1."""
    return dataclasses.replace(dataset, values=dataset.values * np.sqrt((dataset.n - 1) / dataset.n))


def convert(loaded: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The tensors and the configuration in a published Arrow checkpoint.

    Raises:
        MethodError: If it is another kind of checkpoint.
    """
    weights = loaded.get("model_state_dict")
    saved = loaded.get("config")
    config = saved.get("model") if isinstance(saved, Mapping) else None
    if not isinstance(weights, Mapping) or not isinstance(config, Mapping):
        wanted = "'model_state_dict' and 'config' with 'model'"
        raise MethodError(f"not an Arrow checkpoint: expected {wanted}, found {', '.join(map(str, loaded))}")
    return {name: as_array(tensor) for name, tensor in weights.items()}, dict(config)
