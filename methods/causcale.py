"""CauScale: a pretrained two-stream transformer that reads the table, its interventions and its precision matrix."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from arena.dataset import Dataset
from arena.errors import MethodError
from methods import bridge, padding
from methods.base import Capabilities, Estimate, Method, generator
from methods.checkpoints import Checkpoint
from methods.lightning import hyper_parameters, state_dict
from methods.pairs import edge_probabilities
from methods.precision import precision_matrix

CHECKPOINT = Checkpoint(
    name="causcale-synthetic",
    files=(
        (
            "auprc=0.905_migrated.ckpt",
            "https://huggingface.co/OpenCausaLab/causcale-model/resolve/main/synthetic/auprc%3D0.905_migrated.ckpt",
        ),
    ),
    size="31 MB",
    licence="Apache-2.0",
)
# What the published program runs this checkpoint with and its weights do not show.
_PUBLISHED: dict[str, Any] = {
    "n_heads": 16,
    "head_dim": -1,
    "scale_graph_rows": False,
    "scale_graph_cols": False,
    "scale_data_cols": True,
    "disable_reduction_unit": False,
}
# What is done here in one way only.
_FIXED = {"attn_shape": "hnij", "feature_map": "invcov", "normalize_data": True}
# Most cells of a batch: activations take about 6 kB a cell.
_CELLS = 200_000


@dataclasses.dataclass(frozen=True)
class CauScale(Method):
    """CauScale with the published checkpoint on synthetic data; probabilities are cut at 0.5 (paper B.4).

    The prior is the precision matrix of a random sample of rows. The published program takes it from the raw table;
    every method here gets the standardised one. All rows are then used, or every k-th where there are k times
    `sample_size` of them. Neighbouring rows are pooled inside the network, so their order has some effect.

    Attributes:
        threshold: An edge is where its probability is above, in (0, 1).
        feature_sample_size: Rows that the precision matrix is computed from, without replacement.
        sample_size: Tables with at least twice as many rows are thinned out to about as many.

    Raises:
        MethodError: If a setting is out of range.
    """

    threshold: float = 0.5
    feature_sample_size: int = 500
    sample_size: int = 1000

    name = "causcale"
    title = "CauScale"
    quick = {"feature_sample_size": 30}
    capabilities = Capabilities(
        scores=True,
        output="digraph",
        positional=True,
        packages=("torch", "safetensors", "sklearn"),
        install=bridge.INSTALL,
        licence="Apache-2.0 (weights)",
        citation="Peng et al. (2026). CauScale: Neural Causal Discovery at Scale. ICML, arXiv:2602.08629",
        checkpoint=CHECKPOINT,
    )

    def __post_init__(self):
        if not 0 < self.threshold < 1:
            raise MethodError(f"causcale: threshold is {self.threshold}; it must lie between 0 and 1")
        for name in ("feature_sample_size", "sample_size"):
            if getattr(self, name) < 2:
                raise MethodError(f"causcale: {name} is {getattr(self, name)}; it must be at least 2")

    def prepare(self) -> None:
        super().prepare()
        self._network()

    def fit(self, dataset: Dataset, key: jax.Array) -> Estimate:
        """Estimate the graph.

        Raises:
            MethodError: If there are fewer rows than the precision matrix is to be computed from.
        """
        return self.predict_batch([dataset], [key])[0]

    def predict_batch(self, datasets: Sequence[Dataset], keys: Sequence[jax.Array]) -> list[Estimate]:
        """As `fit` for each; tables with the same number of rows and about as many variables go in together.

        On one CPU core that takes as long as one after the other, hence not declared as `batched`.
        """
        priors = [self._prior(dataset, key) for dataset, key in zip(datasets, keys, strict=True)]
        thinned = [self._thinned(dataset) for dataset in datasets]
        answers: dict[int, Estimate] = {}
        for n in sorted({table.n for table in thinned}):
            alike = [position for position, table in enumerate(thinned) if table.n == n]
            for group in padding.groups([thinned[position] for position in alike], _CELLS):
                members = [alike[place] for place in group]
                found = self._probabilities([thinned[m] for m in members], [priors[m] for m in members])
                answers.update(zip(members, map(self._estimate, found), strict=True))
        return [answers[position] for position in range(len(datasets))]

    def _prior(self, dataset: Dataset, key: jax.Array) -> np.ndarray:
        size = self.feature_sample_size
        if dataset.n < size:
            raise MethodError(
                f"causcale needs at least {size} rows for its precision matrix, found {dataset.n}; "
                "the setting feature_sample_size says how many"
            )
        return precision_matrix(dataset.values[generator(key).choice(dataset.n, size, replace=False)])

    def _thinned(self, dataset: Dataset) -> Dataset:
        step = max(1, dataset.n // self.sample_size)
        values = dataset.values[::step]
        spread = values.std(axis=0)
        values = (values - values.mean(axis=0)) / np.where(spread == 0, 1.0, spread)
        return dataclasses.replace(dataset, values=values, intervention_mask=dataset.mask[::step])

    def _probabilities(self, tables: Sequence[Dataset], priors: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The edge probabilities `[d, d]` of tables with equally many rows."""
        batch = padding.pad(tables)
        d = batch.columns.shape[1]
        prior = np.zeros((len(tables), d, d), np.float32)
        for b, table in enumerate(tables):
            prior[b, : table.d, : table.d] = priors[b]
        network = self._network()
        with bridge.inference():
            inputs = (batch.values, batch.interventions, jnp.asarray(prior), batch.columns)
            logits = np.asarray(bridge.to_jax(network(*bridge.to_torch(inputs))))
        return [edge_probabilities(logits[b], d)[: table.d, : table.d] for b, table in enumerate(tables)]

    def _estimate(self, scores: np.ndarray) -> Estimate:
        return Estimate((scores > self.threshold).astype(np.int8), scores=scores)

    def _network(self) -> Any:
        from methods import causcale_net

        return bridge.pretrained(CHECKPOINT.require(), causcale_net.build)


def convert(loaded: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The tensors and the configuration in a published CauScale checkpoint (PyTorch Lightning).

    Sizes are read from the weights; the rest from the hyperparameters that were saved along, or where those say nothing
    from the settings of the published inference program.

    Raises:
        MethodError: If it is another kind of checkpoint, or of a variant that this package does not know.
    """
    tensors, saved = state_dict(loaded, "encoder.embed_data.weight"), hyper_parameters(loaded)
    for name, value in _FIXED.items():
        if saved.get(name, value) != value:
            raise MethodError(f"causcale: the checkpoint has {name} = {saved[name]!r}; only {value!r} is known here")
    shape = lambda name: tensors[name].shape  # noqa: E731
    config = {
        "transformer_num_layers": 1 + max(int(name.split(".")[2]) for name in tensors if ".layers." in name),
        "embed_dim": shape("encoder.embed_data.weight")[0],
        "ffn_embed_dim": shape("encoder.layers.0.data_layer.feed_forward_layer.layer.fc1.weight")[0],
        **{name: saved.get(name, value) for name, value in _PUBLISHED.items()},
    }
    return tensors, config
