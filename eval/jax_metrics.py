"""Graph metrics as JAX functions of one graph, to be jitted, vmapped and used inside programs.

The same definitions as in `eval.metrics.score`, which is for finished answers on the host. A graph is one matrix here;
`jax.vmap` makes it many.
"""

from math import ceil, log2

import jax.numpy as jnp
from jaxtyping import Array, Bool, Shaped


def graph_metrics(truth: Bool[Array, "d d"], prediction: Bool[Array, "d d"]) -> dict[str, Array]:
    """Counts, precision, recall, F1, SHD, nSHD and reachability distance of one pair of graphs.

    A 2-cycle is two predicted edges but one differing pair. A ratio 0/0 is 0.

    Args:
        truth: `[d, d]` true edges.
        prediction: `[d, d]` predicted edges.
    """
    d = truth.shape[-1]
    off = ~jnp.eye(d, dtype=bool)
    truth, prediction = truth & off, prediction & off
    tp = jnp.sum(truth & prediction)
    fp = jnp.sum(~truth & prediction)
    fn = jnp.sum(truth & ~prediction)
    differs = truth != prediction
    shd = jnp.sum(jnp.triu(differs | differs.T))
    unequal = reachability(truth) != reachability(prediction)
    return {
        "tp": tp,
        "fp": fp,
        "fn": fn,
        "reversed": jnp.sum(truth & ~prediction & prediction.T),
        "precision": _ratio(tp, tp + fp),
        "recall": _ratio(tp, tp + fn),
        "f1": _ratio(2 * tp, 2 * tp + fp + fn),
        "shd": shd,
        "nshd": _ratio(shd, jnp.asarray(d * (d - 1))),
        "reachability_distance": jnp.sum(unequal & off),
    }


def reachability(edges: Bool[Array, "d d"]) -> Bool[Array, "d d"]:
    """Entry (i, j): whether a directed path leads from i to j != i. The diagonal means nothing.

    Args:
        edges: `[d, d]` adjacency, possibly cyclic.
    """
    d = edges.shape[-1]
    reached = edges
    # Paths of length <= 2^k after k squarings; sums of 0/1 products are zero or at least one in any
    # precision.
    for _ in range(ceil(log2(max(d - 1, 1)))):
        step = reached.astype(jnp.float32)
        reached = reached | (step @ step > 0.5)
    return reached


def ranking_metrics(truth: Bool[Array, "d d"], scores: Shaped[Array, "d d"]) -> dict[str, Array]:
    """AUROC and average precision of edge scores against one graph, diagonal left out, ties as in
    scikit-learn.

    AUROC gives tied scores their average rank; average precision treats a group of ties as one threshold.
    Both are nan if the truth has no edge or a score is nan, AUROC also if every entry is an edge.

    Args:
        truth: `[d, d]` true edges.
        scores: `[d, d]` float scores, larger is more likely.
    """
    label, value = _off_diagonal(truth), _off_diagonal(scores)
    order = jnp.argsort(value)
    label, value = label[order], value[order]
    positives = jnp.sum(label)
    negatives = label.size - positives
    below = jnp.searchsorted(value, value, side="left")
    up_to = jnp.searchsorted(value, value, side="right")

    rank = (below + up_to + 1) / 2
    wins = jnp.sum(jnp.where(label, rank, 0.0)) - positives * (positives + 1) / 2
    auroc = jnp.where((positives > 0) & (negatives > 0), wins / (positives * negatives), jnp.nan)

    # Each true edge adds 1/P of recall at the threshold that equals its own score.
    hits_below = jnp.cumsum(label) - label
    hits = positives - hits_below[below]
    precision = hits / (label.size - below)
    ap = jnp.where(positives > 0, jnp.sum(jnp.where(label, precision, 0.0)) / positives, jnp.nan)

    unranked = jnp.isnan(value).any()
    return {
        "auroc": jnp.where(unranked, jnp.nan, auroc),
        "average_precision": jnp.where(unranked, jnp.nan, ap),
    }


def _off_diagonal(matrix: Shaped[Array, "d d"]) -> Shaped[Array, "pairs"]:
    d = matrix.shape[-1]
    # Dropping the last entry and folding into rows of d + 1 lines the diagonal up as the first column.
    return matrix.reshape(-1)[:-1].reshape(d - 1, d + 1)[:, 1:].reshape(-1)


def _ratio(top: Array, bottom: Array) -> Array:
    return jnp.where(bottom == 0, 0.0, top / jnp.maximum(bottom, 1))
