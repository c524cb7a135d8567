"""FoundCause: a pretrained transformer for causal discovery with hidden confounders, from observational tables."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import expit

from arena.dataset import Dataset
from arena.errors import MethodError
from methods import bridge
from methods.base import Capabilities, Estimate, Method, generator
from methods.checkpoints import Checkpoint
from methods.lightning import as_array

CHECKPOINT = Checkpoint(
    name="foundcause",
    files=(("checkpoint.pt", "https://github.com/amazon-science/foundcause/releases/latest/download/checkpoint.pt"),),
    size="1.6 GB",
    licence="Apache-2.0",
)
# The parts of the published network that answer about edges; a checkpoint may hold others, which were for training.
_PARTS = (
    "encoder",
    "pair_stats",
    "edge_pred",
    "tri_proj_in",
    "tri_refine",
    "tri_logit",
    "tri_alpha_exist",
    "tri_alpha_dir",
    "skel_dir_scale",
    "skel_fn",
    "confounder",
    "parent_proj",
    "child_proj",
)
_TRAINED_UP_TO = 50


@dataclasses.dataclass(frozen=True)
class FoundCause(Method):
    """FoundCause's edge probabilities, cut at 0.5 (paper B.4); not its own decision with an adaptive threshold.

    The probabilities are averaged over passes with the columns shuffled, as in the published `predict`. There the
    shuffles are the same for every table; here they come from the key. Everything is float32, also on a GPU, where the
    published program uses bfloat16.

    Attributes:
        threshold: An edge is where its probability is above, in (0, 1). Both directions of a pair can be.
        n_runs: Passes.
        temperature: What logits are divided by, positive. The published command-line program uses 0.65.
        max_samples: Rows that are used at most, drawn without replacement.

    Raises:
        MethodError: If a setting is out of range.
    """

    threshold: float = 0.5
    n_runs: int = 10
    temperature: float = 1.0
    max_samples: int = 5000

    name = "foundcause"
    title = "FoundCause"
    quick = {"n_runs": 2}
    capabilities = Capabilities(
        splits=("obs",),
        scores=True,
        output="digraph",
        packages=("torch", "safetensors"),
        install=bridge.INSTALL,
        licence="Apache-2.0 (weights)",
        citation="Blöbaum, Balasubramanian and Kasiviswanathan (2026). FoundCause: Causal Discovery with Latent "
        "Confounders from Observational Data. arXiv:2606.17516",
        checkpoint=CHECKPOINT,
    )

    def __post_init__(self):
        if not 0 < self.threshold < 1:
            raise MethodError(f"foundcause: threshold is {self.threshold}; it must lie between 0 and 1")
        if self.n_runs < 1:
            raise MethodError(f"foundcause: n_runs is {self.n_runs}; it must be at least 1")
        if not self.temperature > 0:
            raise MethodError(f"foundcause: temperature is {self.temperature}; it must be positive")
        if self.max_samples < 3:
            raise MethodError(f"foundcause: max_samples is {self.max_samples}; it must be at least 3")

    def prepare(self) -> None:
        super().prepare()
        self._network()

    def fit(self, dataset: Dataset, key: jax.Array) -> Estimate:
        """Estimate the graph.

        Raises:
            MethodError: If there are fewer than 3 rows.
        """
        import torch

        if dataset.n < 3:
            raise MethodError(f"foundcause needs at least 3 rows, found {dataset.n}")
        rng = generator(key)
        values = dataset.values
        if dataset.n > self.max_samples:
            values = values[rng.choice(dataset.n, self.max_samples, replace=False)]
        jitter = torch.Generator().manual_seed(int(rng.integers(2**63)))
        network = self._network()

        def logits(columns: np.ndarray) -> np.ndarray:
            table = bridge.to_torch(jnp.asarray(values[:, columns], jnp.float32))
            return np.asarray(bridge.to_jax(network(table, jitter)))

        with bridge.inference():
            scores = averaged(logits, dataset.d, rng, self.n_runs, self.temperature)
        info = {}
        if dataset.d > _TRAINED_UP_TO:
            info["remark"] = f"the network was trained on up to {_TRAINED_UP_TO} variables"
        return Estimate((scores > self.threshold).astype(np.int8), scores=scores, info=info)

    def _network(self) -> Any:
        from methods import foundcause_net

        return bridge.pretrained(CHECKPOINT.require(), foundcause_net.build)


def averaged(logits, d: int, rng: np.random.Generator, n_runs: int, temperature: float) -> np.ndarray:
    """The average probability of each edge over shuffles of the columns, `[d, d]`, zero on the diagonal.

    Args:
        logits: From the positions of columns `[d]` to the logits `[d, d]` of the table with the columns in that order.
        d: Number of variables.
        rng: Draws the orders.
        n_runs: How many.
        temperature: What logits are divided by.
    """
    total = np.zeros((d, d))
    for _ in range(n_runs):
        order = rng.permutation(d)
        total[np.ix_(order, order)] += expit(np.asarray(logits(order), np.float64) / temperature)
    np.fill_diagonal(total, 0.0)
    return total / n_runs


def convert(loaded: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The tensors and the configuration in the published FoundCause checkpoint.

    Sizes are read from the weights; the number of heads of the pooling leaves no trace there and is the published one.
    What belongs to no part of the published network is left out, as it is where the published program loads it.

    Raises:
        MethodError: If it is another kind of checkpoint.
    """
    weights = loaded.get("model_state_dict")
    if not isinstance(weights, Mapping):
        found = ", ".join(map(str, loaded))
        raise MethodError(f"not a FoundCause checkpoint: 'model_state_dict' is missing, found {found}")
    named = {name.replace("_orig_mod.", ""): tensor for name, tensor in weights.items()}
    tensors = {name: as_array(tensor) for name, tensor in named.items() if name.split(".")[0] in _PARTS}
    count = lambda prefix: len({name.split(".")[2] for name in tensors if name.startswith(prefix)})  # noqa: E731
    try:
        shape = {name: tensor.shape for name, tensor in tensors.items()}
        config = {
            "hidden_dim": shape["encoder.input_proj.weight"][0],
            "num_encoder_layers": count("encoder.blocks.") // 2,
            "num_heads": shape["encoder.stat_bias.projs.0.2.weight"][0],
            "num_global_tokens": shape["encoder.global_tokens"][2],
            "num_confounder_tokens": shape["confounder.tokens"][1],
            "num_tri_refine_rounds": count("tri_refine.rounds."),
            "tri_pair_dim": shape["tri_logit.weight"][1],
            "pma_num_queries": shape["encoder.pma.queries"][1],
            "pma_num_heads": 4,
            "num_features": shape["pair_stats.omega_rff"][0],
        }
    except KeyError as error:
        raise MethodError(f"the checkpoint is of another network: {error} is missing in its weights") from error
    return tensors, config
