"""Compares the native AVICI with the package `avici` in its own environment, on random parameters.

    arena env build avici
    python scripts/check_avici.py [--python PATH] [--tables 4]

Prints the largest difference of a probability for tables of 5, 10 and 30 variables, observational and with
interventions, and the time for a table of 30 variables and 1,000 rows: on the clock, and of all cores together, which
other programs on the machine change less. Exits with 1 if a difference exceeds 1e-4.
"""

import argparse
import dataclasses
import sys
import time
from pathlib import Path

import numpy as np

from arena.dataset import Dataset
from methods import axial, environments
from methods.avici import probabilities
from methods.call import SCRIPTS, call

_TOLERANCE = 1e-4


@dataclasses.dataclass(frozen=True)
class _Given(environments.Environment):
    """An environment that somebody else made."""

    given: Path = Path()

    def require(self) -> Path:
        return self.given


def parameters(architecture: axial.Architecture, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Random parameters of the published layout; every one matters, and probabilities are spread over (0, 1)."""
    found = {}
    for name, shape in architecture.layout().items():
        kind = name.rpartition("/")[2]
        centre = {"scale": 1.0, "learned_temp": 4.0, "final_matrix_bias": -6.0}.get(kind, 0.0)
        spread = np.sqrt(2.0 / shape[0]) if kind == "w" else 0.2
        found[name] = rng.normal(centre, spread, shape).astype(np.float32)
    return found


def table(rng: np.random.Generator, n: int, d: int, share: float) -> Dataset:
    """A table with unequal columns, in which each entry was set with probability `share`."""
    mask = rng.random((n, d)) < share
    mixed = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    values = np.where(mask, rng.normal(3.0, 0.5, (n, d)), mixed) * rng.lognormal(size=d) + rng.normal(size=d)
    return Dataset(tuple(f"x{j}" for j in range(d)), values, mask)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--python", type=Path, help="of an environment that has avici; the one of `arena env` if omitted"
    )
    parser.add_argument("--tables", type=int, default=4, help="tables that are timed")
    arguments = parser.parse_args()

    environment = _Given("avici", given=arguments.python) if arguments.python else environments.get("avici")
    rng = np.random.default_rng(0)
    architecture = axial.Architecture()
    published = parameters(architecture, rng)
    weights = axial.weights(architecture, published)
    network = {name: value for name, value in dataclasses.asdict(architecture).items() if value is not None}

    def package(tables: dict[str, Dataset], warm: bool) -> tuple[dict[str, np.ndarray], dict]:
        arrays = {f"params/{name}": array for name, array in published.items()}
        for name, dataset in tables.items():
            arrays |= {f"{name}.values": dataset.values, f"{name}.mask": dataset.mask}
        script = SCRIPTS / "avici_package.py"
        return call(environment, script, arrays, {"network": network, "warm": warm}, 0)

    small = {
        f"d = {d}, n = {n}, {kind}": table(rng, n, d, share)
        for d, n in ((5, 100), (10, 203), (30, 120))
        for kind, share in (("observational", 0.0), ("interventions", 0.05))
    }
    theirs, info = package(small, warm=False)
    same = {name: tuple(shape) for name, shape in info["layout"].items()} == architecture.layout()
    print(f"names and shapes of the package's own {len(info['layout'])} parameters: {'equal' if same else 'DIFFERENT'}")
    worst = 0.0
    for (name, dataset), found in zip(small.items(), probabilities(weights, list(small.values())), strict=True):
        difference = float(abs(found - theirs[name]).max())
        worst = max(worst, difference)
        off = found[~np.eye(dataset.d, dtype=bool)]
        print(f"{name}: largest difference {difference:.1e}, probabilities {off.min():.3f} to {off.max():.3f}")

    large = {f"large {k}": table(rng, 1000, 30, 0.0) for k in range(arguments.tables)}
    probabilities(weights, list(large.values())[:1])  # compiles
    start, cpu_start = time.perf_counter(), time.process_time()
    found = probabilities(weights, list(large.values()))
    ours = {
        "seconds": (time.perf_counter() - start) / len(large),
        "cpu_seconds": (time.process_time() - cpu_start) / len(large),
    }
    theirs, info = package(large, warm=True)
    worst = max(worst, *(float(abs(a - theirs[name]).max()) for name, a in zip(large, found, strict=True)))
    print(f"d = 30, n = 1000, {len(large)} tables: largest difference of all {worst:.1e}")
    for kind, name in (("seconds", "s"), ("cpu_seconds", "s of all cores")):
        each = float(np.mean(list(info[kind].values())))
        print(f"  a table: package {each:.2f} {name}, native {ours[kind]:.2f} {name}; ratio {each / ours[kind]:.1f}")
    return int(worst > _TOLERANCE or not same)


if __name__ == "__main__":
    sys.exit(main())
