"""Methods on the public tables beside the paper's Table 17, and how far each larger difference depends on choices.

    ARENA_DATA=... python scripts/compare_real.py [--methods random_regress,pc,...] [--out runs/real] [--jobs 2]
        [--limit 0.15] [--draws 30]

For every cell whose F1 differs by more than the limit the same table is looked at in other ways: other keys (a class is
oriented, and a random order drawn, by the key: the range over the draws is printed), the answer transposed, weights cut
(the answers of LiNGAM), columns in their own units (methods that rest on equal noise variances), all rows instead of
those without interventions, and the reduced configuration (paper B.3).
"""

import argparse
import dataclasses
from typing import Any

import jax
import numpy as np

import arena
from arena import sources
from arena.dataset import Dataset
from eval.metrics import score
from eval.report.published import real_tables
from methods.base import Status
from methods.fit import fit
from methods.registry import get

#: Methods whose answer depends on the key.
DRAWN = ("random_regress", "pc", "gies", "cdis", "igsp")
CUTS = (0.1, 0.3, 0.5)


def f1(truth: np.ndarray, found: np.ndarray) -> float:
    return float(score(truth, found)["f1"])


def answer(name: str, dataset: Any, seed: int = 0, **settings: Any) -> np.ndarray | None:
    outcome = fit(get(name, **settings), dataset, jax.random.key(seed))
    return outcome.estimate.adjacency if outcome.status is Status.completed and outcome.estimate else None


def looked_at_otherwise(run: Any, cell: dict[str, Any], dataset: Any, draws: int, seconds: float) -> dict[str, str]:
    """Other readings of one cell: what was changed -> F1."""
    name, truth = cell["method"], dataset.truth
    kept = run.estimate(cell["scenario"], cell["split"], 0, name)
    found = {"transposed": f"{f1(truth, kept['adjacency'].T):.2f}"}
    if name == "lingam" and kept["scores"] is not None:
        for cut in CUTS:
            found[f"|weight| > {cut}"] = f"{f1(truth, (np.abs(kept['scores']) > cut) & kept['adjacency']):.2f}"
    if name in DRAWN and seconds < 5:
        values = [f1(truth, graph) for seed in range(draws) if (graph := answer(name, dataset, seed)) is not None]
        found[f"{draws} keys"] = f"{min(values):.2f}-{max(values):.2f}"
    if cell["split"] == "obs" and cell["pooled"] is not None:
        pooled = dataclasses.replace(cell["pooled"], intervention_mask=None, split="obs")
        graph = answer(name, pooled) if seconds * pooled.n / dataset.n < 10 else None
        found |= {"all rows as obs": f"{f1(truth, graph):.2f}"} if graph is not None else {}
    if get(name).capabilities.assumes == "equal_noise" and seconds < 10:
        own = Dataset(dataset.names, dataset.values - dataset.values.mean(axis=0))
        found["own units"] = f"{f1(truth, get(name).fit(own, jax.random.key(0)).adjacency):.2f}"
    if get(name).reduced and seconds < 60:
        graph = answer(name, dataset, **get(name).reduced)
        found |= {"reduced": f"{f1(truth, graph):.2f}"} if graph is not None else {}
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default="random_regress,pc,gies,igsp,cdis,lingam,das,notears,dagma")
    parser.add_argument("--out", default="runs/real")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=600.0)
    parser.add_argument("--limit", type=float, default=0.15)
    parser.add_argument("--draws", type=int, default=30)
    args = parser.parse_args()

    run = arena.run("real", args.methods.split(","), out=args.out, jobs=args.jobs, timeout=args.timeout)
    rows, cells = run.rows(), real_tables(run.rows())
    scenarios = {scenario.id: scenario for scenario in sources.scenarios("real")}
    for name, reason in sources.absent("real").items():
        print(f"absent {name}: {reason}")
    print(f"\n{len(rows[rows.status == 'completed'])} of {len(rows)} fits completed, on {rows.scenario.nunique()} sets")
    print("\n| set | split | method | F1 | paper | SHD | paper |\n|---|---|---|---:|---:|---:|---:|")
    for cell in cells:
        print(f"| {cell['scenario']} | {cell['split']} | {cell['method']} | {cell['f1']:.2f} | {cell['f1_paper']:.2f} "
              f"| {cell['shd']:.0f} | {cell['shd_paper']:.0f} |")  # fmt: skip
    gaps = np.array([cell["f1"] - cell["f1_paper"] for cell in cells])
    apart = [cell for cell, gap in zip(cells, gaps, strict=True) if abs(gap) > args.limit]
    print(f"\n{len(cells)} cells: mean difference {gaps.mean():+.3f}, mean absolute {abs(gaps).mean():.3f}; "
          f"{len(apart)} differ by more than {args.limit}\n")  # fmt: skip
    for cell in apart:
        scenario = scenarios[cell["scenario"]]
        cell["pooled"] = scenario.load("obs_int", 0) if "obs_int" in scenario.splits else None
        place = (rows.scenario == cell["scenario"]) & (rows.split == cell["split"]) & (rows.method == cell["method"])
        seconds = float(rows.loc[place, "seconds_fit"].iloc[0])
        dataset = scenario.load(cell["split"], 0)
        other = looked_at_otherwise(run, cell, dataset, args.draws, seconds)
        seen = "; ".join(f"{what} {value}" for what, value in other.items())
        where = f"{cell['scenario']} {cell['split']} {cell['method']}"
        print(f"{where}: {cell['f1']:.2f}, paper {cell['f1_paper']:.2f}; {seen}", flush=True)


if __name__ == "__main__":
    main()
