"""Many different SCMs at once: the same tables as one by one, in a handful of compiled programs."""

import subprocess
import sys
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from specs import PARAMETRIC, linear_gaussian, random_spec

import arena
from arena import pool
from arena import programs as compiled
from arena.compiler import compile_on_host
from arena.errors import SpecError
from arena.interventions import do_rows
from arena.spec import SCMSpec

KEY = jax.random.key(0)


def programs() -> int:
    """How many programs the stacked sampler has compiled so far."""
    return compiled.count()


def test_batch_equals_one_by_one():
    """Bit for bit, whatever the SCMs stand beside; sizes and families mixed."""
    specs = [random_spec(i, d=(5, 8, 10, 20)[i % 4], graph=("erdos_renyi", "scale_free")[i % 2]) for i in range(6)]
    batch = arena.sample_batch(specs, KEY, 200)
    for i, (spec, data) in enumerate(zip(specs, batch, strict=True)):
        alone = arena.sample(arena.compile(spec), jax.random.fold_in(KEY, i), 200)
        assert data.names == spec.names and (data.truth == spec.adjacency).all()
        assert (data.values == alone.values).all()


def test_a_table_does_not_depend_on_its_company():
    """Nor on how many units are asked for, nor on how often its SCM is drawn."""
    scms, keys = [compile_on_host(random_spec(i)) for i in range(8)], jax.random.split(KEY, 8)
    together = pool.Pool(scms).draw(range(8), keys, 100)
    pair = pool.Pool([scms[5], scms[2]]).draw([0, 1, 0], keys[jnp.array([5, 2, 2])], 60)
    assert (pair[0] == together[5][:, :60]).all() and (pair[1] == together[2][:, :60]).all()
    assert (pair[2][:, :60] != together[5][:, :60]).any()


def test_strategies_agree():
    specs = [random_spec(i, d=6) for i in range(4)]
    by_map, by_vmap = (arena.sample_batch(specs, KEY, 50, strategy=s) for s in ("map", "vmap"))
    for a, b in zip(by_map, by_vmap, strict=True):
        np.testing.assert_allclose(a.values, b.values, rtol=1e-4, atol=1e-5)


def edits_of(rng, m, d):
    """Random interventions on m units: a third is set, a third shifted, a third has its mechanism weakened."""
    what = rng.integers(3, size=(m, d))
    gain = np.where(what == 0, 0.0, 1.0).astype(np.float32)
    offset = np.where(what < 2, rng.normal(size=(m, d)), 0.0).astype(np.float32)
    strength = np.where(what == 2, 0.5, 1.0).astype(np.float32)
    return pool.Edits(rng.choice(40, size=m, replace=False).astype(np.int32), gain, offset, strength)


def test_intervened_units_are_what_the_edited_scm_gives_for_the_same_noise():
    rng = np.random.default_rng(0)
    scms, keys = [arena.compile(random_spec(i, d=6 + i)) for i in range(4)], jax.random.split(KEY, 4)
    edits = [edits_of(rng, 15, scm.d) for scm in scms]
    drawn = pool.Pool(scms).draw(range(4), keys, 40, edits)
    for scm, key, edit, values in zip(scms, keys, edits, drawn, strict=True):
        noise = scm.draw_noise(key, 40)
        np.testing.assert_allclose(values[:, :40].T, scm.evaluate(noise), rtol=1e-5, atol=1e-6)
        own = eqx.tree_at(lambda s: (s.gain, s.offset, s.strength), scm, (edit.gain, edit.offset, edit.strength))
        np.testing.assert_allclose(values[:, 40:].T, own.evaluate(noise[edit.units]), rtol=1e-4, atol=1e-5)


def test_edited_scms_keep_their_interventions_and_their_masks():
    """In a batch as alone: whatever an SCM was edited to, its table says so."""
    spec, rng = linear_gaussian(0), np.random.default_rng(0)
    scm = arena.compile(spec)
    mask = rng.random((30, 6)) < 0.2
    rows = do_rows(scm, mask, rng.normal(size=(30, 6)).astype(np.float32))
    edited = [scm, arena.do(scm, v1=3.0), arena.shift(scm, v2=1.0), rows]
    for i, data in enumerate(arena.sample_batch(edited, KEY, 30)):
        alone = arena.sample(edited[i], jax.random.fold_in(KEY, i), 30)
        assert (data.values == alone.values).all() and (data.mask == alone.mask).all() and data.split == alone.split
    assert data.mask.sum() == mask.sum() and data.split == "obs_int"
    with pytest.raises(SpecError, match="row by row"):
        pool.Pool([rows])


