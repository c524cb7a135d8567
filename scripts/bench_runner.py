"""What a run costs beside the methods' own time, and how many rows a second its store takes.

    python scripts/bench_runner.py [--tables 200] [--jobs 1] [--rows 5000]

Tables of 1,000 rows and 10 to 20 variables are written as scenario directories; a method that answers at once is run on
them in isolated workers. The overhead of a row is the time between two finished rows, times the jobs, less the time of
the fit. Exits with 1 where the median is 30 ms or more, or the store takes less than 2,000 rows a second.
"""

import argparse
import dataclasses
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from arena.dataset import Dataset
from arena.files import open_scenario, write_scenario
from eval.runner import run
from eval.store import FILENAME, Store
from methods.base import Capabilities, Estimate, Method

OVERHEAD, WRITES = 0.030, 2000.0


@dataclasses.dataclass(frozen=True)
class Trivial(Method):
    """Answers a chain at once."""

    name = "trivial"
    title = "Trivial"
    capabilities = Capabilities(scores=True, output="dag")

    def fit(self, dataset, key):
        chain = np.eye(dataset.d, k=1)
        return Estimate(chain.astype(np.int8), scores=chain)


class Stacked(Trivial):
    """The same, in stacks."""

    name = "stacked"
    capabilities = dataclasses.replace(Trivial.capabilities, batched=True)


def scenarios(folder: Path, count: int):
    """Linear tables with both splits, written and opened."""
    rng = np.random.default_rng(0)
    for number in range(count // 2):
        d = int(rng.integers(10, 21))
        graph = np.triu(rng.random((d, d)) < 0.3, 1)
        names = tuple(f"x{j}" for j in range(d))
        tables = {}
        for split in ("obs", "obs_int"):
            values, mask = np.zeros((1000, d), np.float32), np.zeros((1000, d), bool)
            mask[800:, 0] = split == "obs_int"
            for j in range(d):
                values[:, j] = values @ graph[:, j] + rng.normal(size=1000)
            tables[split] = Dataset(names, values, mask, graph, split=split)
        yield open_scenario(write_scenario(
            folder / f"t{number}", id=f"bench/t{number}", family="synthetic", factors={"dimension": d},
            adjacency=graph.astype(np.int8), names=names, spec_json=None, replicates=[tables], provenance={},
        ))  # fmt: skip


def overhead(found, out: Path, methods, jobs: int) -> np.ndarray:
    """Seconds of every row beside its fit, first to last."""
    times, fits = [], []

    def note(event):
        times.append(time.perf_counter())
        if event.row is not None:
            fits.append(event.row["seconds_fit"])

    run(found, methods, out=out, jobs=jobs, progress=note)
    return np.diff(times) * jobs - np.array(fits)


def writes(path: Path, rows: int) -> float:
    """Rows a second that the store commits one by one, each with the arrays of 20 variables."""
    rng = np.random.default_rng(0)
    graph = (rng.random((20, 20)) < 0.2).astype(np.int8)
    arrays = {"truth": graph, "adjacency": graph, "native": None, "scores": rng.random((20, 20))}
    row = {
        "split": "obs", "replicate": 0, "method": "m", "family": "synthetic", "control": 0, "status": "completed",
        "reason": "", "detail": "", "n": 1000, "d": 20, "edges": 40, "f1": 0.5, "shd": 12.0, "seed": 7,
        "data_hash": "0" * 64, "settings": "{}", "factors": '{"dimension": 20, "mechanisms": ["rff_gp"]}',
        "versions": '{"causal-arena": "0.1.0"}', "started": "2026-01-01", "finished": "2026-01-01",
    }  # fmt: skip
    with Store(path / FILENAME, write=True) as store:
        began = time.perf_counter()
        for number in range(rows):
            store.add({**row, "scenario": f"bench/{number}"}, arrays, {"preflight": {"constant": []}})
        seconds = time.perf_counter() - began
        assert len(store.finished()) == rows
    return rows / seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--rows", type=int, default=5000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        found = list(scenarios(base / "tables", given.tables))
        medians = {}
        for label, methods in {
            "one method": [Trivial()],
            "the same in stacks of 16": [Stacked()],
            "four methods": {f"m{i}": Trivial() for i in range(4)},
        }.items():
            seconds = overhead(found, base / label, methods, given.jobs)
            medians[label] = float(np.median(seconds))
            print(
                f"{label}: {len(seconds)} rows, overhead a row: median {1e3 * medians[label]:.1f} ms, "
                f"mean {1e3 * seconds.mean():.1f} ms (starts of workers and compilation included), "
                f"90 % under {1e3 * np.quantile(seconds, 0.9):.1f} ms"
            )
        (base / "store").mkdir()
        rate = writes(base / "store", given.rows)
        print(f"store: {rate:,.0f} rows a second, each committed by itself")
    return int(max(medians.values()) >= OVERHEAD or rate < WRITES)


if __name__ == "__main__":
    sys.exit(main())
