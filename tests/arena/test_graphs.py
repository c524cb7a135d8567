"""Graph families: filters, densities, and that each is what its name says."""

import itertools
import math

import networkx as nx
import numpy as np
import pytest
from scipy.sparse.csgraph import shortest_path

from arena.dag import depth
from arena.errors import SpecError
from arena.synthetic import graphs
from arena.synthetic.graphs import draw, small_world

FAMILIES = sorted(graphs.FAMILIES)
SIZES = [10, 20, 30, 50, 100]
#: Paper A.1, Graph structure.
DENSITIES = {
    "erdos_renyi": (0.05, 0.25),
    "scale_free": (0.04, 0.22),
    "chain": (0.03, 0.16),
    "tree": (0.03, 0.16),
    "layered": (0.04, 0.20),
    "bipartite_layered": (0.04, 0.20),
    "small_world": (0.04, 0.20),
    "block_sparse_layered": (0.04, 0.20),
    "dense_local_modules": (0.06, 0.24),
    "collider_rich": (0.06, 0.24),
}
DEEP = ("chain", "tree", "small_world", "scale_free")  # paper A.2


def sampled(family, d, n=20):
    """Finished graphs, under each of the in-degree caps in turn."""
    rng, caps = np.random.default_rng(d), itertools.cycle(graphs.in_degree_caps(d))
    return [graphs.FAMILIES[family].sample(rng, d, next(caps)) for _ in range(n)]


def candidates(family, d, n=20):
    """Graphs in causal order, before caps and filters, their densities spread over the family's range."""
    rng, member = np.random.default_rng(d), graphs.FAMILIES[family]
    return [member.candidate(rng, d, density) for density in np.linspace(*member.density_range(d), n)]


def like(found):
    """Erdos-Renyi graphs with as many edges as these."""
    rng = np.random.default_rng(7)
    return [draw.weighted_edges(rng, np.ones(graph.shape), int(graph.sum())) for graph in found]


def joined(graph):
    return (graph + graph.T > 0).astype(int)


def colliders(graph):
    """Pairs of parents that are not joined."""
    shared = graph.astype(int) @ graph.astype(int).T
    return np.triu(shared * (joined(graph) == 0), k=1).sum()


def clustering(graph):
    """Share of the undirected paths of two edges that are closed."""
    skeleton = joined(graph)
    degree = skeleton.sum(0)
    return np.trace(np.linalg.matrix_power(skeleton, 3)) / max(1, (degree * (degree - 1)).sum())


def distance(graph):
    """Mean number of edges between two nodes of the skeleton, where there is a path."""
    steps = shortest_path(joined(graph), unweighted=True)
    return steps[np.isfinite(steps) & (steps > 0)].mean()


def mean(statistic, found):
    return np.mean([statistic(graph) for graph in found])


# All families.


def test_the_ten_families_of_the_paper():
    assert {name: member.density for name, member in graphs.FAMILIES.items()} == DENSITIES
    assert {name: member.min_depth for name, member in graphs.FAMILIES.items()} == {
        name: 3 if name in DEEP else 2 for name in DENSITIES
    }


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("d", SIZES)
def test_graphs_pass_the_filters(family, d):
    rng = np.random.default_rng(d)
    for cap in graphs.in_degree_caps(d):
        graph = graphs.FAMILIES[family].sample(rng, d, cap)
        dag = nx.from_numpy_array(graph, create_using=nx.DiGraph)
        assert graph.dtype == np.int8 and nx.is_directed_acyclic_graph(dag)
        assert not list(nx.isolates(dag))
        assert dag.number_of_edges() >= np.ceil(0.8 * d)
        assert nx.dag_longest_path_length(dag) >= (3 if family in DEEP else 2)
        assert cap is None or graph.sum(0).max() <= cap


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("d", [20, 60])
def test_candidates_have_the_density_asked_for(family, d):
    """Exactly, unless the skeleton of at most d - 1 edges has more."""
    rng, member = np.random.default_rng(0), graphs.FAMILIES[family]
    for density in member.density:
        for _ in range(20):
            graph, edges = member.candidate(rng, d, density), draw.edge_count(d, density)
            assert graph.dtype == bool and not np.tril(graph).any()
            assert edges <= graph.sum() <= max(edges, d - 1)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("d", SIZES)
