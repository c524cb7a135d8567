"""Many different SCMs at once: the same tables as one by one, in a handful of compiled programs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from specs import PARAMETRIC, linear_gaussian, random_spec

import arena
from arena import sampling
from arena.compiler import compile_on_host
from arena.errors import SpecError
from arena.interventions import do_rows
from arena.spec import SCMSpec

KEY = jax.random.key(0)


def programs() -> int:
    """How many programs the stacked sampler has compiled so far."""
    return sampling._sample_stack._cached._cache_size()


def test_batch_equals_one_by_one():
    """Bit for bit, whatever the SCMs stand beside; sizes and families mixed."""
    specs = [random_spec(i, d=(5, 8, 10, 20)[i % 4], graph=("erdos_renyi", "scale_free")[i % 2]) for i in range(12)]
    batch = arena.sample_batch(specs, KEY, 200)
    for i, (spec, data) in enumerate(zip(specs, batch, strict=True)):
        alone = arena.sample(arena.compile(spec), jax.random.fold_in(KEY, i), 200)
        assert data.names == spec.names and (data.truth == spec.adjacency).all()
        assert (data.values == alone.values).all()


def test_a_table_does_not_depend_on_its_company():
    specs = [random_spec(i) for i in range(8)]
    scms, keys = [compile_on_host(spec) for spec in specs], jax.random.split(KEY, 8)
    together = sampling.sample_values(scms, keys, 100)
    pair = sampling.sample_values([scms[5], scms[2]], keys[jnp.array([5, 2])], 100)
    assert (pair[0] == together[5]).all() and (pair[1] == together[2]).all()


def test_strategies_agree():
    specs = [random_spec(i, d=6) for i in range(4)]
    by_map, by_vmap = (arena.sample_batch(specs, KEY, 50, strategy=s) for s in ("map", "vmap"))
    for a, b in zip(by_map, by_vmap, strict=True):
        np.testing.assert_allclose(a.values, b.values, rtol=1e-4, atol=1e-5)


def test_interventions_of_each_scm_and_row_are_kept():
    spec, rng = linear_gaussian(0), np.random.default_rng(0)
    scm = arena.compile(spec)
    mask = rng.random((30, 6)) < 0.2
    values = rng.normal(size=(30, 6)).astype(np.float32)
    keys = jax.random.split(KEY, 2)
    first, second = sampling.sample_values([do_rows(scm, mask, values), do_rows(scm, ~mask, values)], keys, 30)
    assert (first[mask] == values[mask]).all() and (second[~mask] == values[~mask]).all()
    with pytest.raises(SpecError, match="30 rows"):
        sampling.sample_values([do_rows(scm, mask, values)], keys[:1], 31)


def test_one_program_serves_200_specs_of_the_parametric_families():
    specs = [
        random_spec(1000 + i, d=30, graph=("erdos_renyi", "scale_free")[i % 2], mechanisms=PARAMETRIC)
        for i in range(200)
    ]
    before = programs()
    arena.sample_batch(specs, KEY, 37)  # a number of rows that no other test uses
    compiled = programs() - before
    print(f"programs compiled for 200 random specs, d = 30, four families: {compiled}")
    assert compiled == 1


def test_another_formula_needs_no_other_program():
    """Formulas are data for an interpreter."""

    def spec(formula):
        cause = {"name": "x", "root": {"family": "uniform", "low": 0.5, "high": 2.0}}
        effect = {"name": "y", "parents": ["x"], "mechanism": {"family": "formula", "expression": formula}}
        return SCMSpec.from_dict({"name": "formula", "nodes": [cause, effect]})

    arena.sample_batch([spec("2 * x + 1")], KEY, 39)
    before = programs()
    for formula, reference in (
        ("log(x) / x", lambda x: np.log(x) / x),
        ("x**2 - tanh(x)", lambda x: x**2 - np.tanh(x)),
    ):
        (data,) = arena.sample_batch([spec(formula)], KEY, 39)
        np.testing.assert_allclose(data.values[:, 1], reference(data.values[:, 0]), rtol=1e-5, atol=1e-6)
    assert programs() == before


def test_nothing_in_nothing_out():
    assert arena.sample_batch([], KEY, 10) == []
