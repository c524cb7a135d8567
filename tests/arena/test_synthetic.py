"""Random graphs and random specs: filters, ranges, counts and independence of column order."""

import jax
import networkx as nx
import numpy as np
import pytest
from specs import random_spec

import arena
from arena.errors import SpecError
from arena.synthetic import graphs
from arena.synthetic.sample import FAMILY_COUNTS, ROOT_COUNTS
from mechanisms import registry

FAMILIES = sorted(graphs.FAMILIES)
SIZES = [10, 20, 30, 50, 100]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("d", SIZES)
def test_graphs_pass_the_filters(family, d):
    rng = np.random.default_rng(d)
    for cap in graphs.in_degree_caps(d):
        graph = graphs.FAMILIES[family].sample(rng, d, cap)
        dag = nx.from_numpy_array(graph, create_using=nx.DiGraph)
        assert nx.is_directed_acyclic_graph(dag)
        assert not list(nx.isolates(dag))
        assert dag.number_of_edges() >= np.ceil(0.8 * d)
        assert nx.dag_longest_path_length(dag) >= (3 if family == "scale_free" else 2)
        assert cap is None or graph.sum(0).max() <= cap


@pytest.mark.parametrize("family", FAMILIES)
def test_densities_are_in_range(family):
    """Mean edge density of candidates lies where the range of densities puts it."""
    rng, d = np.random.default_rng(0), 60
    for density in graphs.FAMILIES[family].density:
        found = [graphs.FAMILIES[family].candidate(rng, d, density).sum() / (d * (d - 1) / 2) for _ in range(30)]
        assert abs(np.mean(found) - density) < 0.015


def test_scale_free_has_hubs():
    rng = np.random.default_rng(1)
    top = {
        name: np.mean([(g + g.T).sum(0).max() for g in (family.candidate(rng, 100, 0.05) for _ in range(20))])
        for name, family in graphs.FAMILIES.items()
    }
    assert top["scale_free"] > 1.8 * top["erdos_renyi"]


@pytest.mark.parametrize("family", FAMILIES)
def test_column_order_says_nothing_about_causal_order(family):
    rng = np.random.default_rng(2)
    up = [np.triu(g).sum() / g.sum() for g in (graphs.FAMILIES[family].sample(rng, 20) for _ in range(200))]
    assert abs(np.mean(up) - 0.5) < 0.03


def test_impossible_sizes_are_refused():
    with pytest.raises(SpecError, match="no valid scale_free graph with 3 variables"):
        graphs.FAMILIES["scale_free"].sample(np.random.default_rng(0), 3)


def bounds(counts, size):
    return next(limits for top, limits in counts if size <= top)


@pytest.mark.parametrize("d", SIZES)
def test_specs_mix_families_as_the_paper_says(d):
    for seed in range(12):
        spec = random_spec(seed, d=d, graph=FAMILIES[seed % 2])
        for field, kind in (("mechanisms", "mechanism"), ("noises", "noise"), ("roots", "root")):
            n_roots = int((~spec.adjacency.any(0)).sum())
            low, high = bounds(ROOT_COUNTS, n_roots) if kind == "root" else bounds(FAMILY_COUNTS, d)
            room = min(len(registry.families(kind)), n_roots if kind == "root" else d)
            assert min(low, room) <= len(spec.factors[field]) <= high
        noise_free = sum(node.noise is not None and node.noise.family == "none" for node in spec.nodes)
        assert noise_free <= 0.1 * d
        used = {node.mechanism.family for node in spec.nodes if node.mechanism}
        assert used == set(spec.factors["mechanisms"])


def test_every_family_turns_up():
    specs = [random_spec(seed, d=10) for seed in range(40)]
    for field, kind in (("mechanisms", "mechanism"), ("noises", "noise"), ("roots", "root")):
        assert {family for spec in specs for family in spec.factors[field]} == set(registry.families(kind))


def test_same_key_same_spec():
    assert random_spec(3) == random_spec(3) and random_spec(3) != random_spec(4)


def test_only_the_families_asked_for():
    spec = random_spec(0, d=20, mechanisms=["rff_gp"], noises=["none"], roots=["bernoulli"])
    assert spec.factors["mechanisms"] == ("rff_gp",) and spec.factors["noises"] == ("none",)
    assert all(node.kind == "binary" for node in spec.nodes if not node.parents)


@pytest.mark.parametrize(
    "options, words",
    [
        ({"graph": "erdos"}, "did you mean 'erdos_renyi'"),
        ({"mechanisms": ["linear"]}, "did you mean 'linear_additive'"),
        ({"noises": ["gausian"]}, "did you mean 'gaussian'"),
        ({"roots": ["log"]}, "no root family 'log'"),
    ],
)
def test_unknown_families_are_named(options, words):
    with pytest.raises(SpecError, match=words):
        random_spec(0, **options)


def test_values_stay_in_a_sane_range():
    specs = [random_spec(seed, d=30, graph=FAMILIES[seed % 2]) for seed in range(40)]
    largest = [np.abs(data.values).max() for data in arena.sample_batch(specs, jax.random.key(0), 500)]
    assert np.isfinite(largest).all() and np.median(largest) < 100 and max(largest) < 1e5
