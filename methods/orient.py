"""From an equivalence class to one directed graph: a CPDAG's consistent extension, a PAG's liberal reading.

Undirected edges say that both directions explain the data equally well, so the choice between them must not
come from the order of the columns: everything here draws from the key.
"""

import jax
import networkx as nx
import numpy as np

from methods.base import ARROW, generator


def directed(pdag: np.ndarray) -> np.ndarray:
    """The directed edges of a PDAG: `[d, d]` bool, true at (i, j) for i -> j."""
    edges = np.asarray(pdag) != 0
    return edges & ~edges.T


def undirected(pdag: np.ndarray) -> np.ndarray:
    """The undirected edges of a PDAG: `[d, d]` bool, symmetric."""
    edges = np.asarray(pdag) != 0
    return edges & edges.T


def is_acyclic(adjacency: np.ndarray) -> bool:
    """Whether a `[d, d]` graph has no directed cycle; an undirected edge counts as a cycle of two."""
    remaining = np.asarray(adjacency) != 0
    while len(remaining):
        keep = remaining.any(axis=0)  # a node without parents cannot lie on a cycle
        if keep.all():
            return False
        remaining = remaining[np.ix_(keep, keep)]
    return True


def extension(pdag: np.ndarray, key: jax.Array) -> tuple[np.ndarray, str]:
    """One DAG of the class that a CPDAG or an interventional CPDAG stands for.

    The algorithm of Dor and Tarsi (1992): take a node that can be a sink without a new collider, direct its
    undirected edges into it, remove it, repeat. Which node is taken is drawn from the key, so that every
    member of the class can come out, though not with equal probability.

    Estimated graphs may have no consistent extension. What is then left when no node can be a sink is
    directed along a random order of its nodes that respects its directed edges: this may add a collider, but
    no cycle that the directed edges do not have already.

    Args:
        pdag: `[d, d]`, non-zero at (i, j) alone for i -> j, at both (i, j) and (j, i) for an undirected edge.
        key: A typed JAX key.

    Returns:
        The DAG, `[d, d]` int8, with the skeleton and the directed edges of `pdag`; and how it was found,
        `consistent extension` or `random order`.
    """
    rng = generator(key)
    arrows, lines = directed(pdag), undirected(pdag)
    adjacent = arrows | arrows.T | lines
    dag = arrows.copy()
    left = np.ones(len(dag), bool)
    while left.any():
        candidates = rng.permutation(np.flatnonzero(left)).tolist()
        sink = next((node for node in candidates if _can_be_sink(node, arrows, lines, adjacent, left)), None)
        if sink is None:
            order = _random_order(arrows, candidates)
            before = np.zeros_like(lines)
            for place, node in enumerate(order):
                before[node, order[place + 1 :]] = True
            return (dag | (lines & before)).astype(np.int8), "random order"
        dag[:, sink] |= lines[:, sink] & left
        left[sink] = False
    return dag.astype(np.int8), "consistent extension"


def from_pag(marks: np.ndarray, key: jax.Array) -> tuple[np.ndarray, str]:
    """A PAG as one directed graph, read liberally: an edge is directed wherever its marks lean one way.

    i --> j, i o-> j and i --o j become i -> j. i o-o j and i --- j lean neither way and are oriented by
    `extension`, with those as the directed edges. i <-> j says that neither causes the other, and becomes no edge.

    Args:
        marks: `[d, d]`, `marks[i, j]` the mark at j of the edge between i and j: `CIRCLE`, `ARROW`, `TAIL` or 0.
        key: A typed JAX key.

    Returns:
        The graph, `[d, d]` int8, which has a directed cycle only where the directed edges of the PAG have one; and
        how the edges that lean neither way were oriented, as `extension` says it.
    """
    marks = np.asarray(marks)
    # The strength of a mark as a sign that the edge points to where it stands.
    lean = np.array([0, 1, 2, 0])[marks]
    even = (marks != 0) & (lean == lean.T) & (marks != ARROW)
    return extension((lean > lean.T) | even, key)


def _can_be_sink(node: int, arrows: np.ndarray, lines: np.ndarray, adjacent: np.ndarray, left: np.ndarray) -> bool:
    """Whether directing the lines of `node` into it adds neither a cycle nor a collider among those left."""
    if (arrows[node] & left).any():
        return False
    around = np.flatnonzero(adjacent[node] & left)
    neighbours = np.flatnonzero(lines[node] & left)
    joined = adjacent[np.ix_(neighbours, around)] | (neighbours[:, None] == around[None, :])
    return bool(joined.all())


def _random_order(arrows: np.ndarray, shuffled: list[int]) -> list[int]:
    """The nodes in an order along the arrows among them; nodes on a common cycle stand together.

    Where the arrows leave a choice the place in `shuffled` decides.
    """
    place = {node: position for position, node in enumerate(shuffled)}
    graph = nx.DiGraph()
    graph.add_nodes_from(place)
    graph.add_edges_from((i, j) for i in place for j in place if arrows[i, j])
    cycles = nx.condensation(graph)
    members = {c: sorted(cycles.nodes[c]["members"], key=place.__getitem__) for c in cycles}
    sort = nx.lexicographical_topological_sort(cycles, key=lambda c: place[members[c][0]])
    return [node for c in sort for node in members[c]]
