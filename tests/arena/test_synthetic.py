"""Random specs: how families are mixed, reproducibility, sane values."""

import jax
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
