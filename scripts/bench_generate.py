"""Datasets a second of the generator beside its peers, in one run: sempler, a numpy loop, causally, AVICI's simulator.

    python scripts/bench_generate.py [--d 30] [--n 1000] [--scms 128] [--rounds 3] [--vmap] [--avici PYTHON]

Our SCMs are drawn, calibrated and compiled before the clock of the sampler starts; what that costs is a line of its
own, and so is everything together. The best of the rounds counts. Contenders use the cores as they come: ours runs a
thread a core, the others whatever their libraries do. `--avici` is the Python of an environment in which the package
avici imports; sempler and causally are measured where they are installed.
"""

import argparse
import importlib.util
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from arena import programs, suites
from arena.compiler import compile_on_host
from arena.dag import topological_order
from arena.keys import key_of, keys_of
from arena.pool import Frame, Pool
from arena.spec import SCMSpec
from arena.synthetic.sample import sample_specs
from arena.vocabulary import vocabulary

LINEAR: dict[str, Any] = {"mechanisms": ["linear_additive"], "noises": ["gaussian"], "roots": ["gaussian"]}
FULL: dict[str, Any] = {kind: getattr(suites.MAIN, kind) for kind in ("mechanisms", "noises", "roots")}
RFF: dict[str, Any] = {"mechanisms": ["rff_gp"], "noises": ["gaussian"], "roots": ["gaussian"]}
GRAPHS = ("erdos_renyi", "scale_free")

AVICI = """
import sys, time, avici
d, n, count, rounds = map(int, sys.argv[1:])
draw = lambda seed: avici.simulate_data(d, n, seed=seed, domain="rff-gauss")
draw(0)
times = []
for r in range(rounds):
    start = time.perf_counter()
    for k in range(count):
        draw(1 + r * count + k)
    times.append(time.perf_counter() - start)
print(count / min(times))
"""


def draw_specs(seed: int, count: int, d: int, families: dict[str, Any]) -> list[SCMSpec]:
    """Calibrated SCMs on two kinds of graphs in turn."""
    return [
        spec
        for i, graph in enumerate(GRAPHS)
        for spec in sample_specs([key_of(seed, graph, k) for k in range(i, count, len(GRAPHS))],
                                 d=d, graph=graph, **families)
    ]  # fmt: skip


def pool_of(specs: Sequence[SCMSpec], families: dict[str, Any]) -> Pool:
    return Pool([compile_on_host(spec) for spec in specs], Frame(vocabulary(*families.values())))


def sampler(pool: Pool, n: int, strategy: Any = "auto") -> Callable[[int], object]:
    """One table of every SCM of the pool."""
    which = range(len(pool.scms))
    return lambda r: pool.draw(which, keys_of((r, i) for i in which), n, strategy=strategy)


def numpy_linear(spec: SCMSpec) -> Callable[[np.random.Generator, int], np.ndarray]:
    """A node-by-node numpy sampler of a linear-Gaussian spec, as one would write it by hand."""
    index = {name: j for j, name in enumerate(spec.names)}
    steps: list[Any] = []
    for j in topological_order(spec.adjacency):
        node = spec.nodes[j]
        center, scale = node.scaling or (0.0, 1.0)
        steps.append((j, node, [index[p] for p in node.parents], center, scale))

    def sample(rng: np.random.Generator, n: int) -> np.ndarray:
        x = np.zeros((n, len(spec.nodes)))
        for j, node, parents, center, scale in steps:
            if parents:
                signal = x[:, parents] @ np.asarray(node.mechanism.weight) + node.mechanism.bias
                x[:, j] = signal + rng.normal(0.0, node.noise.scale, n)
            else:
                x[:, j] = (rng.normal(node.root.mean, node.root.scale, n) - center) / scale
        return x

    return sample


def sempler_linear(spec: SCMSpec) -> Any:
    """sempler's LGANM of a linear-Gaussian spec."""
    import sempler

    d, index = len(spec.nodes), {name: j for j, name in enumerate(spec.names)}
    weights, means, variances = np.zeros((d, d)), np.zeros(d), np.zeros(d)
    for j, node in enumerate(spec.nodes):
        if node.parents:
            weights[[index[p] for p in node.parents], j] = node.mechanism.weight  # type: ignore[union-attr]
            means[j], variances[j] = node.mechanism.bias, node.noise.scale**2  # type: ignore[union-attr]
        else:
            center, scale = node.scaling or (0.0, 1.0)
            means[j] = (node.root.mean - center) / scale  # type: ignore[union-attr]
            variances[j] = (node.root.scale / scale) ** 2  # type: ignore[union-attr]
    model = sempler.LGANM(weights, means, variances)
    return lambda rng, n: model.sample(n)


def causally_neural(d: int, n: int) -> Callable[[int], object]:
    """causally's additive noise model with its neural mechanism, two edges a variable; a new SCM each time."""
    from causally.graph.random_graph import ErdosRenyi
    from causally.scm.causal_mechanism import NeuralNetMechanism
    from causally.scm.noise import Normal
    from causally.scm.scm import AdditiveNoiseModel

    return lambda seed: AdditiveNoiseModel(
        n, ErdosRenyi(num_nodes=d, expected_degree=2), Normal(), NeuralNetMechanism(), seed=seed
    ).sample()


def best_rate(draw: Callable[[int], object], count: int, rounds: int) -> float:
    """Datasets a second in the best of some rounds, after one that is not counted."""
    draw(0)
    times = []
    for r in range(1, rounds + 1):
        start = time.perf_counter()
        draw(r)
        times.append(time.perf_counter() - start)
    return count / min(times)


