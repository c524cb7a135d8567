"""Compare our IGSP with the one of graphical-model-learning, in its environment, on random linear-Gaussian tables.

    arena env build igsp --yes
    python scripts/compare_igsp.py [--instances 20]

Both searches are random, so equal graphs are not to be expected where several are equally good. What is printed: how
often they agree, the number of edges (fewer is what both look for), F1 and seconds.
"""

import argparse
import time

import jax
import numpy as np

from arena.dataset import Dataset
from methods import environments
from methods.call import SCRIPTS, call
from methods.fit import fit
from methods.igsp import IGSP

N_OBS, N_INT = 800, 400


def table(seed: int, d: int, interventional: bool) -> Dataset:
    """A linear-Gaussian table of `d` variables with about `d` edges; each variable is a target in turn."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(d)
    graph = np.zeros((d, d), np.int8)
    graph[np.ix_(order, order)] = np.triu(rng.random((d, d)) < 2 / (d - 1), k=1)
    weights = graph * rng.uniform(0.5, 1.5, (d, d)) * rng.choice([-1, 1], (d, d))
    n = N_OBS + (N_INT if interventional else 0)
    mask = np.zeros((n, d), bool)
    for row in range(N_OBS, n):
        mask[row, row % d] = True
    values = np.zeros((n, d))
    for j in order:
        values[:, j] = values @ weights[:, j] + rng.normal(size=n)
        values[mask[:, j], j] = rng.normal(2.0, 0.5, mask[:, j].sum())
    values = (values - values.mean(axis=0)) / values.std(axis=0)
    return Dataset(tuple(f"x{j}" for j in range(d)), values, mask, graph)


def f1(truth: np.ndarray, found: np.ndarray) -> float:
    """F1 of directed edges."""
    return 2 * (truth & found).sum() / max(1, truth.sum() + found.sum())


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, default=20)
    count = parser.parse_args().instances
    ours, environment = IGSP(), environments.get("igsp")
    settings = {"alpha": ours.alpha, "alpha_inv": ours.alpha_inv, "depth": ours.depth, "runs": ours.runs}
    for interventional in (False, True):
        tables = [table(seed, (5, 8, 10, 12)[seed % 4], interventional) for seed in range(count)]
        arrays = {}
        for name, data in enumerate(tables):
            arrays |= {f"{name:03d}.values": data.values, f"{name:03d}.mask": data.mask}
        start = time.perf_counter()
        answers, _ = call(environment, SCRIPTS / "igsp_package.py", arrays, settings, seed=0)
        theirs = [answers[f"{name:03d}"] for name in range(count)]
        middle = time.perf_counter()
        found = [fit(ours, data, jax.random.key(seed)).estimate for seed, data in enumerate(tables)]
        graphs = [estimate.adjacency for estimate in found if estimate is not None]
        seconds = {"package": middle - start, "ours": time.perf_counter() - middle}
        assert len(graphs) == count
        same = sum(np.array_equal(a, b) for a, b in zip(graphs, theirs, strict=True))
        skeleton = sum(np.array_equal(a | a.T, b | b.T) for a, b in zip(graphs, theirs, strict=True))
        kind = "interventional" if interventional else "observational"
        print(f"{kind}: {count} tables, same graph {same}, same skeleton {skeleton}")
        for who, answer in (("package", theirs), ("ours", graphs)):
            scores = [f1(data.truth, graph) for data, graph in zip(tables, answer, strict=True)]
            edges = sum(int(graph.sum()) for graph in answer)
            print(f"  {who:8} edges {edges}  F1 {np.mean(scores):.3f}  {seconds[who]:.1f} s")


if __name__ == "__main__":
    main()
