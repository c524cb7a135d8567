"""Every ready method in one run, and each in a run of its own: no method may change what another one says.

    python scripts/check_together.py [--limit 2] [--timeout 300] [--jobs 1] [--out runs/together]

On a part of the mini suite, one worker process a method and table in a row. Prints status, F1, seconds, and whether the
answer is the one given alone; exits with 1 if one is not.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

import arena
from methods.base import Status
from methods.registry import describe


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=300.0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("runs/together"))
    parser.add_argument("--methods", help="comma-separated; all that are ready when omitted")
    args = parser.parse_args()

    ready = [row["name"] for row in describe() if row["status"] == "ready"]
    names = args.methods.split(",") if args.methods else ready
    options = {"select": arena.Selection(limit=args.limit, replicates=1), "timeout": args.timeout, "jobs": args.jobs}
    together = arena.run("mini", names, out=args.out / "together", **options)
    rows, differ = together.rows(), []
    print("| method | split | completed | F1 | seconds | same as alone |\n|---|---|---|---|---|---|")
    for name in names:
        alone = arena.run("mini", [name], out=args.out / name, **options)
        of_both = rows[rows.method == name].merge(alone.rows(), on=["scenario", "split", "replicate"])
        same = (of_both.status_x == of_both.status_y).tolist()
        for k, row in enumerate(of_both.to_dict("records")):
            if row["status_x"] == row["status_y"] == Status.completed.value:
                place = (row["scenario"], row["split"], row["replicate"], name)
                answers = [run.estimate(*place)["adjacency"] for run in (together, alone)]
                same[k] = bool(np.array_equal(*answers))
        for split, part in of_both.assign(same=same).groupby("split"):
            done = part[part.status_x == Status.completed.value]
            if len(done):
                cells = (name, str(split), f"{len(done)} of {len(part)}", f"{done.f1_x.mean():.2f}",
                         f"{done.seconds_fit_x.mean():.2f}", "yes" if part.same.all() else "NO")  # fmt: skip
                print(f"| {' | '.join(map(str, cells))} |", flush=True)
        differ += [name] if not all(same) else []
    print(f"{len(names)} methods; {', '.join(differ) if differ else 'none'} answer otherwise in company")
    sys.exit(bool(differ))


if __name__ == "__main__":
    main()
