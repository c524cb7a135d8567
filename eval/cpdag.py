"""The equivalence class of a known DAG: its CPDAG, or its essential graph under interventions."""

from typing import Any

import numpy as np


def essential_graph(dag: Any, targets: Any = None) -> np.ndarray:
    """The CPDAG of a DAG, or its essential graph under interventions.

    Directed are the v-structures, with `targets` also every edge with exactly one end in some target set, and
    what Meek's four rules derive from these; the rest is undirected. That is the essential graph of Hauser
    and Buehlmann (2012, Theorem 10) for target families that hold the empty set, so the data are taken to
    have observational rows; it is the same for perfect and general interventions (Yang et al. 2018).

    Args:
        dag: `[d, d]` adjacency of an acyclic graph, `dag[i, j] != 0` for i -> j.
        targets: `[t, d]` bool, one row a target set; None for observational data.

    Returns:
        `[d, d]` int8; (i, j) alone is i -> j, both directions set is an undirected edge.
    """
    dag = np.asarray(dag) != 0
    adjacent = dag | dag.T
    compelled = dag & _in_v_structure(dag, adjacent)
    if targets is not None:
        sets = np.unique(np.atleast_2d(np.asarray(targets, bool)), axis=0)
        for chosen in sets:
            compelled |= dag & (chosen[:, None] != chosen[None, :])
    while True:
        undirected = adjacent & ~compelled & ~compelled.T
        # The rules are sound, so whatever they orient is an edge of the DAG; only those need testing.
        new = _meek(dag & undirected, compelled, undirected, adjacent)
        if not new.any():
            return (compelled | undirected).astype(np.int8)
        compelled |= new


def _in_v_structure(dag: np.ndarray, adjacent: np.ndarray) -> np.ndarray:
    """Entry (i, j): some other parent of j is not adjacent to i."""
    apart = ~adjacent & ~np.eye(len(dag), dtype=bool)
    return apart.astype(np.float32) @ dag.astype(np.float32) > 0


def _meek(open_edges: np.ndarray, directed: np.ndarray, undirected: np.ndarray, adjacent: np.ndarray) -> np.ndarray:
    """The entries (i, j) of `open_edges` that must be i -> j by one of Meek's (1995) rules."""
    apart = ~adjacent & ~np.eye(len(adjacent), dtype=bool)
    product = lambda a, b: a.astype(np.float32) @ b.astype(np.float32) > 0  # noqa: E731
    first = product(directed.T, apart)  # k -> i, k and j apart
    second = product(directed, directed)  # i -> k -> j
    oriented = open_edges & (first | second)
    i, j = np.nonzero(open_edges & ~oriented)
    if len(i):  # one row an edge
        into = directed[:, j].T
        between = undirected[i] & into  # i - k -> j, twice, by nodes that are apart
        third = (product(between, apart) & between).any(axis=1)
        # i - k -> l -> j, k and j apart
        fourth = (product(undirected[i] & apart[:, j].T, directed) & into).any(axis=1)
        oriented[i, j] = third | fourth
    return oriented