def test_only_densities_that_cannot_pass_are_left_out(family, d):
    member, enough = graphs.FAMILIES[family], math.ceil(0.8 * d)
    low, high = member.density_range(d)
    assert member.density[0] <= low <= high
    assert low == member.density[0] or draw.edge_count(d, low - 1e-9) < enough <= draw.edge_count(d, low + 1e-9)
    assert high == member.density[1] or draw.edge_count(d, member.density[1]) < d - 1 == draw.edge_count(d, high)


@pytest.mark.parametrize("family", FAMILIES)
def test_column_order_says_nothing_about_causal_order(family):
    rng = np.random.default_rng(2)
    up = [np.triu(g).sum() / g.sum() for g in (graphs.FAMILIES[family].sample(rng, 20) for _ in range(200))]
    assert abs(np.mean(up) - 0.5) < 0.05


@pytest.mark.parametrize("family", FAMILIES)
def test_same_generator_same_graph(family):
    first, second = ([g.tolist() for g in sampled(family, 20, 3)] for _ in range(2))
    assert first == second and first[0] != first[1]


@pytest.mark.parametrize("family", FAMILIES)
def test_small_graphs_are_sampled_or_refused(family, monkeypatch):
    monkeypatch.setattr(graphs.base, "MAX_TRIES", 1000)
    for d in range(4, 10):
        assert graphs.FAMILIES[family].sample(np.random.default_rng(0), d, 4).shape == (d, d)
    for d in range(1, 4):
        with pytest.raises(SpecError, match=f"no valid {family} graph with {d} variables"):
            graphs.FAMILIES[family].sample(np.random.default_rng(0), d)


def test_filters():
    path = np.diag([True] * 4, k=1)
    assert graphs.is_valid(path, 4) and not graphs.is_valid(path, 5)
    assert not graphs.is_valid(np.pad(path, (0, 1)), 2)  # an isolated node
    assert not graphs.is_valid(np.eye(6, k=3, dtype=bool), 1)  # three edges, five needed


def test_caps_keep_random_parents():
    full, kept = np.triu(np.ones((6, 6), bool), 1), np.zeros((6, 6))
    rng = np.random.default_rng(0)
    for _ in range(1000):
        graph = full.copy()
        graphs.base._cap_in_degree(rng, graph, 2)
        assert graph.sum(0).tolist() == [0, 1, 2, 2, 2, 2] and not (graph & ~full).any()
        kept += graph
    assert np.allclose(kept[:5, 5] / 1000, 0.4, atol=0.06)


# Each family.


@pytest.mark.parametrize("d", SIZES)
def test_erdos_renyi_pairs_are_equally_likely(d):
    rng, member = np.random.default_rng(d), graphs.FAMILIES["erdos_renyi"]
    share = np.mean([member.candidate(rng, d, 0.2) for _ in range(300)], axis=0)[np.triu_indices(d, 1)]
    assert abs(share.mean() - 0.2) < 0.01
    assert share.std() == pytest.approx(np.sqrt(0.2 * 0.8 / 300), rel=0.3)


def test_scale_free_has_hubs():
    rng = np.random.default_rng(1)
    top = {
        name: np.mean([joined(g).sum(0).max() for g in (member.candidate(rng, 100, 0.05) for _ in range(20))])
        for name, member in graphs.FAMILIES.items()
        if name in ("scale_free", "erdos_renyi")
    }
    assert top["scale_free"] > 1.8 * top["erdos_renyi"]


def test_scale_free_attachment_prefers_degree():
    """The largest degrees are those of networkx's graphs, whose nodes bring two edges each as well."""
    rng, member, d = np.random.default_rng(1), graphs.FAMILIES["scale_free"], 60
    edges = 2 * (d - 1) - 1  # 1, 2, 2, 2, ...
    degrees = [np.sort(joined(member.candidate(rng, d, edges / (d * (d - 1) / 2))).sum(0)) for _ in range(100)]
    theirs = [np.sort([degree for _, degree in nx.barabasi_albert_graph(d, 2, seed=k).degree]) for k in range(100)]
    assert np.mean(degrees, axis=0)[-10:] == pytest.approx(np.mean(theirs, axis=0)[-10:], rel=0.12)


@pytest.mark.parametrize("d", SIZES)
def test_chains_are_long(d):
    for graph in sampled("chain", d):
        assert depth(graph) >= 0.6 * d
    for graph in candidates("chain", d):
        assert depth(graph) >= 0.8 * d - 1
        i, j = np.nonzero(graph)
        assert (j - i).mean() <= 6  # places forward; 33 for random pairs of 100 nodes
    if d >= 50:
        assert mean(distance, sampled("chain", d)) > 1.5 * mean(distance, like(sampled("chain", d)))


