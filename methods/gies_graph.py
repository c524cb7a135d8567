"""Interventional essential graphs as sets of bits, and the moves between them (Hauser and Bühlmann 2012, section 4)."""

from collections.abc import Iterator, Sequence

import numpy as np


def members(bits: int) -> list[int]:
    """The positions of the ones, ascending."""
    out = []
    while bits:
        low = bits & -bits
        out.append(low.bit_length() - 1)
        bits ^= low
    return out


class EssentialGraph:
    """A graph of arrows and lines that stands for all DAGs which the data cannot tell apart; empty at first.

    Sets of nodes are ints: bit j stands for node j.

    Attributes:
        d: Number of nodes.
        parents, children, lines: For each node the nodes at the other ends of its arrows and its lines.

    Args:
        d: Number of nodes.
        targets: The sets of nodes that were set together.
    """

    def __init__(self, d: int, targets: Sequence[Sequence[int]]):
        self.d = d
        self.parents, self.children, self.lines = [0] * d, [0] * d, [0] * d
        # Nodes of which one was set where the other was not: an arrow between them is known.
        self._told_apart = [0] * d
        for group in targets:
            inside = sum(1 << j for j in group)
            outside = (1 << d) - 1 & ~inside
            for j in range(d):
                self._told_apart[j] |= outside if inside >> j & 1 else inside

    @classmethod
    def of(cls, dag: np.ndarray, targets: Sequence[Sequence[int]]) -> "EssentialGraph":
        """The graph that stands for a DAG `[d, d]` and all that the data cannot tell from it."""
        graph = cls(len(dag), targets)
        for a, b in np.argwhere(dag).tolist():
            graph._set_arrow(a, b)
        graph._complete([(0, 0, 0)] * graph.d)
        return graph

    def adjacent(self, node: int) -> int:
        """All that share an edge with the node."""
        return self.parents[node] | self.children[node] | self.lines[node]

    def matrix(self) -> np.ndarray:
        """`[d, d]` int8: 1 at (i, j) alone for i -> j, at both (i, j) and (j, i) for a line."""
        out = np.zeros((self.d, self.d), np.int8)
        for i in range(self.d):
            out[i, members(self.children[i] | self.lines[i])] = 1
        return out

    def cliques(self, node: int, most: int) -> tuple[list[int], bool]:
        """The sets of nodes with a line to `node` that are joined pairwise, small ones first, the empty set first.

        Args:
            node: Whose.
            most: About how many at most. Sets of one size are taken all or not at all, so that none is preferred.

        Returns:
            The sets, and whether larger ones were left out.
        """
        around = {j: self.adjacent(j) for j in members(self.lines[node])}
        out, level = [0], [(0, self.lines[node])]  # a set, and the later nodes that could join it
        while level:
            following = []
            for clique, candidates in level:
                rest = candidates
                while rest:
                    low = rest & -rest
                    rest ^= low
                    following.append((clique | low, rest & around[low.bit_length() - 1]))
                if len(out) + len(following) > most:
                    return out, True
            out.extend(clique for clique, _ in following)
            level = following
        return out, False

    def reached(self, start: int, blocked: int, not_from_start: int = 0) -> int:
        """Nodes at the end of a path along arrows and lines that avoids the blocked ones.

        Args:
            start: Where paths begin.
            blocked: Nodes that are not entered.
            not_from_start: Nodes that are not entered straight from the start.
        """
        children, lines = self.children, self.lines
        seen, free = 1 << start, ~(blocked | 1 << start)
        new = (children[start] | lines[start]) & free & ~not_from_start
        while new:
            seen |= new
            low = new & -new
            node = low.bit_length() - 1
            free &= ~low
            new = (new | children[node] | lines[node]) & free
        return seen

    def linked(self, start: int, blocked: int = 0) -> int:
        """Nodes that lines join to any of the set `start`, without entering the blocked ones; `start` among them."""
        seen, new = start, start
        while new:
            following = 0
            for j in members(new):
                following |= self.lines[j]
            new = following & ~(blocked | seen)
            seen |= new
        return seen

    def insert(self, x: int, y: int, clique: int) -> int:
        """Add x -> y, in the DAGs where `clique` are the nodes with a line to y that become its parents.

        Returns:
            The nodes whose edges are others than before. The same holds for `delete` and `turn`.
        """
        before = self._state()
        self._direct([*members(clique), y])
        self._set_arrow(x, y)
        return self._complete(before)

    def delete(self, x: int, y: int, clique: int) -> int:
        """Remove x -> y or x - y, in the DAGs where `clique` are the parents of y among its lines (beside x)."""
        before = self._state()
        self._direct([*members(clique), *([x] if self.lines[y] >> x & 1 else []), y])
        self._remove(x, y)
        return self._complete(before)

    def turn(self, x: int, y: int, clique: int) -> int:
        """Replace y -> x or y - x by x -> y, in the DAGs where `clique` are the parents of y among its lines."""
        before = self._state()
        if self.lines[y] >> x & 1:
            self._direct([*members(clique), y, x])
        else:
            self._direct([x])
            self._direct([*members(clique), y])
        self._remove(x, y)
        self._set_arrow(x, y)
        return self._complete(before)

    def _state(self) -> list[tuple[int, int, int]]:
        return list(zip(self.parents, self.children, self.lines, strict=True))

    def _changed(self, before: list[tuple[int, int, int]]) -> int:
        return sum(1 << j for j, (old, new) in enumerate(zip(before, self._state(), strict=True)) if old != new)

    def _complete(self, before: list[tuple[int, int, int]]) -> int:
        """Make lines of the arrows that nothing protects, and say what changed since `before`."""
        touched = self._changed(before)
        while touched:
            # An arrow's protection depends on the edges of its ends and of the lines of its tail; only where
            # such an edge changed can it be lost.
            changed = 0
            for a, b in self._arrows():
                near = 1 << a | 1 << b | self.lines[a]
                if near & (touched | changed) and not self._protected(a, b):
                    self._remove(a, b)
                    self.lines[a] |= 1 << b
                    self.lines[b] |= 1 << a
                    changed |= 1 << a | 1 << b
            touched = changed
        return self._changed(before)

    def _arrows(self) -> Iterator[tuple[int, int]]:
        for a in range(self.d):
            for b in members(self.children[a]):
                yield a, b

    def _protected(self, a: int, b: int) -> bool:
        """Whether a -> b is strongly protected (Definition 14): told by a target, or by the arrows around it."""
        into = self.parents[b] & ~(1 << a)
        if (
            self._told_apart[a] >> b & 1
            or self.parents[a] & ~self.adjacent(b)
            or into & ~self.adjacent(a)
            or into & self.children[a]
        ):
            return True
        both = into & self.lines[a]
        return any(both & ~self.lines[c] & ~(1 << c) for c in members(both))

    def _direct(self, first: list[int]) -> None:
        """Direct the lines of a chain component along a perfect elimination order that begins with `first`.

        The order comes from maximum cardinality search.
        """
        start = sum(1 << j for j in first)
        nodes = first + members(self.linked(1 << first[-1]) & ~start)
        joined = np.array([[self.lines[i] >> j & 1 for j in nodes] for i in nodes])
        weight = np.zeros(len(nodes), int)
        for _ in nodes:
            place = int(weight.argmax())
            weight += joined[place]
            weight[place] = -len(nodes) - 1
            node = nodes[place]
            for j in members(self.lines[node]):
                self._remove(node, j)
                self._set_arrow(node, j)

    def _set_arrow(self, a: int, b: int) -> None:
        self.children[a] |= 1 << b
        self.parents[b] |= 1 << a

    def _remove(self, a: int, b: int) -> None:
        for i, j in ((a, b), (b, a)):
            self.parents[i] &= ~(1 << j)
            self.children[i] &= ~(1 << j)
            self.lines[i] &= ~(1 << j)
