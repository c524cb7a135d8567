"""Methods on the formula scenarios beside the paper's formula columns (Table 2), both splits.

    python scripts/compare_formula.py [--replicates 2] [--methods random_regress,pc,gies,lingam] [--out runs/formula]

Also what interventions bring the methods that take them, scenario by scenario: the mean difference in F1 with its
standard error, and in how many scenarios it is a gain.
"""

import argparse
from typing import Any

import numpy as np

import arena
from arena import reference

SPLITS = ("obs", "obs_int")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default="random_regress,pc,gies,lingam")
    parser.add_argument("--replicates", type=int, default=2)
    parser.add_argument("--limit", type=int, help="scenarios, all if omitted")
    parser.add_argument("--out", default="runs/formula")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()

    select = arena.Selection(("formula",), limit=args.limit, replicates=args.replicates)
    run = arena.run("main", args.methods.split(","), out=args.out, select=select, jobs=args.jobs, timeout=600.0)
    board: Any = run.leaderboard(by=["family"])
    paper: Any = reference.table("main_results")
    paper = paper[paper.family == "formula"].set_index(["method", "split"])
    print(
        "| method | split | scenarios | F1 | Table 2 | difference | SHD | missing |\n|---|---|---|---|---|---|---|---|"
    )
    for name in args.methods.split(","):
        for split in SPLITS:
            ours = board[(board.method == name) & (board.split == split)]
            published = (reference.METHODS[name], split)
            if ours.empty or not ours["n"].iloc[0]:
                continue
            row, beside = ours.iloc[0], ""
            if published in paper.index:
                mean = paper.loc[published, "f1_mean"]
                beside = f"{mean:.2f} | {row['f1'] - mean:+.3f}"
            print(f"| {name} | {split} | {row['n']:.0f} | {row['f1']:.3f} | {beside or ' | '} | {row['shd']:.1f} |"
                  f" {row['missing']:.0f} |")  # fmt: skip
    rows: Any = run.rows()
    scores = rows[rows.status == "completed"].groupby(["method", "scenario", "split"])["f1"].mean().unstack("split")
    for name in args.methods.split(","):
        if name in scores.index.get_level_values(0):
            gain = np.asarray(scores.loc[name].eval("obs_int - obs").dropna()) if "obs_int" in scores else np.array([])
            if len(gain):
                error = gain.std(ddof=1) / len(gain) ** 0.5
                print(f"{name}: interventions change F1 by {gain.mean():+.3f} +- {error:.3f}, a gain in "
                      f"{(gain > 0).sum()} of {len(gain)} scenarios, a loss in {(gain < 0).sum()}")  # fmt: skip


if __name__ == "__main__":
    main()
