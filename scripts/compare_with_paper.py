"""Methods on the small half of the main suite beside what the paper prints (Table 2; Table 18 for d = 30, n = 1000).

    python scripts/compare_with_paper.py [--methods random_regress,pc,gies,lingam] [--limit 240] [--max-d 30]
        [--split obs] [--out runs/paper] [--jobs 2] [--timeout 600]

The suite is a re-creation, so equality is not the aim. Table 2 is over all dimensions up to 100, ours up to `--max-d`;
Table 18 has 100 SCMs with 30 variables, ours are those of that size among the selected. What follows the table shows
how far the scores of PC and LiNGAM depend on what a wrapper does with the library's answer: the same fits, read
otherwise.
"""

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np

import arena
from arena import reference


def answers(run: Any, method: str) -> Iterator[tuple[np.ndarray, dict[str, Any]]]:
    """The true graph, and what the method said, for each table that it completed."""
    rows = run.rows()
    for row in rows[(rows.method == method) & (rows.status == "completed")].to_dict("records"):
        answer = run.estimate(row["scenario"], row["split"], row["replicate"], method)
        yield answer["truth"].astype(bool), answer


def score(title: str, graphs: list[tuple[np.ndarray, np.ndarray]]) -> None:
    """Mean F1, precision, recall and edges of `(truth, found)` pairs; F1 and SHD of those with 30 variables."""
    table = []
    for truth, found in graphs:
        hits, differ = (truth & found).sum(), truth != found
        table.append((2 * hits / max(1, truth.sum() + found.sum()), hits / max(1, found.sum()), hits / truth.sum(),
                      found.sum() / truth.sum(), (differ | differ.T).sum() / 2, len(truth) == 30))  # fmt: skip
    values = np.array(table, float)
    f1, precision, recall, edges = values[:, :4].mean(axis=0)
    small = values[values[:, 5] == 1]
    print(f"  {title:<44} F1 {f1:.3f}  precision {precision:.3f}  recall {recall:.3f}  edges/true {edges:.2f}"
          + (f"  d = 30: F1 {small[:, 0].mean():.3f}  SHD {small[:, 4].mean():.1f}" if len(small) else ""))  # fmt: skip


def read_otherwise(run: Any, methods: list[str]) -> None:
    """PC with other orientations, LiNGAM with its weights cut."""
    rng = np.random.default_rng(0)

    def oriented(pairs: np.ndarray) -> np.ndarray:
        upper = np.triu(pairs, k=1)
        forward = rng.random(pairs.shape) < 0.5
        return (upper & forward) | (upper & ~forward).T

    if "pc" in methods:
        print("\npc")
        found = [(truth, answer["native"].astype(bool)) for truth, answer in answers(run, "pc")]
        score("undirected edges oriented one by one", [(t, (n & ~n.T) | oriented(n & n.T)) for t, n in found])
        score("every edge oriented at random", [(t, oriented(n | n.T)) for t, n in found])
        score("arrows reversed, the others at random", [(t, (n & ~n.T).T | oriented(n & n.T)) for t, n in found])
    if "lingam" in methods:
        print("\nlingam")
        found = [(truth, answer["scores"]) for truth, answer in answers(run, "lingam")]
        for cut in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6):
            score(f"weights above {cut}", [(t, weights > cut) for t, weights in found])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default="random_regress,pc,gies,lingam")
    parser.add_argument("--limit", type=int, default=240, help="SCMs, a fair sample of the suite")
    parser.add_argument("--max-d", type=int, default=30)
    parser.add_argument("--split", default="obs", choices=("obs", "obs_int"))
    parser.add_argument("--out", default="runs/paper")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=600.0)
    args = parser.parse_args()

    select = arena.Selection(max_d=args.max_d, limit=args.limit, replicates=1)
    run = arena.run("main", args.methods.split(","), out=args.out, select=select, splits=[args.split],
                    jobs=args.jobs, timeout=args.timeout)  # fmt: skip
    whole = run.leaderboard(by=["family"])
    whole = whole[(whole.family == "synthetic") & (whole.split == args.split)].set_index("method")
    by_d = run.leaderboard(by=["d"])
    by_d = by_d[by_d.split == args.split].set_index(["method", "d"])
    table2, table18 = reference.table("main_results"), reference.table("sample_size")
    table2 = table2[(table2.family == "synthetic") & (table2.split == args.split)].set_index("method")
    table18 = table18[table18.n == 1000].set_index("method")

    print(f"| method | n | F1, d <= {args.max_d} | Table 2 | difference | F1, d = 30 | Table 18 | difference |"
          " SHD, d = 30 | Table 18 | missing |\n|---|---|---|---|---|---|---|---|---|---|---|")  # fmt: skip
    differences = []
    for name in args.methods.split(","):
        ours, published = whole.loc[name], reference.METHODS[name]
        paper, size = table2.loc[published], table18.loc[published] if published in table18.index else None
        cells = [name, f"{ours['n']:.0f}", f"{ours['f1']:.3f}", f"{paper['f1_mean']:.2f}",
                 f"{ours['f1'] - paper['f1_mean']:+.3f}"]  # fmt: skip
        differences.append(ours["f1"] - paper["f1_mean"])
        if size is not None and (name, 30) in by_d.index:
            small = by_d.loc[(name, 30)]
            cells += [f"{small['f1']:.3f}", f"{size['f1']:.2f}", f"{small['f1'] - size['f1']:+.3f}",
                      f"{small['shd']:.1f}", f"{size['shd']:.1f}"]  # fmt: skip
        else:
            cells += ["", "", "", "", ""]
        print(f"| {' | '.join([*cells, str(ours['missing'])])} |")
    print(f"\nmean difference of F1: {sum(differences) / len(differences):+.3f}")
    print(run.leaderboard(by=["d"])[["method", "d", "n", "f1", "shd"]].round(3).to_string(index=False))
    read_otherwise(run, args.methods.split(","))
    failures = run.failures()
    if len(failures):
        print(failures.to_string(index=False))


if __name__ == "__main__":
    main()