def line(name: str, rate: float, ours: float | None = None) -> None:
    ratio = "" if ours is None else f"   arena is {ours / rate:7.2f} x"
    print(f"  {name:<34} {rate:8.1f} datasets/s  {1e3 / rate:8.2f} ms{ratio}", flush=True)


def linear_gaussian(args: argparse.Namespace) -> None:
    print("\nlinear-Gaussian")
    specs, rng = draw_specs(0, args.scms, args.d, LINEAR), np.random.default_rng(0)
    ours = best_rate(sampler(pool_of(specs, LINEAR), args.n), args.scms, args.rounds)
    line("arena", ours)
    peers = {"numpy loop": numpy_linear}
    if importlib.util.find_spec("sempler"):
        peers["sempler LGANM"] = sempler_linear
    for name, make in peers.items():
        models = [make(spec) for spec in specs]
        rate = best_rate(lambda r, models=models: [model(rng, args.n) for model in models], args.scms, args.rounds)
        line(name, rate, ours)


def full_mix(args: argparse.Namespace) -> None:
    print("\nall families of the main suite")
    start = time.perf_counter()
    specs = draw_specs(0, args.scms, args.d, FULL)
    first = time.perf_counter() - start
    start = time.perf_counter()
    specs = draw_specs(1, args.scms, args.d, FULL)
    made = time.perf_counter()
    pool = pool_of(specs, FULL)
    built = time.perf_counter()
    print(f"  {args.scms} specs for the first time, compilation included: {first:.1f} s; then "
          f"{1e3 * (made - start) / args.scms:.2f} ms to draw and calibrate, "
          f"{1e3 * (built - made) / args.scms:.2f} ms to compile each")  # fmt: skip
    start = time.perf_counter()
    sampler(pool, args.n)(0)
    print(f"  first tables, compilation included: {time.perf_counter() - start:.1f} s")
    ours = best_rate(sampler(pool, args.n), args.scms, args.rounds)
    line("arena", ours)
    if args.vmap:
        line("arena (vmap)", best_rate(sampler(pool, args.n, "vmap"), args.scms, 1), ours)

    def from_scratch(r: int) -> object:
        return sampler(pool_of(draw_specs(2 + r, args.scms, args.d, FULL), FULL), args.n)(r)

    whole = best_rate(from_scratch, args.scms, args.rounds)
    line("arena, a new SCM for each table", whole)
    rff = best_rate(sampler(pool_of(draw_specs(0, args.scms, args.d, RFF), RFF), args.n), args.scms, args.rounds)
    line("arena, RFF mechanisms only", rff)
    if importlib.util.find_spec("causally"):
        rate = best_rate(causally_neural(args.d, args.n), 1, args.rounds)
        line("causally neural, a new SCM each", rate, ours)
        print(f"{'':>65}(a new SCM each: {whole / rate:7.2f} x)")
    if args.avici:
        settings = [str(value) for value in (args.d, args.n, 10, args.rounds)]
        told = subprocess.run([args.avici, "-c", AVICI, *settings], check=True, capture_output=True, text=True)
        rate = float(told.stdout.split()[-1])
        line("AVICI rff-gauss, a new SCM each", rate, ours)
        print(f"{'':>65}(a new SCM each: {whole / rate:7.2f} x; RFF only: {rff / rate:7.2f} x)")


def scaling_of_time(args: argparse.Namespace) -> None:
    print("\nms a dataset against the number of SCMs in the pool")
    for count in (64, 256, 1024):
        pool = pool_of(draw_specs(3, count, args.d, FULL), FULL)
        print(f"  {count:>5} SCMs {1e3 / best_rate(sampler(pool, args.n), count, args.rounds):8.3f}", flush=True)
    print(f"against n, d = {args.d}")
    pool = pool_of(draw_specs(4, 16, args.d, FULL), FULL)
    for n in (10**3, 10**4, 10**5, 10**6):
        per_row = 1e9 / best_rate(sampler(pool, n), 16, 1) / n
        print(f"  n = {n:>8} {per_row * n / 1e6:10.2f} ms, {per_row:8.0f} ns a row", flush=True)
    print(f"against d, n = {args.n}")
    for d in (10, 20, 30, 50, 100):
        pool = pool_of(draw_specs(5, args.scms, d, FULL), FULL)
        per_table = 1e3 / best_rate(sampler(pool, args.n), args.scms, args.rounds)
        print(f"  d = {d:>4} {per_table:8.3f} ms, {1e3 * per_table / d:8.1f} us a variable", flush=True)


def compilations(args: argparse.Namespace) -> None:
    """Programs for SCMs of every kind and size of the main suite."""
    import tempfile

    from arena.generate import generate
    from arena.selection import Selection

    before, limit = programs.count(), 200
    for seed in (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            generate("main", folder, Selection(("synthetic",), limit=limit, replicates=1, seed=seed))
        print(f"  {limit} SCMs of the main suite, seed {seed}: {programs.count() - before} programs so far", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--d", type=int, default=30)
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--scms", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--vmap", action="store_true", help="also time the vmap strategy (slow on CPU)")
    parser.add_argument("--avici", help="Python of an environment with the package avici")
    parser.add_argument("--only", choices=("linear", "mix", "time", "programs"), help="one part")
    args = parser.parse_args()
    parts = {"linear": linear_gaussian, "mix": full_mix, "time": scaling_of_time, "programs": compilations}
    print(f"d = {args.d}, n = {args.n}, {args.scms} SCMs, {os.cpu_count()} cores, {jax.devices()[0].device_kind}")
    for name, part in parts.items():
        if args.only in (None, name):
            part(args)


if __name__ == "__main__":
    main()
