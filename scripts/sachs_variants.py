"""Which rows and which scale the published Sachs scores are from.

    ARENA_DATA=... python scripts/sachs_variants.py

The paper's Table 17 scores PC, GIES, DirectLiNGAM and RandomRegress on Sachs without interventions. This prints what
the four methods give here on the rows without an intervention target and on all rows pooled, raw and log(x + 10), as
means over ten keys. How many edges a method predicts tells the variants apart best, for it grows with the number of
rows; the published numbers of edges follow from precision and recall. Nothing here is used for scoring.
"""

import numpy as np

from arena import real
from arena.dataset import Dataset
from arena.suites import key_of
from eval.metrics import score
from methods.fit import fit
from methods.registry import get

#: Table 17, Sachs, obs: F1, SHD, and the predicted edges that P and R imply for a truth of 20.
PUBLISHED = {
    "random_regress": (0.28, 39, 45),
    "pc": (0.32, 24, 18),
    "gies": (0.18, 37, 36),
    "lingam": (0.30, 18, 7),
}
KEYS = 10


def main():
    table = real.load("sachs").load("obs_int", 0)
    untouched = ~table.mask.any(axis=1)
    print(f"{'':36}" + "".join(f"{name:>22}" for name in PUBLISHED))
    print(f"{'':36}" + "".join(f"{'F1    SHD  edges':>22}" for _ in PUBLISHED))
    for scale, change in (("raw", lambda x: x), ("log(x + 10)", lambda x: np.log(x + 10.0))):
        for which, rows in (("no target", untouched), ("all, pooled", np.ones(table.n, bool))):
            data = Dataset(table.names, change(table.values[rows]), adjacency=table.adjacency, name="sachs")
            line(f"{scale}, {which} ({data.n} rows)", [means(data, name) for name in PUBLISHED])
            cut = [means(data, name, threshold=0.3) if name == "lingam" else None for name in PUBLISHED]
            line("  DirectLiNGAM cut at |b| > 0.3", cut)
    line("published (Table 17)", list(PUBLISHED.values()))


def means(data: Dataset, name: str, threshold: float | None = None) -> tuple[float, float, float]:
    """F1, SHD and number of predicted edges, as means over keys."""
    found = []
    for k in range(KEYS):
        outcome = fit(get(name), data, key_of("sachs", name, k))
        assert outcome.estimate is not None, outcome.reason
        graph = outcome.estimate.adjacency
        if threshold is not None:
            assert outcome.estimate.scores is not None
            graph = (outcome.estimate.scores > threshold).astype(np.int8)
        scores = score(data.truth, graph)
        found.append((float(scores["f1"]), float(scores["shd"]), float(graph.sum())))
    f1, shd, edges = np.mean(found, axis=0)
    return f1, shd, edges


def line(title: str, cells):
    text = [f"{c[0]:.2f}  {c[1]:5.1f}  {c[2]:5.1f}" if c else "" for c in cells]
    print(f"{title:36}" + "".join(f"{cell:>22}" for cell in text))


if __name__ == "__main__":
    main()