@pytest.mark.parametrize("d", SIZES)
def test_chain_backbone_is_a_path_with_nodes_beside_it(d):
    rng, beside = np.random.default_rng(d), []
    for _ in range(30):
        edges = graphs.FAMILIES["chain"].backbone(rng, d)
        assert nx.is_tree(nx.from_numpy_array(joined(edges))) and edges.sum() == d - 1 and not np.tril(edges).any()
        beside.append(d - 1 - depth(edges))
    assert min(beside) == 0 and max(beside) <= math.ceil(0.2 * d)


@pytest.mark.parametrize("d", SIZES)
def test_trees_branch(d):
    rng, n_trees = np.random.default_rng(d), set()
    for _ in range(30):
        parent = graphs.FAMILIES["tree"].forest(rng, d)
        child = np.flatnonzero(parent >= 0)
        edges = np.zeros((d, d), int)
        edges[parent[child], child] = 1
        assert not np.tril(edges).any() and set(edges.sum(0)) <= {0, 1}
        skeleton = nx.from_numpy_array(edges + edges.T)
        assert nx.is_forest(skeleton) and not list(nx.isolates(skeleton))
        n_trees.add(nx.number_connected_components(skeleton))
        assert d < 30 or edges.sum(1).max() >= 3
    assert n_trees == {1, 2, 3}


@pytest.mark.parametrize("d", SIZES)
def test_trees_join_kin(d):
    member = graphs.FAMILIES["tree"]
    for density in np.linspace(*member.density_range(d), 10):
        parent = member.forest(np.random.default_rng(d), d)
        graph = member.candidate(np.random.default_rng(d), d, density)
        child = np.flatnonzero(parent >= 0)
        assert graph[parent[child], child].all()
        tree = nx.Graph([(int(parent[c]), int(c)) for c in child])
        steps = [nx.shortest_path_length(tree, int(i), int(j)) for i, j in zip(*np.nonzero(graph), strict=True)]
        assert np.mean(steps) <= 3.5  # random pairs of 100 nodes are five steps apart or more


def replayed(family, method, d, n=20):
    """Candidates, each with the labels it was made of: the same generator draws these first."""
    member = graphs.FAMILIES[family]
    for seed, density in enumerate(np.linspace(*member.density_range(d), n)):
        needs = (d,) if method == "layers" else (d, density)
        labels = getattr(member, method)(np.random.default_rng(seed), *needs)
        yield member.candidate(np.random.default_rng(seed), d, density), labels


@pytest.mark.parametrize("d", SIZES)
@pytest.mark.parametrize("family, most", [("layered", None), ("bipartite_layered", 5)])
def test_layers_are_respected(family, most, d):
    counts = set()
    for graph, layer in replayed(family, "layers", d):
        i, j = np.nonzero(graph)
        ahead = layer[j] - layer[i]
        assert (ahead >= 1).all() and (family == "layered" or (ahead == 1).all())
        assert depth(graph) == layer.max()
        assert (graph.sum(0)[layer > 0] > 0).all() and not graph.sum(0)[layer == 0].any()
        counts.add(int(layer.max()) + 1)
    assert min(counts) >= 3 and max(counts) <= (most or max(3, round(np.sqrt(d))))


@pytest.mark.parametrize("d", SIZES)
def test_bipartite_layers_are_bipartite(d):
    for graph in sampled("bipartite_layered", d):
        assert nx.is_bipartite(nx.from_numpy_array(joined(graph)))
    if d >= 30:
        assert not all(nx.is_bipartite(nx.from_numpy_array(joined(graph))) for graph in sampled("layered", d))


@pytest.mark.parametrize("d", SIZES[1:])
def test_small_worlds_are_clustered_and_short(d):
    """At d = 10 the density leaves nine edges, too few for triangles to tell."""
    found = sampled("small_world", d, 40)
    others = like(found)
    assert mean(clustering, found) > (1.4 if d == 20 else 1.8) * mean(clustering, others)
    assert mean(distance, found) < 1.6 * mean(distance, others)
    assert mean(depth, found) < 1.3 * mean(depth, others)


