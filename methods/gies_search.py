"""GIES: greedy search over interventional essential graphs (Hauser and Bühlmann 2012, Algorithms 1 to 5)."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from arena.errors import MethodError
from methods.gies_graph import EssentialGraph
from methods.gies_moves import Around, Deletions, Insertions, Moves, Turns
from methods.gies_score import Score

#: A move must gain more than this; less could be rounding, and turning could then go round in circles.
LEAST_GAIN = 1e-3


@dataclasses.dataclass(frozen=True)
class Found:
    """What a search found.

    Attributes:
        essential: The interventional essential graph, `[d, d]` int8: 1 at (i, j) alone for i -> j, at both
            (i, j) and (j, i) for an undirected edge.
        score: Its score.
        moves: How many edges were inserted, deleted and turned on the way.
        ridge: As `Score.ridge`.
        truncated: As `Around.truncated`; 0 says that the search was complete.
    """

    essential: np.ndarray
    score: float
    moves: int
    ridge: float
    truncated: int


def search(tables: Sequence[np.ndarray], targets: Sequence[Sequence[int]], max_subsets: int) -> Found:
    """Insert edges while that improves the score, then delete, then turn; all again until nothing improves it.

    Args:
        tables: One `[n_e, d]` for each environment.
        targets: The target columns of each.
        max_subsets: About how many sets of neighbours of a node to try at most. Only dense graphs have more
            than a hundred.

    Raises:
        MethodError: If the search does not end, which rounding could bring about where columns are nearly
            linear functions of others.
    """
    score = Score(tables, targets)
    graph = EssentialGraph(score.d, targets)
    around = Around(score, graph, max_subsets)
    total, moves, most = score.empty, 0, 10 * score.d**2 + 100
    while True:
        before = moves
        for kind in (Insertions, Deletions, Turns):
            phase = kind(around)
            while (gain := _step(phase)) > 0:
                total, moves = total + gain, moves + 1
                if moves > most:
                    raise MethodError(
                        f"gies: no end after {most} moves; are columns nearly linear functions of others?"
                    )
        if moves == before:
            return Found(graph.matrix(), total, moves, score.ridge, around.truncated)


def _step(moves: Moves) -> float:
    """Make the best valid move; what it gained, or 0 if none gains enough.

    Gains depend on edges near a node only and are kept until those change. Whether a move is valid can depend on
    far edges and is asked anew in each step, from the best move down to the first valid one.
    """
    best = moves.best.copy()
    asked: dict[int, np.ndarray] = {}
    while best.max() > LEAST_GAIN:
        y = int(best.argmax())
        gains = asked.setdefault(y, moves.gains[y].copy())
        row, x = (int(place) for place in np.unravel_index(gains.argmax(), gains.shape))
        invalid = moves.invalid(x, y, row)
        if not invalid[x]:
            gain = float(best[y])
            moves.make(x, y, row)
            return gain
        gains[row, invalid] = -np.inf
        best[y] = gains.max()
    return 0.0