def test_second_noise_root_blocks_and_scaling_are_the_same_in_a_batch():
    specs = [
        random_spec(i, d=8, graph="collider_rich", root_dependency=dependency, stressors=stressors, scaling=scaling)
        for i, (dependency, stressors, scaling) in enumerate(
            [
                ("correlated_normal", (), "paper"),
                ("random_covariance_normal", ("high_noise",), "paper"),
                ("uniform_ball", ("weak_signal",), "internal"),
                ("independent_roots", ("high_noise", "weak_signal"), "internal"),
            ]
        )
    ]
    for i, data in enumerate(arena.sample_batch(specs, KEY, 300)):
        alone = arena.sample(arena.compile(specs[i]), jax.random.fold_in(KEY, i), 300)
        np.testing.assert_allclose(data.values, alone.values, rtol=1e-4, atol=1e-5)


def test_one_program_serves_200_specs_of_the_parametric_families():
    keys = jax.random.split(KEY, 200)
    draw = lambda keys, graph: arena.synthetic.sample_specs(keys, d=30, graph=graph, mechanisms=PARAMETRIC)  # noqa: E731
    specs = [*draw(keys[:100], "erdos_renyi"), *draw(keys[100:], "scale_free")]
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


def test_different_sizes_share_it_too():
    options = {"mechanisms": ["linear_additive"], "noises": ["gaussian"], "roots": ["gaussian"]}
    arena.sample_batch([random_spec(i, d=12, **options) for i in range(8)], KEY, 41)
    before = programs()
    arena.sample_batch([random_spec(i, d=14, **options) for i in range(8)], KEY, 41)
    assert programs() == before


def test_nothing_in_nothing_out():
    assert arena.sample_batch([], KEY, 10) == []
    (empty,) = arena.sample_batch([linear_gaussian(0)], KEY, 0)
    assert empty.values.shape == (0, 6)


WRONG_CALLS = {
    "arena.sample_batch([spec], 0, 10)": "expected a JAX key such as jax.random.key",
    "arena.sample_batch([spec], key, 10.5)": "expected a whole number",
    "arena.sample_batch([spec], key, -1)": "cannot be negative",
    "arena.sample_batch([spec], key, 10, strategy='pmap')": "strategies are auto, map, vmap",
    "arena.sample(spec, key, 10)": "compile it first",
    "arena.sample(arena.compile(spec), 10, key)": "expected a JAX key",
    "arena.sample(arena.compile(spec), None, 10)": "expected a JAX key",
    "arena.do(spec, v1=1.0)": "compile it first",
    "arena.do(arena.compile(spec), ['v1'])": "expected a mapping",
    "arena.compile({'nodes': []})": "arena.load reads a file or a dict",
    "arena.compile(spec, dtype='int32')": "expected float32 or float64",
    "arena.compile(spec, dtype='float64')": "64-bit JAX",
    "arena.synthetic.sample_spec(key, d=5.5)": "expected a whole number",
    "arena.synthetic.sample_spec(3, d=5)": "expected a JAX key",
    "arena.synthetic.sample_spec(key, d=8, mechanisms=[])": "no mechanism family is given",
    "arena.synthetic.sample_spec(key, d=8, scaling='own')": "scalings are internal, paper",
    "importlib.import_module('arena.generate').generate('mini', 'x', scaling='own')": "scalings are internal, paper",
    "arena.synthetic.sample_spec(key, d=8, root_dependency='ball')": "no root dependency 'ball'",
    "arena.Selection(limit='a')": "limit is 'a'",
    "arena.Selection(max_d=2.5)": "max_d is 2.5",
}


def test_wrong_arguments_are_one_clear_error():
    """In a process of its own, as a user has it: the type checker of the test runs would speak first."""
    code = f"""
import importlib, sys, jax, arena
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from specs import linear_gaussian
spec, key = linear_gaussian(0), jax.random.key(0)
for call in {list(WRONG_CALLS)!r}:
    try:
        eval(call)
    except arena.ArenaError as error:
        print(error)
    else:
        print("accepted")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr
    for (call, words), message in zip(WRONG_CALLS.items(), done.stdout.splitlines(), strict=True):
        assert words in message, (call, message)


def test_old_keys_will_do():
    scm = arena.compile(linear_gaussian(0))
    typed = arena.sample(scm, jax.random.key(3), 5).values
    assert (arena.sample(scm, jax.random.PRNGKey(3), 5).values == typed).all()
