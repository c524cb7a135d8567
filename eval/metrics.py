"""Graph metrics (paper B.2): one graph at a time in JAX, vmapped and jitted over a batch by `score`.

`A[i, j] == 1` is i -> j; any non-zero entry counts as an edge and the diagonal never counts. Predictions may
be cyclic. The conventions were worked out from the published tables: SHD counts unordered pairs, nSHD divides
by d(d-1), and what the paper prints as "SID" is `reachability_distance`; the exact SID is in `eval.sid`.
"""

from math import ceil, log2, prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Shaped

from eval.cpdag import essential_graph

COUNTS = ("tp", "fp", "fn", "reversed")
METRICS = (
    "f1",
    "precision",
    "recall",
    "shd",
    "nshd",
    "reachability_distance",
    "auroc",
    "average_precision",
    "cpdag_shd",
)


def score(
    truth: Any, prediction: Any, scores: Any = None, native: Any = None, targets: Any = None
) -> dict[str, np.ndarray]:
    """Every metric of a batch of predictions, exactly (64-bit), as host arrays.

    Args:
        truth: `[..., d, d]` adjacency of the true DAGs.
        prediction: `[..., d, d]` predicted adjacency, possibly cyclic.
        scores: `[..., d, d]` edge scores, larger is more likely, or None.
        native: `[..., d, d]` predicted CPDAGs (both directions set: undirected), or None.
        targets: `[t, d]` bool, the intervention target sets behind the data, shared by the batch; `native` is
        then
            compared with the essential graph under these interventions.

    Returns:
        `COUNTS` (directed entries, and pairs predicted the wrong way round) and `METRICS`, each of the
        leading shape. nan where a metric has no value: `auroc` and `average_precision` without scores or
        without a true edge, `auroc` of a full truth, `cpdag_shd` without `native`.

    Raises:
        ValueError: If shapes disagree.
    """
    truth, prediction = np.asarray(truth), np.asarray(prediction)
    shape, batch = truth.shape, truth.shape[:-2]
    if truth.ndim < 2 or shape[-1] != shape[-2]:
        raise ValueError(f"truth must have shape [..., d, d], found {shape}")
    for name, other in (("prediction", prediction), ("scores", scores), ("native", native)):
        if other is not None and np.shape(other) != shape:
            raise ValueError(f"{name} has shape {np.shape(other)}, truth {shape}; they must agree")

    # In 64 bits every count is exact and every ratio good to the last digit, on any backend.
    flat = (prod(batch), *shape[-2:])
    with jax.enable_x64(True):
        true, guess = truth.reshape(flat) != 0, prediction.reshape(flat) != 0
        out = dict(_graph_metrics(true, guess))
        if scores is not None:
            out |= _ranking_metrics(true, np.asarray(scores, np.float64).reshape(flat))
    host = {name: np.asarray(value).reshape(batch) for name, value in out.items()}
    missing = np.full(batch, np.nan)
    host.setdefault("auroc", missing)
    host.setdefault("average_precision", missing)
    host["cpdag_shd"] = missing
    if native is not None:
        pairs = zip(truth.reshape(flat), np.asarray(native).reshape(flat), strict=True)
        values = [cpdag_shd(graph, found, targets) for graph, found in pairs]
        host["cpdag_shd"] = np.asarray(values, np.float64).reshape(batch)
    return {name: host[name] for name in (*COUNTS, *METRICS)}


def cpdag_shd(truth: Any, native: Any, targets: Any = None) -> int:
    """Unordered pairs whose edge mark (none, ->, <-, undirected) differs between two equivalence classes.

    Args:
        truth: `[d, d]` true DAG; its CPDAG, or with `targets` its interventional essential graph, is
        compared. native: `[d, d]` predicted CPDAG; both directions set is an undirected edge. targets: `[t,
        d]` bool intervention target sets, or None for observational data.
    """
    essential = essential_graph(truth, targets)
    differs = (np.asarray(native) != 0) != (essential != 0)
    np.fill_diagonal(differs, False)
    return int(np.triu(differs | differs.T).sum())


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


_graph_metrics = jax.jit(jax.vmap(graph_metrics))
_ranking_metrics = jax.jit(jax.vmap(ranking_metrics))
