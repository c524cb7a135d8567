"""Graph metrics (paper B.2) of finished answers, one or many at a time, on the host; `eval.jax_metrics` has the same
as JAX functions.

`A[i, j] == 1` is i -> j; any non-zero entry counts as an edge and the diagonal never counts. Predictions may be cyclic.
The conventions were worked out from the published tables: SHD counts unordered pairs, nSHD divides by d(d-1), and what
the paper prints as "SID" is `reachability_distance`; the exact SID is in `eval.sid`.
"""

import concurrent.futures
import os
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from eval.bits import differing, reachability
from eval.cpdag import essential_graph
from eval.ranking import ranking_metrics

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
# Entries of the graphs that are worked on at once: what stays in a core's cache.
_AT_ONCE = 1 << 19


def score(
    truth: Any, prediction: Any, scores: Any = None, native: Any = None, targets: Any = None
) -> dict[str, np.ndarray]:
    """Every metric of a batch of predictions, counts exactly and ratios in 64 bits, as host arrays.

    A large batch is worked on by all cores.

    Args:
        truth: `[..., d, d]` adjacency of the true DAGs.
        prediction: `[..., d, d]` predicted adjacency, possibly cyclic.
        scores: `[..., d, d]` edge scores, larger is more likely, or None.
        native: `[..., d, d]` predicted CPDAGs (both directions set: undirected), or None.
        targets: `[t, d]` bool, the intervention target sets behind the data, shared by the batch; `native` is
            then compared with the essential graph under these interventions.

    Returns:
        `COUNTS` (directed entries, and pairs predicted the wrong way round) and `METRICS`, each of the
        leading shape. A ratio 0/0 is 0; a 2-cycle is two predicted edges but one differing pair. nan where a metric has
        no value: `auroc` and `average_precision` without scores, with one that is nan or without a true edge, `auroc`
        of a full truth, `cpdag_shd` without `native`.

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

    flat = (prod(batch), *shape[-2:])
    true, guess = truth.reshape(flat), prediction.reshape(flat)
    ranked = None if scores is None else _floating(scores).reshape(flat)
    size = max(1, _AT_ONCE // max(1, shape[-1] ** 2))
    parts = [slice(start, start + size) for start in range(0, flat[0], size)] or [slice(0, 0)]
    one = lambda part: _score(true[part], guess[part], None if ranked is None else ranked[part])  # noqa: E731
    found = _all(one, parts)
    host = {name: np.concatenate([some[name] for some in found]).reshape(batch) for name in found[0]}
    host["cpdag_shd"] = np.full(batch, np.nan)
    if native is not None:
        pairs = zip(true, np.asarray(native).reshape(flat), strict=True)
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


def _all(function: Any, parts: Sequence[slice]) -> list[dict[str, np.ndarray]]:
    threads = min(os.cpu_count() or 1, len(parts))
    if threads == 1:
        return [function(part) for part in parts]
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, parts))


def _score(truth: np.ndarray, prediction: np.ndarray, scores: np.ndarray | None) -> dict[str, np.ndarray]:
    """`COUNTS` and `METRICS` but `cpdag_shd` of `[b, d, d]`."""
    b, d, _ = truth.shape
    off = ~np.eye(d, dtype=bool)
    truth, prediction = (truth != 0) & off, (prediction != 0) & off
    count = lambda entries: np.count_nonzero(entries.reshape(b, d * d), axis=1)  # noqa: E731
    hit, backwards = truth & prediction, prediction.transpose(0, 2, 1)
    tp, edges, guessed = count(hit), count(truth), count(prediction)
    differs = truth != prediction
    # A pair that differs in both entries is counted twice, once for each.
    shd = count(differs) - count(differs & differs.transpose(0, 2, 1)) // 2
    missing = np.full(b, np.nan)
    ranks = {"auroc": missing, "average_precision": missing} if scores is None else ranking_metrics(truth, scores)
    return {
        "tp": tp,
        "fp": guessed - tp,
        "fn": edges - tp,
        "reversed": count(truth & ~prediction & backwards),
        "precision": _ratio(tp, guessed),
        "recall": _ratio(tp, edges),
        "f1": _ratio(2 * tp, edges + guessed),
        "shd": shd,
        "nshd": _ratio(shd, np.full(b, d * (d - 1))),
        "reachability_distance": differing(reachability(truth), reachability(prediction)),
        **ranks,
    }


def _ratio(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    return np.where(bottom == 0, 0.0, top / np.maximum(bottom, 1))


def _floating(scores: Any) -> np.ndarray:
    """Scores as floats; single precision stays, since only their order matters."""
    scores = np.asarray(scores)
    return scores if scores.dtype == np.float32 else scores.astype(np.float64, copy=False)
