"""The pool of formula scenarios beside the paper's (A.5, Figure 18): sizes, and shares of mechanisms and noises.

    python scripts/formula_pool.py [--each]

The paper's shares of mechanisms are of edges, those of noises of variables; roots and formulas count as without noise.
"""

import argparse

import numpy as np

from arena import authored
from arena.formula import DOMAINS
from arena.formula.pool import noise_shares, process_shares

#: Paper A.5: (least, most, mean) of a scenario.
SIZES = {"variables": (16, 25, 22.68), "edges": (18, 50, 32.97), "targets": (1, 17, 5.78)}
#: Paper A.5: shares of edges and of variables, per cent.
PROCESSES = {
    "explicit_equation": 18.1, "measurement_error": 9.2, "linear_affine": 8.6, "physical_law": 7.1,
    "calibration_offset": 6.2,
}  # fmt: skip
NO_NOISE = 72.8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", action="store_true", help="also a line for each scenario")
    args = parser.parse_args()
    pool = authored.scenarios("formula")
    count = {
        "variables": [len(one.spec.nodes) for one in pool],
        "edges": [int(one.spec.adjacency.sum()) for one in pool],
        "targets": [sum(node.intervention is not None for node in one.spec.nodes) for one in pool],
    }
    print(f"{len(pool)} scenarios: " + ", ".join(f"{DOMAINS[d]} {sum(o.domain == d for o in pool)}" for d in DOMAINS))
    print("\n| of a scenario | range | mean | paper | paper's mean |\n|---|---|---|---|---|")
    for name, values in count.items():
        low, high, mean = SIZES[name]
        print(f"| {name} | {min(values)}-{max(values)} | {np.mean(values):.2f} | {low}-{high} | {mean} |")
    print("\n| edges by mechanism | % | paper | difference |\n|---|---|---|---|")
    for name, share in process_shares(pool).items():
        print(_row(name, 100 * share, PROCESSES.get(name)))
    print("\n| variables by noise | % | paper | difference |\n|---|---|---|---|")
    for name, share in noise_shares(pool).items():
        print(_row(name, 100 * share, NO_NOISE if name == "none" else None))
    if args.each:
        print("\n| scenario | domain | variables | edges | targets | core laws |\n|---|---|---|---|---|---|")
        for k, one in enumerate(pool):
            laws = ", ".join(equation.law for equation in one.spec.equations if equation.core)
            print(f"| {one.name} | {one.domain} | " + " | ".join(str(count[c][k]) for c in count) + f" | {laws} |")


def _row(name: str, share: float, paper: float | None) -> str:
    beside = f"{paper} | {share - paper:+.1f}" if paper is not None else " | "
    return f"| {name} | {share:.1f} | {beside} |"


if __name__ == "__main__":
    main()
