"""Methods on the small half of the main suite beside what the paper prints (Table 2; Table 18 for d = 30, n = 1000).

    python scripts/compare_with_paper.py [--methods random_regress,pc,gies,lingam] [--limit 240] [--max-d 30]
        [--split obs] [--out runs/paper] [--jobs 2] [--timeout 600]

The suite is a re-creation, so equality is not the aim. Table 2 is over all dimensions up to 100, ours up to `--max-d`;
Table 18 has 100 SCMs with 30 variables, ours are those of that size among the selected.
"""

import argparse

import arena
from arena import reference


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
    failures = run.failures()
    if len(failures):
        print(failures.to_string(index=False))


if __name__ == "__main__":
    main()
