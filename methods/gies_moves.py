"""The moves of GIES: which there are around a graph, what they gain, and which are valid (Hauser and Bühlmann 2012)."""

import abc
import dataclasses

import numpy as np

from methods.gies_graph import EssentialGraph, members
from methods.gies_score import Score


@dataclasses.dataclass(frozen=True)
class Neighbourhood:
    """What all moves of an edge into one node y depend on.

    Row r stands for y with its parents and the r-th clique among its lines.

    Attributes:
        cliques: The k cliques; the first is empty.
        gains: `[k, d]`, what y gains when x becomes a parent, or, if it is one, no longer is.
        holds: `[k, d]`, whether x is in the clique.
        covers: `[k, d]`, whether the clique holds all lines of y that are adjacent to x.
        inside: `[k, d]`, whether all of the clique are adjacent to x.
    """

    cliques: list[int]
    gains: np.ndarray
    holds: np.ndarray
    covers: np.ndarray
    inside: np.ndarray


class Around:
    """A graph, the score, and the neighbourhoods of all nodes, kept until the graph changes there.

    Attributes:
        truncated: How often the cliques among the lines of a node were more than `max_subsets`, so that the
            largest were not tried.
    """

    def __init__(self, score: Score, graph: EssentialGraph, max_subsets: int):
        self.score, self.graph, self.max_subsets = score, graph, max_subsets
        self.truncated = 0
        self._kept: list[Neighbourhood | None] = [None] * graph.d

    def __getitem__(self, y: int) -> Neighbourhood:
        found = self._kept[y]
        if found is None:
            found = self._kept[y] = self._look(y)
        return found

    def forget(self, changed: int) -> None:
        """Forget the neighbourhoods in which edges of the `changed` nodes take part."""
        for y, lines in enumerate(self.graph.lines):
            if (lines | 1 << y) & changed:
                self._kept[y] = None

    def _look(self, y: int) -> Neighbourhood:
        graph = self.graph
        cliques, more = graph.cliques(y, self.max_subsets)
        self.truncated += more
        gains = np.stack([self.score.changes(y, members(graph.parents[y] | clique)) for clique in cliques])
        holds = self.flags(*cliques)
        lines = members(graph.lines[y])
        joined = self.flags(*(graph.adjacent(z) for z in lines))
        covers = ~(~holds[:, lines] @ joined)
        inside = ~(holds[:, lines] @ ~joined)
        return Neighbourhood(cliques, gains, holds, covers, inside)

    def flags(self, *sets: int) -> np.ndarray:
        """`[len(sets), d]` bool: which nodes are in the sets."""
        width = (self.graph.d + 7) // 8
        packed = b"".join(bits.to_bytes(width, "little") for bits in sets)
        rows = np.frombuffer(packed, np.uint8).reshape(len(sets), width)
        return np.unpackbits(rows, axis=1, count=self.graph.d, bitorder="little").view(bool)


class Moves(abc.ABC):
    """All moves of one kind: x -> y is inserted, deleted or turned, where a clique of lines of y become its parents.

    Attributes:
        gains: For each y the gains `[k, d]` by clique and x; -inf where that is no move.
        best: `[d]`, the largest of each.
    """

    def __init__(self, around: Around):
        self.around, self.graph = around, around.graph
        d = self.graph.d
        self.gains = [self._gains(y, around[y]) for y in range(d)]
        self.best = np.array([gains.max() for gains in self.gains])

    def make(self, x: int, y: int, row: int) -> None:
        """Change the graph, and what is known around the nodes that this concerns."""
        changed = self._apply(x, y, self.around[y].cliques[row])
        self.around.forget(changed)
        for node in range(self.graph.d):
            if (1 << node | self.graph.lines[node] | self.graph.children[node]) & changed:
                self.gains[node] = self._gains(node, self.around[node])
                self.best[node] = self.gains[node].max()

    @abc.abstractmethod
    def invalid(self, x: int, y: int, row: int) -> np.ndarray:
        """`[d]` bool: the moves of this y and clique that are seen to be invalid while (x, y) is looked at."""

    @abc.abstractmethod
    def _gains(self, y: int, near: Neighbourhood) -> np.ndarray: ...

    @abc.abstractmethod
    def _apply(self, x: int, y: int, clique: int) -> int: ...


class Insertions(Moves):
    """Insert x -> y: the clique holds all lines of y that are adjacent to x, and blocks all ways from y to x."""

    def _gains(self, y: int, near: Neighbourhood) -> np.ndarray:
        apart = ~self.around.flags(self.graph.adjacent(y) | 1 << y)
        return np.where(near.covers & apart, near.gains, -np.inf)

    def invalid(self, x: int, y: int, row: int) -> np.ndarray:
        return self.around.flags(self.graph.reached(y, self.around[y].cliques[row]))[0]

    def _apply(self, x: int, y: int, clique: int) -> int:
        return self.graph.insert(x, y, clique)


class Deletions(Moves):
    """Delete x -> y or x - y: all of the clique are adjacent to x; always valid."""

    def _gains(self, y: int, near: Neighbourhood) -> np.ndarray:
        parents, lines = self.around.flags(self.graph.parents[y], self.graph.lines[y])
        gains = np.where(parents, near.gains, np.where(lines, -near.gains, -np.inf))
        return np.where(near.inside, gains, -np.inf)

    def invalid(self, x: int, y: int, row: int) -> np.ndarray:
        return np.zeros(self.graph.d, bool)

    def _apply(self, x: int, y: int, clique: int) -> int:
        return self.graph.delete(x, y, clique)


class Turns(Moves):
    """Turn y -> x or x - y into x -> y.

    Of y -> x: the clique holds all lines of y that are adjacent to x; it and the lines of x block all other ways
    from y to x. Of x - y: some of the clique is not adjacent to x, and x and y part it from all other lines of
    y that are adjacent to x.
    """

    def _gains(self, y: int, near: Neighbourhood) -> np.ndarray:
        gains = np.full(near.gains.shape, -np.inf)
        for x in members(self.graph.children[y]):
            lost = self.around[x].gains[0, y]
            gains[:, x] = np.where(near.covers[:, x], near.gains[:, x] + lost, -np.inf)
        for x in members(self.graph.lines[y]):
            adjacent, parents = self.graph.adjacent(x), self.graph.parents[x]
            for row in np.flatnonzero(~near.inside[:, x] & ~near.holds[:, x]):
                shared = members(parents | near.cliques[row] & adjacent)
                gains[row, x] = near.gains[row, x] - self.around.score.changes(x, shared)[y]
        return gains

    def invalid(self, x: int, y: int, row: int) -> np.ndarray:
        graph, clique = self.graph, self.around[y].cliques[row]
        if graph.children[y] >> x & 1:
            ways = graph.reached(y, clique | graph.lines[x], not_from_start=1 << x) >> x & 1
        else:
            others = graph.lines[y] & graph.adjacent(x) & ~clique
            ways = graph.linked(clique, blocked=1 << x | 1 << y) & others
        out = np.zeros(graph.d, bool)
        out[x] = bool(ways)
        return out

    def _apply(self, x: int, y: int, clique: int) -> int:
        return self.graph.turn(x, y, clique)
