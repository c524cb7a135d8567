"""Build the environments from scratch, run something in each, print the seconds.

    python scripts/build_environments.py [NAME ...] [--folder FOLDER]

They are built in a folder of their own, which is deleted at the end unless it is given. Needs a package index.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np

from arena.dataset import Dataset
from methods import axial, environments
from methods.call import SCRIPTS, call
from methods.fit import fit
from methods.igsp import IGSP
from methods.sdcd import SDCD


def table() -> Dataset:
    """left -> effect <- right, with some rows in which the effect was set."""
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(2, 1000))
    effect = left + right + 0.5 * rng.normal(size=1000)
    mask = np.zeros((1000, 3), bool)
    mask[800:, 1] = True
    effect[800:] = rng.normal(size=200)
    adjacency = np.array([[0, 1, 0], [0, 0, 0], [0, 1, 0]])
    return Dataset(("left", "effect", "right"), np.stack([left, effect, right], 1), mask, adjacency)


def sdcd() -> str:
    """A tenth of the epochs of SDCD."""
    outcome = fit(SDCD(share=0.1), table(), jax.random.key(0))
    assert outcome.estimate is not None, (outcome.reason, outcome.detail)
    return f"SDCD with a tenth of the epochs found {_edges(outcome.estimate.adjacency)}"


def avici() -> str:
    """The network of AVICI on random parameters."""
    rng, architecture = np.random.default_rng(0), axial.Architecture(layers=1, dim=16, key_size=8, num_heads=2)
    arrays = {
        f"params/{name}": rng.normal(size=shape).astype(np.float32) for name, shape in architecture.layout().items()
    }
    arrays |= {"table.values": table().values, "table.mask": table().mask}
    network = {"layers": 1, "dim": 16, "key_size": 8, "num_heads": 2}
    settings = {"network": network, "warm": False}
    answers, _ = call(environments.get("avici"), SCRIPTS / "avici_package.py", arrays, settings, seed=0)
    return f"AVICI on random parameters gave probabilities of shape {answers['table'].shape}"


def igsp() -> str:
    """IGSP of the package."""
    ours, data = IGSP(), table()
    settings = {"alpha": ours.alpha, "alpha_inv": ours.alpha_inv, "depth": ours.depth, "runs": ours.runs}
    arrays = {"table.values": data.values, "table.mask": data.mask}
    answers, _ = call(environments.get("igsp"), SCRIPTS / "igsp_package.py", arrays, settings, seed=0)
    return f"IGSP found {_edges(answers['table'])}"


USES: dict[str, Callable[[], str]] = {"avici": avici, "sdcd": sdcd, "igsp": igsp}


def _edges(graph: np.ndarray) -> str:
    names = table().names
    return ", ".join(f"{names[i]} -> {names[j]}" for i, j in np.argwhere(graph)) or "no edge"


def main() -> int:
    """Build and use each; 1 if one cannot be built."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(USES))
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="arena-environments-") as temporary:
        os.environ["ARENA_ENVIRONMENTS"] = str(arguments.folder or temporary)
        for name in arguments.names:
            start = time.perf_counter()
            try:
                environments.get(name).build(print)
                built = time.perf_counter() - start
                found = USES[name]()
            except Exception as error:
                failed += 1
                print(f"{name}: {error}", *getattr(error, "__notes__", ()), sep="\n")
                continue
            print(f"{name}: built in {built:.0f} s; used in {time.perf_counter() - start - built:.1f} s: {found}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
