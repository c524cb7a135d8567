"""Which stressors each SCM of the synthetic grid has (paper A.1, Difficulty variants: Schedule)."""

from collections.abc import Iterator, Sequence

#: In the order in which they act: on the mechanisms, on the interventions, on what is measured.
STRESSORS = (
    "weak_signal",
    "high_noise",
    "soft_interventions",
    "distribution_shift",
    "feature_warping",
    "outliers",
    "feature_corruption",
    "missingness",
)
#: Dimensions of the grid, by which its blocks are counted.
N_DIMENSIONS = 5
#: Of every four SCMs of a block: a baseline, two with one stressor, one with two. SCMs of a block, in the paper's grid.
CYCLE, PER_BLOCK = 4, 20
#: What the structural signal is multiplied by, and the SD of the second noise (paper A.1, Signal and noise stressors).
WEAK_SIGNAL, HIGH_NOISE = 0.45, 0.35


def _rounds(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Every pair once, in rounds in which every name occurs once: a round-robin tournament."""
    half = len(names) // 2
    ring = [*names[1:]]
    for _ in names[1:]:
        table = [names[0], *ring]
        for a, b in zip(table[:half], reversed(table[half:]), strict=True):
            yield (a, b) if names.index(a) < names.index(b) else (b, a)
        ring = [*ring[1:], ring[0]]


#: All 28 pairs; any four in a row that start a round are all eight stressors.
PAIRS = tuple(_rounds(STRESSORS))


def stressors_of(graph_index: int, d_index: int, index: int) -> tuple[str, ...]:
    """The stressors of one SCM, in the order in which they act; none for a baseline.

    Singles and pairs are each counted through the whole grid, block by block, and taken in turn. So a block of 20 has
    all eight singles (two of them twice), and over the 10 x 5 x 20 grid each single occurs 62 or 63 times and each of
    the 28 pairs 8 or 9 times.

    Args:
        graph_index: Number of the graph family in the grid.
        d_index: Number of the dimension in the grid, below `N_DIMENSIONS`.
        index: Number of the SCM in its block.
    """
    block = graph_index * N_DIMENSIONS + d_index
    cycle, case = block * (PER_BLOCK // CYCLE) + index // CYCLE, index % CYCLE
    if case == 0:
        return ()
    if case == CYCLE - 1:
        return PAIRS[cycle % len(PAIRS)]
    return (STRESSORS[(2 * cycle + case - 1) % len(STRESSORS)],)
