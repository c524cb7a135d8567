"""Our GIES beside the package gies: the same answers, how much faster at d = 20, and how long d = 100 takes.

    OMP_NUM_THREADS=1 python scripts/bench_gies.py [--reference 10] [--tables 20]

The tables are of the main suite: 800 observational rows and 200 in which targets were set, all graph families in turn,
any mechanism and noise. Both methods get the same standardised table, and their times are of the search alone. With
`--reference 0` the package is not run.
"""

import argparse
import time
from collections.abc import Iterator

import numpy as np

from arena import suites
from arena.dataset import Dataset
from arena.drawing import draw
from arena.protocols import PROTOCOLS
from methods.gies import GIES, environments
from methods.gies_search import search
from methods.preflight import preflight


def tables(d: int, count: int, seed: int) -> Iterator[tuple[str, Dataset]]:
    """Name and ready table of `count` scenarios of the main suite with d variables, over all graph families."""
    of_size = sorted((cell for cell in suites.grid("main") if cell.d == d), key=lambda cell: (cell.index, cell.graph))
    members = suites.accepted(of_size[:count], seed)
    drawn = draw(members, 1, PROTOCOLS["default_resampling"], seed, suites.MAIN.frame)
    for member, tables in zip(members, drawn, strict=True):
        ready = preflight(tables.replicates[0]["obs_int"], distinct_columns=True).dataset
        assert ready is not None
        yield member.id.split("/")[-1], ready


def compare(d: int, count: int, seed: int) -> None:
    """The package and ours on the same tables."""
    import gies

    print(f"\nd = {d}, beside the package gies\n{'table':<34}{'gies':>9}{'ours':>9}{'ratio':>8}  same graph, score")
    times = []
    for name, table in tables(d, count, seed):
        data, targets = environments(table)
        start = time.perf_counter()
        essential, score = gies.fit_bic(data, targets)
        middle = time.perf_counter()
        found = search(data, targets, GIES.max_subsets)
        end = time.perf_counter()
        theirs, ours = middle - start, end - middle
        times.append((theirs, ours))
        graph, close = bool(np.array_equal(essential != 0, found.essential)), bool(np.isclose(score, found.score, 1e-8))
        print(f"{name:<34}{theirs:8.2f}s{ours:8.3f}s{theirs / ours:7.0f}x  {graph}, {close}", flush=True)
    theirs, ours = np.array(times).T
    print(f"ratio of all: {theirs.sum() / ours.sum():.0f}, least: {(theirs / ours).min():.0f}")


def measure(d: int, count: int, seed: int) -> None:
    """Ours alone."""
    print(f"\nd = {d}, ours\n{'table':<34}{'seconds':>9}{'moves':>7}{'edges':>7}  ridge, truncated")
    times = []
    for name, table in tables(d, count, seed):
        start = time.perf_counter()
        found = search(*environments(table), GIES.max_subsets)
        times.append(time.perf_counter() - start)
        edges = int(np.triu(found.essential | found.essential.T).sum())
        print(f"{name:<34}{times[-1]:8.2f}s{found.moves:7d}{edges:7d}  "
              f"{found.ridge:g}, {found.truncated}", flush=True)  # fmt: skip
    print(f"{count} tables: median {np.median(times):.2f} s, longest {max(times):.2f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reference-d", type=int, default=20, help="variables where the package runs too")
    parser.add_argument("--reference", type=int, default=10, help="how many tables of that size")
    parser.add_argument("--d", type=int, default=100, help="variables where only ours runs")
    parser.add_argument("--tables", type=int, default=20, help="how many tables of that size")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.reference:
        compare(args.reference_d, args.reference, args.seed)
    if args.tables:
        measure(args.d, args.tables, args.seed)


if __name__ == "__main__":
    main()
