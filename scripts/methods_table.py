"""Every registered method that is ready here, on 10 tables of 10 variables and 2 of 30 of the main suite, as Markdown.

    python scripts/methods_table.py [--methods das,cdis] [--small 10] [--large 2] [--timeout 600] [--out runs/methods]

Both splits where a method takes them; the tables are the same for a seed. A run that was stopped goes on with the same
`--out`. Printed are, per number of variables and split, the means of F1, SHD and seconds of a fit over the tables with
an answer, and how many have none and why.
"""

import argparse
import itertools
from pathlib import Path
from typing import Any

import pandas as pd

import arena
from arena import suites
from arena.scenario import Scenario
from eval import runner
from eval.launch import scenarios
from methods.base import Status
from methods.needs import missing
from methods.registry import get, names

SUITE = "main"


def tables(folder: Path, d: int, count: int, seed: int) -> list[Scenario]:
    """`count` scenarios of the suite with `d` variables: the first in the suite's own fair order."""
    if not count:
        return []
    for limit in itertools.count(count):
        select = arena.Selection(("synthetic",), max_d=d, limit=limit, replicates=1, seed=seed)
        chosen = [cell.id for cell in suites.cells(SUITE, select) if cell.d == d]
        if len(chosen) == count:
            return [scenario for scenario in scenarios(SUITE, folder, select) if scenario.id in chosen]
    raise AssertionError


def ready(wanted: list[str]) -> dict[str, str]:
    """The methods to run, name -> why not (empty if it can)."""
    return {name: missing(get(name).capabilities) for name in wanted or names()}


def summary(rows: pd.DataFrame) -> str:
    """The Markdown tables."""
    lines = []
    for where, part in rows.groupby(["d", "split"]):
        d, split = where if isinstance(where, tuple) else (where, "")
        lines += [f"\n### d = {d}, {split}\n", "| method | F1 | SHD | seconds | slowest | answers | without |"]
        lines += ["|---|---:|---:|---:|---:|---:|---|"]
        methods = {str(name): group for name, group in part.groupby("method")}
        for name in sorted(methods, key=lambda name: (methods[name]["control"].max(), -methods[name]["f1"].mean())):
            group: Any = methods[name]  # pandas' own types know too little of its groups
            done = group[group["status"] == Status.completed]
            lost = group[group["status"] != Status.completed]
            why = "; ".join(f"{len(few)} {status}: {few['reason'].iloc[0]}" for status, few in lost.groupby("status"))
            floor = " (floor)" if group["control"].any() else ""
            scores = f"{done['f1'].mean():.3f} | {done['shd'].mean():.1f}" if len(done) else "- | -"
            seconds = f"{done['seconds_fit'].mean():.2f} | {done['seconds_fit'].max():.2f}" if len(done) else "- | -"
            lines.append(f"| {name}{floor} | {scores} | {seconds} | {len(done)} | {why} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default="", help="names, separated by commas; all that are ready if omitted")
    parser.add_argument("--small", type=int, default=10, help="tables with 10 variables")
    parser.add_argument("--large", type=int, default=2, help="tables with 30 variables")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds of one fit")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("runs/methods"))
    options = parser.parse_args()

    found = ready([name for name in options.methods.split(",") if name])
    for name, absent in found.items():
        if absent:
            print(f"left out: {name} ({absent})")
    data = options.out / "data"
    chosen = tables(data, 10, options.small, options.seed) + tables(data, 30, options.large, options.seed)
    frames = []
    # Each split with the methods that take it: what a method does not take is no failure here.
    for split in ("obs", "obs_int"):
        able = [name for name, absent in found.items() if not absent and split in get(name).capabilities.splits]
        if able and chosen:
            limits = {"timeout": options.timeout, "jobs": options.jobs, "seed": options.seed}
            run = runner.run(chosen, able, out=options.out / split, splits=split, replicates=1, **limits)
            frames.append(run.rows())
    print(summary(pd.concat(frames)))


if __name__ == "__main__":
    main()
