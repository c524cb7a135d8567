"""Datasets a second at d = 30, n = 1000, beside sempler (linear SCMs) and a plain numpy loop, in one run.

    python scripts/bench_generate.py [--d 30] [--n 1000] [--scms 128] [--rounds 3]

Every contender draws one table from each of the same SCMs, whose objects are built before the clock starts; building
ours from specs is timed by itself. The best of the rounds counts. Contenders use the cores as they come: ours runs a
thread a core, numpy and sempler whatever their BLAS does.
"""

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import arena
from arena.compiler import compile_on_host
from arena.dag import topological_order
from arena.pool import Pool
from arena.spec import SCMSpec
from mechanisms.expression import parse

NOISES = ("gaussian", "heteroskedastic", "laplace", "none", "uniform")
ROOTS = ("bernoulli", "gaussian", "lognormal", "uniform")
FAMILIES = ("linear_additive", "piecewise_threshold", "random_neural", "rff_gp", "formula")


def numpy_sampler(spec: SCMSpec) -> Callable[[np.random.Generator, int], np.ndarray]:
    """A node-by-node numpy sampler of the spec, as one would write it by hand."""
    index = {name: j for j, name in enumerate(spec.names)}
    steps = []
    for j in topological_order(spec.adjacency):
        node = spec.nodes[j]
        parents = [index[p] for p in node.parents]
        parameters, arrays = node.mechanism or node.root, dict(node.component.arrays)
        if parameters.family == "formula":  # type: ignore[union-attr]
            arrays["numpy"] = parse(parameters.expression, node.parents, parameters.constants)  # type: ignore
        steps.append((j, node, parents, parameters, arrays))

    def sample(rng: np.random.Generator, n: int) -> np.ndarray:
        x = np.zeros((n, len(spec.nodes)))
        for j, node, parents, p, a in steps:
            if not parents:
                center, scale = node.scaling or (0.0, 1.0)
                x[:, j] = (np.asarray(numpy_root(p, rng, n)) - center) / scale
            else:
                x[:, j] = numpy_noise(node.noise, numpy_mechanism(p, a, x[:, parents], node.parents), rng, n)
        return x

    return sample


def numpy_root(p, rng, n):
    match p.family:
        case "gaussian":
            return rng.normal(p.mean, p.scale, n)
        case "uniform":
            return rng.uniform(p.low, p.high, n)
        case "lognormal":
            return rng.lognormal(p.log_mean, p.log_scale, n)
        case "bernoulli":
            return (rng.random(n) < p.probability).astype(float)


def numpy_mechanism(p, a, x, names):
    match p.family:
        case "linear_additive":
            return x @ a["weight"] + a["bias"]
        case "piecewise_threshold":
            low, high = a["low_slope"] * x, a["high_slope"] * x + a["offset"]
            return np.where(x <= a["cutoff"], low, high) @ a["weight"]
        case "random_neural":
            return np.tanh(x @ a["input"].T + a["hidden_bias"]) @ a["output"] + a["bias"]
        case "rff_gp":
            return np.cos(x @ a["frequency"].T + a["phase"]) @ a["amplitude"]
        case "formula":
            return a["numpy"].evaluate(dict(zip(names, x.T, strict=True)))


def numpy_noise(p, signal, rng, n):
    match p.family if p else "none":
        case "gaussian":
            return signal + rng.normal(0.0, p.scale, n)
        case "uniform":
            return signal + rng.uniform(-p.scale, p.scale, n)
        case "laplace":
            return signal + rng.laplace(0.0, p.scale, n)
        case "heteroskedastic":
            return signal + (p.base + p.slope / (1.0 + np.exp(-np.abs(signal)))) * rng.normal(size=n)
        case "none":
            return signal


def sempler_sampler(spec: SCMSpec):
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


def best_rate(draw: Callable[[int], object], count: int, rounds: int) -> float:
    """Datasets a second in the best of some rounds, after one that is not counted."""
    draw(0)
    times = []
    for r in range(1, rounds + 1):
        start = time.perf_counter()
        draw(r)
        times.append(time.perf_counter() - start)
    return count / min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--d", type=int, default=30)
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--scms", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--vmap", action="store_true", help="also time the vmap strategy (slow on CPU)")
    args = parser.parse_args()
    key, rng = jax.random.key(0), np.random.default_rng(0)
    linear: dict[str, Any] = {"mechanisms": ["linear_additive"], "noises": ["gaussian"], "roots": ["gaussian"]}
    print(f"d = {args.d}, n = {args.n}, {args.scms} SCMs, {os.cpu_count()} cores, {jax.devices()[0].device_kind}")

    mix: dict[str, Any] = {"mechanisms": FAMILIES, "noises": NOISES, "roots": ROOTS}
    for title, options in (("linear-Gaussian", linear), ("five-family mix", mix)):
        graph = ("erdos_renyi", "scale_free")
        keys = [jax.random.fold_in(key, i) for i in range(args.scms)]
        start = time.perf_counter()
        specs = [arena.synthetic.sample_spec(k, d=args.d, graph=graph[i % 2], **options) for i, k in enumerate(keys)]
        made = time.perf_counter()
        scms = [compile_on_host(spec) for spec in specs]
        built = time.perf_counter()
        print(f"\n{title}: spec {1e3 * (made - start) / args.scms:.2f} ms, "
              f"build {1e3 * (built - made) / args.scms:.2f} ms an SCM")  # fmt: skip

        pool, which = Pool(scms), range(args.scms)
        contenders: dict[str, Callable[[int], object]] = {}
        for strategy in ("map", "vmap") if args.vmap else ("map",):
            contenders[f"arena ({strategy})"] = lambda r, pool=pool, which=which, strategy=strategy: pool.draw(
                which, jax.random.split(jax.random.fold_in(key, r), len(which)), args.n, strategy=strategy
            )
        plain = [numpy_sampler(spec) for spec in specs]
        contenders["numpy loop"] = lambda r, plain=plain: [sample(rng, args.n) for sample in plain]
        if options is linear:
            peers = [sempler_sampler(spec) for spec in specs]
            contenders["sempler LGANM"] = lambda r, peers=peers: [sample(rng, args.n) for sample in peers]

        start = time.perf_counter()
        contenders["arena (map)"](0)
        print(f"first call, compilation included: {time.perf_counter() - start:.1f} s")
        rates = {name: best_rate(draw, args.scms, args.rounds) for name, draw in contenders.items()}
        ours = rates["arena (map)"]
        for name, rate in rates.items():
            print(f"  {name:<16} {rate:8.0f} datasets/s   arena is {ours / rate:6.2f} x")


if __name__ == "__main__":
    main()
