"""How long scoring takes: 5,000 pairs of graphs over 100 variables; the same by scikit-learn and networkx in a loop.

    python scripts/bench_metrics.py [--pairs 5000] [--variables 100] [--loop 100]

Truths are random DAGs with two edges a variable; predictions are DAGs that share about half of them, so that SID is
defined, with edge scores. Everything but SID must take under 2 s, SID under 60 s: else this exits with 1. Values are
compared with the loop's on the pairs that this does.
"""

import argparse
import os
import sys
import time

import numpy as np

from eval.jax_metrics import graph_metrics
from eval.metrics import score
from eval.sid import sids

SCORING, SID = 2.0, 60.0


def pairs(count: int, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Truths, predictions `[count, d, d]` int8 and edge scores float64."""
    rng = np.random.default_rng(0)
    truth = np.triu(rng.random((count, d, d)) < 4 / (d - 1), 1)
    kept = truth & (rng.random(truth.shape) < 0.5)
    prediction = kept | np.triu(rng.random(truth.shape) < 2 / (d - 1), 1)
    scores = rng.normal(size=truth.shape) + 2 * kept
    order = rng.permutation(d)
    shuffle = lambda matrices: np.ascontiguousarray(matrices[:, order][:, :, order])  # noqa: E731
    return shuffle(truth).astype(np.int8), shuffle(prediction).astype(np.int8), shuffle(scores)


def loop(truth: np.ndarray, prediction: np.ndarray, scores: np.ndarray) -> dict[str, np.ndarray]:
    """The same metrics, one pair after another, by the libraries that one would take."""
    import networkx as nx
    from sklearn.metrics import average_precision_score, precision_recall_fscore_support, roc_auc_score

    off = ~np.eye(truth.shape[-1], dtype=bool)
    lines = []
    for t, p, s in zip(truth, prediction, scores, strict=True):
        precision, recall, f1, _ = precision_recall_fscore_support(t[off], p[off], average="binary", zero_division=0)  # pyright: ignore
        differs = t != p
        reach = [
            {(i, j) for i in graph for j in nx.descendants(graph, i)}
            for graph in (nx.from_numpy_array(matrix, create_using=nx.DiGraph) for matrix in (t, p))
        ]
        lines.append((
            precision, recall, f1, np.triu(differs | differs.T).sum(), len(reach[0] ^ reach[1]),
            roc_auc_score(t[off], s[off]), average_precision_score(t[off], s[off]),
        ))  # fmt: skip
    names = ("precision", "recall", "f1", "shd", "reachability_distance", "auroc", "average_precision")
    return dict(zip(names, np.array(lines).T, strict=True))


def timed(function, *arguments):
    began = time.perf_counter()
    found = function(*arguments)
    return found, time.perf_counter() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=5000)
    parser.add_argument("--variables", type=int, default=100)
    parser.add_argument("--loop", type=int, default=100, help="pairs for the loop, scaled up")
    given = parser.parse_args()
    truth, prediction, scores = pairs(given.pairs, given.variables)
    print(f"{given.pairs} pairs, d = {given.variables}, {os.cpu_count()} cores")

    _, first = timed(score, truth[:1], prediction[:1], scores[:1])
    runs = [timed(score, truth, prediction, scores) for _ in range(3)]
    found, seconds = min(runs, key=lambda run: run[1])
    print(f"all metrics but SID: {', '.join(f'{took:.2f}' for _, took in runs)} s, limit {SCORING:g} s for the best")
    print(f"nothing is compiled; the first pair took {first:.3f} s")
    few = slice(0, given.loop)
    wanted, slow = timed(loop, truth[few], prediction[few], scores[few])
    slow *= given.pairs / len(truth[few])
    for name, values in wanted.items():
        np.testing.assert_allclose(found[name][few], values, rtol=1e-12, err_msg=name)
    print(f"scikit-learn and networkx: {slow:.1f} s (from {len(truth[few])} pairs), {slow / seconds:.0f} times as long")

    distance, sid_seconds = timed(sids, truth, prediction)
    print(f"SID: {sid_seconds:.1f} s (limit {SID:g} s), mean {np.nanmean(distance):.1f}")
    _, classes = timed(score, truth[few], prediction[few], None, prediction[few])
    classes *= given.pairs / len(truth[few])
    print(f"CPDAG distance, for methods that return a class: {classes:.1f} s (from {len(truth[few])} pairs)")
    jitted(truth, prediction, found)
    return int(seconds >= SCORING or sid_seconds >= SID)


def jitted(truth: np.ndarray, prediction: np.ndarray, found: dict[str, np.ndarray]) -> None:
    """The JAX functions on the same, for use inside programs."""
    import jax

    few = slice(0, 500)
    program = jax.jit(jax.vmap(graph_metrics))
    graphs = truth[few] != 0, prediction[few] != 0
    run = lambda: jax.block_until_ready(program(*graphs))  # noqa: E731
    (_, first), (inside, again) = timed(run), timed(run)
    np.testing.assert_array_equal(inside["shd"], found["shd"][few])
    np.testing.assert_array_equal(inside["reachability_distance"], found["reachability_distance"][few])
    print(f"graph metrics as a JAX program, 500 pairs: compilation {first - again:.2f} s, then {again:.2f} s")


if __name__ == "__main__":
    sys.exit(main())
