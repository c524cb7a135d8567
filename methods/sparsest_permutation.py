"""Search over permutations for the sparsest DAG that explains the (in)dependences, and the interventions on top.

Greedy sparsest permutation (Solus, Wang and Uhler 2021) and its interventional form (Wang et al. 2017; Yang, Katcoff
and Uhler 2018). A DAG is a tuple of parent sets, one a variable, and sets are bit masks.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from methods.gauss_tests import Independence, Invariance, mask_of
from methods.gies_graph import members

Parents = tuple[int, ...]
# Conditioning sets of the invariance tests that several targets at once call for are at most so large. All subsets of
# the neighbours would be exponentially many.
_LARGEST_SET = 2


@dataclasses.dataclass(frozen=True)
class Interventions:
    """What was set where, and the tests that tell what it moved.

    Attributes:
        targets: The targets of each table as a bit mask; 0 for the first, which is observational.
        invariance: Tests of each table against the first.
    """

    targets: tuple[int, ...]
    invariance: Invariance

    def allow(self, i: int, j: int) -> bool:
        """Whether i -> j may be reversed: not where setting i alone moved j."""
        return all(
            self.invariance.same(table, j) is not False
            for table, targets in enumerate(self.targets)
            if table and targets == 1 << i
        )

    def contradict(self, i: int, j: int, dag: Parents) -> bool:
        """Whether i -> j contradicts the interventions (Yang et al. 2018).

        So it does if some set of neighbours of j makes j the same in all tables where i was set and j was not; or if
        in a table where j was set and i was not, i differs whatever set of its neighbours is given. Where each table
        has one target only, the empty set says all: setting i did not move j, or setting j moved i.
        """
        of_i = [t for t, targets in enumerate(self.targets) if targets >> i & 1 and not targets >> j & 1]
        of_j = [t for t, targets in enumerate(self.targets) if targets >> j & 1 and not targets >> i & 1]
        same = self.invariance.same
        if of_i and any(all(same(t, j, given) is True for t in of_i) for given in self._sets(j, i, dag)):
            return True
        return any(all(same(t, i, given) is False for given in self._sets(i, j, dag)) for t in of_j)

    def _sets(self, node: int, other: int, dag: Parents) -> Iterator[tuple[int, ...]]:
        """Sets of neighbours of `node` without `other`."""
        yield ()
        if all(targets.bit_count() <= 1 for targets in self.targets):
            return
        children = mask_of(j for j, parents in enumerate(dag) if parents >> node & 1)
        around = members((dag[node] | children) & ~(1 << other))
        for size in range(1, _LARGEST_SET + 1):
            yield from itertools.combinations(around, size)


@dataclasses.dataclass(frozen=True)
class Search:
    """The search from one starting order.

    Attributes:
        independence: The conditional independence tests.
        interventions: What was set, or None.
        depth: Most reversals between one DAG and the next better one.
        rng: Decides among moves that are equally good.
    """

    independence: Independence
    interventions: Interventions | None
    depth: int
    rng: np.random.Generator

    def start(self, order: Sequence[int]) -> Parents:
        """The sparsest DAG along an order: of its predecessors a variable keeps those that it needs."""
        parents, before = [0] * len(order), 0
        for node in order:
            parents[node] = self.independence.needed(node, before)
            before |= 1 << node
        return tuple(parents)

    def run(self, dag: Parents) -> tuple[tuple[int, int], Parents]:
        """The best DAG that a walk from `dag` finds, with its cost: number of edges, and of those contradicting."""
        cost = self.cost(dag)
        while True:
            better = self._better(dag, cost)
            if better is None:
                return cost, dag
            cost, dag = better

    def cost(self, dag: Parents) -> tuple[int, int]:
        """Number of edges, and of those that contradict the interventions."""
        edges = sum(parents.bit_count() for parents in dag)
        known = self.interventions
        if known is None:
            return edges, 0
        pairs = ((i, j) for j, parents in enumerate(dag) for i in members(parents))
        return edges, sum(known.allow(i, j) and known.contradict(i, j, dag) for i, j in pairs)

    def _better(self, root: Parents, cost: tuple[int, int]) -> tuple[tuple[int, int], Parents] | None:
        """The first better DAG within `depth` reversals of `root`, nearest first; None if there is none.

        Only steps among DAGs with as many edges are walked, since any with fewer is better already.
        """
        seen, level = {root}, [root]
        for _ in range(self.depth):
            following = []
            for dag in level:
                moves = self._moves(dag)
                for move in self.rng.permutation(len(moves)).tolist():
                    after = moves[move]
                    if after in seen:
                        continue
                    seen.add(after)
                    found = self.cost(after)
                    if found < cost:
                        return found, after
                    following.append(after)
            level = following
        return None

    def _moves(self, dag: Parents) -> list[Parents]:
        """The DAGs that reversing one covered edge leads to, where the interventions allow it."""
        moves = []
        for j, parents in enumerate(dag):
            for i in members(parents):
                if dag[i] != parents & ~(1 << i):
                    continue  # covered means: the parents of j are i and the parents of i
                if self.interventions is not None and not self.interventions.allow(i, j):
                    continue
                after = list(dag)
                after[i] = 1 << j | self.independence.needed(i, dag[i] | 1 << j)
                after[j] = self.independence.needed(j, dag[i])
                moves.append(tuple(after))
        return moves


def starting_order(independence: Independence, d: int, rng: np.random.Generator) -> list[int]:
    """An order that tends to be sparse: minimum degree elimination on the undirected independence graph.

    The variable with fewest neighbours comes last, its neighbours become neighbours of each other, and so on; the
    generator decides among several.
    """
    everything = (1 << d) - 1
    kept = [independence.needed(j, everything & ~(1 << j)) for j in range(d)]
    around = [kept[j] | mask_of(i for i in range(d) if kept[i] >> j & 1) for j in range(d)]
    order, left = [], list(range(d))
    while left:
        fewest = min(around[j].bit_count() for j in left)
        node = int(rng.choice([j for j in left if around[j].bit_count() == fewest]))
        for neighbour in members(around[node]):
            around[neighbour] = (around[neighbour] | around[node]) & ~(1 << neighbour | 1 << node)
        left.remove(node)
        order.append(node)
    return order[::-1]
