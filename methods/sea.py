"""SEA: a pretrained transformer that merges the graphs of FCI on many small subsets of the variables."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from arena.dataset import Dataset
from arena.errors import MethodError
from methods import bridge
from methods.base import Capabilities, Estimate, Method, generator
from methods.checkpoints import Checkpoint
from methods.lightning import hyper_parameters, state_dict
from methods.pairs import edge_probabilities
from methods.sea_trials import run_trials

CHECKPOINT = Checkpoint(
    name="sea-fci-synthetic",
    files=(
        (
            "model_best_epoch=373_auprc=0.842.ckpt",
            "https://github.com/rmwu/sea/raw/HEAD/checkpoints/fci_synthetic/model_best_epoch%3D373_auprc%3D0.842.ckpt",
        ),
    ),
    size="4 MB",
    licence="none stated",
)
# What the published program runs this checkpoint with and its weights do not show.
_PUBLISHED: dict[str, Any] = {"n_heads": 8, "max_length": 1e8}


@dataclasses.dataclass(frozen=True)
class SEA(Method):
    """SEA with the published observational FCI checkpoint; probabilities are cut at 0.5 (paper B.4).

    Beside the graphs of the trials its network reads the precision matrix. The published program stops on tables with
    fewer variables than a trial has; here a trial then has all of them. Trials in which FCI fails are left out, and
    counted in `info`. The network reads one table at a time, as in the published inference program.

    Attributes:
        threshold: An edge is where its probability is above, in (0, 1).
        batches: Trials, even.
        batch_size: Rows of a trial, drawn without replacement.
        variables: Variables of a trial.

    Raises:
        MethodError: If a setting is out of range.
    """

    threshold: float = 0.5
    batches: int = 500
    batch_size: int = 500
    variables: int = 5

    name = "sea"
    title = "SEA"
    quick = {"batches": 10, "batch_size": 100, "variables": 4}
    capabilities = Capabilities(
        splits=("obs",),
        scores=True,
        output="digraph",
        positional=True,
        packages=("torch", "safetensors", "sklearn", "causallearn.search.ConstraintBased.FCI"),
        install="pip install 'causal-arena[torch,classical]'",
        max_d=1000,
        distinct_columns=True,
        licence="none stated (weights), MIT (causal-learn)",
        citation="Wu, Bao, Barzilay and Jaakkola (2024). Sample, estimate, aggregate: A recipe for causal discovery "
        "foundation models. arXiv:2402.01929",
        checkpoint=CHECKPOINT,
    )

    def __post_init__(self):
        if not 0 < self.threshold < 1:
            raise MethodError(f"sea: threshold is {self.threshold}; it must lie between 0 and 1")
        if self.batches < 2 or self.batches % 2:
            raise MethodError(f"sea: batches is {self.batches}; it must be even and at least 2")
        for name in ("batch_size", "variables"):
            if getattr(self, name) < 2:
                raise MethodError(f"sea: {name} is {getattr(self, name)}; it must be at least 2")

    def prepare(self) -> None:
        super().prepare()
        self._network()

    def fit(self, dataset: Dataset, key: jax.Array) -> Estimate:
        """Estimate the graph.

        Raises:
            MethodError: If there are fewer rows than a trial takes, or more pairs than the network takes.
            RuntimeError: If FCI failed in every trial.
        """
        import torch

        if dataset.n < self.batch_size:
            raise MethodError(
                f"sea needs at least {self.batch_size} rows for a trial, found {dataset.n}; "
                "the setting batch_size says how many"
            )
        rng = generator(key)
        variables = min(self.variables, dataset.d)
        trials = run_trials(dataset.values, rng, batches=self.batches, rows=self.batch_size, variables=variables)
        shuffle = torch.Generator().manual_seed(int(rng.integers(2**63)))
        network = self._network()
        with bridge.inference():
            statistics = bridge.to_torch(jnp.asarray(trials.statistics, jnp.float32))
            tokens, pairs = (torch.from_numpy(x).to(statistics.device) for x in (trials.tokens, trials.pairs))
            logits = np.asarray(bridge.to_jax(network(tokens, pairs, statistics, shuffle)))
        scores = edge_probabilities(logits, dataset.d)
        info = {
            "trials": len(trials.tokens),
            "variables": variables,
            "pairs_seen": len(trials.pairs),
            "failed_trials": trials.failed,
            "first_failure": trials.reason,
        }
        return Estimate((scores > self.threshold).astype(np.int8), scores=scores, info=info)

    def _network(self) -> Any:
        from methods import sea_net

        return bridge.pretrained(CHECKPOINT.require(), sea_net.build)


def convert(loaded: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The tensors and the configuration in a published SEA checkpoint (PyTorch Lightning).

    Sizes are read from the weights; the rest from the hyperparameters that were saved along, or where those say nothing
    from the settings of the published inference program.

    Raises:
        MethodError: If it is another kind of checkpoint.
    """
    tensors, saved = state_dict(loaded, "encoder.embed_tokens.weight"), hyper_parameters(loaded)
    shape = lambda name: tensors[name].shape  # noqa: E731
    config = {
        "transformer_num_layers": 1 + max(int(name.split(".")[2]) for name in tensors if ".layers." in name),
        "embed_dim": shape("encoder.embed_tokens.weight")[1],
        "ffn_embed_dim": shape("encoder.layers.0.feat_layer.ffn.layer.fc1.weight")[0],
        "num_vars": shape("encoder.embed_nodes.weight")[0] - 1,
        "num_edge_types": shape("encoder.embed_tokens.weight")[0],
        "max_trials": shape("encoder.embed_time.weight")[0] - 1,
        **{name: saved.get(name, value) for name, value in _PUBLISHED.items()},
    }
    return tensors, config
