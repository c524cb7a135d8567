"""The same run locally and on a two-node Ray cluster on this host, one node killed midway: same rows, same scores.

    python scripts/check_ray.py [--suite mini] [--methods random_regress,gies,lingam] [--limit 12] [--out FOLDER]

One table of each split of the SCMs with at most 20 variables is fitted, with the floors. A third run is interrupted on
Ray and finished locally. Every column but times, and every stored answer, is compared. Exits with 1 where anything
differs.
"""

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd

from arena.selection import Selection
from eval import launch, runner
from eval.store import KEY
from methods import registry

TIMES = ["seconds_load", "seconds_fit", "seconds_score", "started", "finished"]
# A process of its own: starting nodes means forking, which one with JAX in it should not do.
NODES = """
from ray.cluster_utils import Cluster
cluster, store = Cluster(), 80 << 20
cluster.add_node(num_cpus=1, object_store_memory=store, include_dashboard=False)
second = cluster.add_node(num_cpus=1, object_store_memory=store)
print("address", cluster.address, flush=True)
input()
cluster.remove_node(second, allow_graceful=False)
input()
cluster.shutdown()
"""


class Interrupted(Exception):
    """As from a person."""


def same(first, second, what: str) -> bool:
    """Whether two runs hold the same rows and answers; prints what differs."""
    one, two = (run.rows().drop(columns=TIMES) for run in (first, second))
    try:
        pd.testing.assert_frame_equal(one, two)
    except AssertionError as error:
        print(f"{what}: rows differ\n{error}")
        return False
    answers = dict(first.estimates())
    differing = [
        key
        for key, answer in second.estimates()
        for name in ("adjacency", "native", "scores")
        if not np.array_equal(answer[name], answers[key][name])  # None equals None
    ]
    print(f"{what}: {len(one)} rows, {len(answers)} answers, {len(differing)} differ")
    return not differing and not two.duplicated(list(KEY)).any()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", default="mini")
    parser.add_argument("--methods", default="random_regress,gies,lingam")
    parser.add_argument("--limit", type=int, default=12)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    base = given.out or Path(tempfile.mkdtemp())
    methods = [*given.methods.split(","), *registry.floors()]
    found = launch.scenarios(given.suite, base / "data", Selection(max_d=20, limit=given.limit, replicates=1))
    go = lambda name, **options: runner.run(found, methods, out=base / name, replicates=1, jobs=2, **options)  # noqa: E731
    began = time.perf_counter()
    local = go("local")
    print(f"local: {time.perf_counter() - began:.1f} s")

    nodes = subprocess.Popen([sys.executable, "-c", NODES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    to_nodes, from_nodes = nodes.stdin, nodes.stdout
    assert to_nodes is not None and from_nodes is not None
    address = next(line for line in from_nodes if line.startswith("address")).split()[1]
    threading.Thread(target=from_nodes.read, daemon=True).start()
    half = len(local.rows()) // 2

    def kill(event):
        if event.done == half:
            print(f"killing a node after {half} of {event.total} rows")
            to_nodes.write("\n")
            to_nodes.flush()

    def interrupt(event):
        if event.done == half:
            raise Interrupted

    try:
        began = time.perf_counter()
        on_ray = go("ray", executor="ray", address=address, progress=kill)
        print(f"Ray, one of two nodes killed: {time.perf_counter() - began:.1f} s")
        fine = same(local, on_ray, "local and Ray")
        try:
            go("both", executor="ray", address=address, progress=interrupt)
        except Interrupted:
            print(f"interrupted on Ray after {half} rows")
        fine &= same(local, go("both"), "local, and begun on Ray and finished locally")
    finally:
        nodes.communicate("\n\n")
    return int(not fine)


if __name__ == "__main__":
    sys.exit(main())