def test_shortcuts_make_the_world_small(monkeypatch):
    rng, member = np.random.default_rng(0), graphs.FAMILIES["small_world"]
    world = [member.candidate(rng, 100, 0.06) for _ in range(10)]
    monkeypatch.setattr(small_world, "REWIRING", 0.0)
    ring = [member.candidate(rng, 100, 0.06) for _ in range(10)]
    assert mean(distance, world) < 0.6 * mean(distance, ring)
    assert mean(clustering, world) > 0.65 * mean(clustering, ring)


@pytest.mark.parametrize("d", SIZES)
def test_modules_are_dense(d):
    """Pairs within modules are ten times as likely as others, somewhat less where many of them are taken."""
    within, between, numbers = [], [], set()
    pairs = np.triu(np.ones((d, d), bool), 1)
    for graph, module in replayed("dense_local_modules", "modules", d, 40):
        same = module[:, None] == module[None, :]
        within.append(graph[pairs & same].mean())
        between.append(graph[pairs & ~same].mean())
        numbers.add(int(module.max()) + 1)
        assert np.bincount(module).min() >= 2
    assert 5 <= np.mean(within) / np.mean(between) <= 14
    assert max(within) <= 0.6 and min(numbers) == 2 and max(numbers) <= max(2, d // 5)


@pytest.mark.parametrize("d", SIZES)
def test_blocks_are_layered_and_cross_edges_sparse(d):
    within, between, cross = [], [], []
    for graph, (block, layer) in replayed("block_sparse_layered", "blocks_and_layers", d, 40):
        ahead, same = layer[None, :] - layer[:, None], block[:, None] == block[None, :]
        assert (ahead[graph] >= 1).all() and len(set(block)) >= 2
        within.append(graph[(ahead > 0) & same].mean())
        between.append(graph[(ahead > 0) & ~same].mean())
        cross.append((graph & ~same).sum() / graph.sum())
    assert np.mean(within) > 8 * np.mean(between)
    assert np.mean(cross) < 0.2


@pytest.mark.parametrize("family", ["dense_local_modules", "block_sparse_layered"])
@pytest.mark.parametrize("d", [20, 30, 50])
def test_groups_survive_caps_and_filters(family, d):
    def modularity(graph):
        skeleton = nx.from_numpy_array(joined(graph))
        return nx.community.modularity(skeleton, nx.community.greedy_modularity_communities(skeleton))

    found = sampled(family, d, 12)
    assert mean(modularity, found) > mean(modularity, like(found)) + 0.03


@pytest.mark.parametrize("d", SIZES)
def test_colliders_are_frequent(d):
    """Clearly more unshielded colliders than Erdos-Renyi graphs with as many edges, before and after the caps.

    Caps bound what is possible after: no node has more than C(cap, 2) pairs of parents.
    """
    found = candidates("collider_rich", d, 40)
    assert mean(colliders, found) > 1.5 * mean(colliders, like(found))
    found = sampled("collider_rich", d, 60)
    assert mean(colliders, found) > 1.1 * mean(colliders, like(found))


# The draws they are made of.


def test_edges_are_drawn_by_weight():
    rng, weight = np.random.default_rng(0), np.array([[9, 1, 3], [9, 9, np.inf], [9, 9, 9.0]])
    counts = sum(draw.weighted_edges(rng, weight, 2).astype(int) for _ in range(4000))
    assert counts[1, 2] == 4000 and not np.tril(counts).any()
    assert counts[0, 1] / 4000 == pytest.approx(0.25, abs=0.03)
    assert draw.weighted_edges(rng, weight, 0).sum() == 1  # what must be in
    assert draw.weighted_edges(rng, np.eye(3, k=1), 3).sum() == 2  # what can be


def test_one_parent_of_the_allowed():
    rng, allowed = np.random.default_rng(0), np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]], bool)
    counts = sum(draw.one_parent(rng, allowed).astype(int) for _ in range(2000))
    assert counts.sum(0).tolist() == [0, 2000, 2000]
    assert counts[0, 2] / 2000 == pytest.approx(0.5, abs=0.05)


def test_groups_are_not_tiny():
    rng = np.random.default_rng(0)
    for d, groups in ((100, 10), (10, 3), (5, 5), (3, 7)):
        sizes = np.bincount(draw.split(rng, d, groups))
        assert sizes.sum() == d and len(sizes) == min(d, groups) and sizes.min() >= max(1, d // (2 * groups))
