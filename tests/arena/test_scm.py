"""The SCM against closed forms: what it samples, what do() makes of it, how it is differentiated."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from specs import PARAMETRIC, descendants, linear_gaussian, moments, random_spec

import arena
from arena.compiler import compile_on_host
from arena.errors import DataError, SpecError
from arena.interventions import do_rows
from arena.spec import SCMSpec

N = 200_000
KEY = jax.random.key(0)


def assert_moments(values, mean, covariance):
    """Sample mean and covariance within five standard errors of the closed form."""
    values = np.asarray(values, np.float64)
    n, variance = len(values), np.diag(covariance)
    error = 5 * np.sqrt(variance / n) + 1e-5 * (1 + np.abs(mean))
    assert (np.abs(values.mean(0) - mean) <= error).all()
    spread = 5 * np.sqrt((np.outer(variance, variance) + covariance**2) / n) + 1e-4
    assert (np.abs(np.cov(values.T) - covariance) <= spread).all()


@pytest.mark.parametrize("seed", range(3))
def test_observational_moments(seed):
    spec = linear_gaussian(seed)
    assert_moments(arena.sample(arena.compile(spec), KEY, N).values, *moments(spec))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_targets", [1, 2, 3])
def test_do_is_the_mutilated_closed_form(seed, n_targets):
    spec = linear_gaussian(seed)
    names = np.random.default_rng(seed).choice(spec.names, size=n_targets, replace=False).tolist()
    targets = {name: 0.7 * k - 0.5 for k, name in enumerate(names)}
    sample = arena.sample(arena.do(arena.compile(spec), targets), KEY, N)
    assert_moments(sample.values, *moments(spec, do=targets))
    assert {sample.names[j] for j in np.flatnonzero(sample.mask.all(0))} == set(targets)


def test_shift_is_the_closed_form():
    spec = linear_gaussian(1)
    targets = {"v0": 1.5, "v3": -0.5}
    assert_moments(
        arena.sample(arena.shift(arena.compile(spec), targets), KEY, N).values, *moments(spec, shift=targets)
    )


def test_soft_is_a_blend():
    spec = linear_gaussian(2)
    scm = arena.compile(spec)
    child = next(node for node in spec.nodes if node.parents)
    j = spec.names.index(child.name)
    plain, blended = (arena.sample(s, KEY, 500).values for s in (scm, arena.soft(scm, {child.name: 2.0})))
    np.testing.assert_allclose(blended[:, j], 0.55 * plain[:, j] + 0.45 * 2.0, rtol=1e-5, atol=1e-5)
    hard = arena.sample(arena.soft(scm, {child.name: 2.0}, softness=1.0), KEY, 500).values
    assert (hard == arena.sample(arena.do(scm, {child.name: 2.0}), KEY, 500).values).all()


@pytest.mark.parametrize("seed", range(6))
def test_non_descendants_are_bit_identical_and_descendants_are_not(seed):
    """A do() changes descendants of its targets and not one bit of anything else."""
    smooth = [*PARAMETRIC, "formula"]
    spec = random_spec(seed, d=10, graph=("erdos_renyi", "scale_free")[seed % 2], mechanisms=smooth)
    scm, rng = arena.compile(spec), np.random.default_rng(seed)
    has_children = np.flatnonzero(spec.adjacency.any(1))
    targets = rng.choice(has_children, size=1 + seed % 2, replace=False).tolist()
    factual = arena.sample(scm, KEY, 300)
    edited = arena.sample(arena.do(scm, {spec.names[j]: 0.37 for j in targets}), KEY, 300)
    affected = descendants(spec.adjacency, targets)
    untouched = [j for j in range(10) if j not in affected]
    assert (edited.values[:, untouched] == factual.values[:, untouched]).all()
    assert (edited.values[:, targets] == np.float32(0.37)).all()
    children = {int(j) for t in targets for j in np.flatnonzero(spec.adjacency[t])} - set(targets)
    assert all((edited.values[:, j] != factual.values[:, j]).mean() > 0.3 for j in children)


def test_do_overrides_and_edits_compose():
    scm = arena.compile(linear_gaussian(0))
    twice = arena.do(arena.do(scm, v1=1.0), v1=-1.0)
    assert (arena.sample(twice, KEY, 50).values == arena.sample(arena.do(scm, v1=-1.0), KEY, 50).values).all()
    together = arena.do(scm, v1=1.0, v2=2.0)
    one_by_one = arena.do(arena.do(scm, v2=2.0), v1=1.0)
    assert (arena.sample(together, KEY, 50).values == arena.sample(one_by_one, KEY, 50).values).all()
    moved = arena.sample(arena.shift(arena.do(scm, v1=1.0), v1=0.5), KEY, 50).values
    assert (moved[:, 1] == 1.5).all()


def test_edits_leave_the_scm_alone():
    scm = arena.compile(random_spec(0))
    before = [np.array(leaf) for leaf in jax.tree.leaves(scm)]
    arena.do(scm, X1=1.0)
    arena.shift(scm, X1=1.0)
    arena.soft(scm, X1=1.0)
    assert all((np.asarray(a) == b).all() for a, b in zip(jax.tree.leaves(scm), before, strict=True))


def test_a_value_per_row_equals_rows_one_by_one():
    spec = random_spec(3)
    scm = arena.compile(spec)
    n, rng = 40, np.random.default_rng(0)
    mask = rng.random((n, 10)) < 0.15
    values = rng.normal(size=(n, 10)).astype(np.float32)
    noise = scm.draw_noise(KEY, n)
    together = np.asarray(do_rows(scm, mask, values).evaluate(noise))
    for i in range(0, n, 8):
        targets = {spec.names[j]: values[i, j] for j in np.flatnonzero(mask[i])}
        alone = np.asarray(arena.do(scm, targets).evaluate(noise[i : i + 1]))
        np.testing.assert_allclose(together[i], alone[0], rtol=1e-5, atol=1e-6)
    by_vector = arena.do(scm, X0=jnp.arange(n, dtype=jnp.float32))
    assert (np.asarray(by_vector.evaluate(noise))[:, 0] == np.arange(n)).all()


def test_counterfactual_keeps_the_units():
    """Abduction is exact: in a linear SCM each unit moves by the total effect, to rounding."""
    spec = linear_gaussian(4)
    scm = arena.compile(spec)
    data = arena.sample(scm, KEY, 400)
    root = next(
        node.name for node in spec.nodes if not node.parents and spec.adjacency[spec.names.index(node.name)].any()
    )
    twin = arena.counterfactual(scm, data, {root: 1.0})
    j = spec.names.index(root)
    slope = moments(spec, do={root: 1.0})[0] - moments(spec, do={root: 0.0})[0]
    expected = data.values + (1.0 - data.values[:, [j]]) * slope
    np.testing.assert_allclose(twin.values, expected, rtol=1e-4, atol=1e-4)
    assert (twin.mask[:, j]).all() and twin.mask.sum() == 400 and not data.mask.any()


def test_counterfactual_with_nothing_set_is_the_factual():
    scm = arena.compile(random_spec(5))
    data = arena.sample(scm, KEY, 100)
    assert (arena.counterfactual(scm, data).values == data.values).all()


def test_counterfactual_aligns_by_name():
    scm = arena.compile(random_spec(5))
    data = arena.sample(scm, KEY, 100)
    shuffled = data.select(data.names[::-1])
    assert (arena.counterfactual(scm, shuffled, X2=0.0).values == arena.counterfactual(scm, data, X2=0.0).values).all()


def test_counterfactual_refuses_what_is_not_determined():
    scm, other = arena.compile(random_spec(5)), arena.compile(random_spec(6))
    data = arena.sample(scm, KEY, 100)
    with pytest.raises(DataError, match="do not carry their exogenous noise"):
        arena.counterfactual(scm, arena.Dataset(data.names, data.values), X0=0.0)
    with pytest.raises(DataError, match="not from this SCM"):
        arena.counterfactual(other, data, X0=0.0)
    with pytest.raises(DataError, match="are not the SCM's"):
        arena.counterfactual(arena.compile(linear_gaussian(0)), data, v0=0.0)


def test_ate_is_the_closed_form_without_sampling_error():
    """Common random numbers: in a linear SCM the noise cancels, whatever n is."""
    spec = linear_gaussian(3)
    scm = arena.compile(spec)
    mean = [moments(spec, do={"v1": value})[0] for value in (0.0, 2.0)]
    for outcome in spec.names:
        effect = arena.ate(scm, outcome, {"v1": 2.0}, {"v1": 0.0}, key=KEY, n=100)
        np.testing.assert_allclose(effect, (mean[1] - mean[0])[spec.names.index(outcome)], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("outcome", ["v0", "v2", "v5"])
def test_gradient_of_an_ate_is_the_closed_form(outcome):
    spec = linear_gaussian(3)
    scm = arena.compile(spec)
    slope = jax.grad(lambda v: arena.ate(scm, outcome, {"v1": v}, {"v1": 0.0}, key=KEY, n=1000))(0.8)
    total = (moments(spec, do={"v1": 1.0})[0] - moments(spec, do={"v1": 0.0})[0])[spec.names.index(outcome)]
    np.testing.assert_allclose(slope, total, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("family", [*PARAMETRIC, "formula"])
def test_gradient_of_an_ate_agrees_with_finite_differences(family):
    spec = random_spec(11, d=6, mechanisms=[family], noises=["gaussian"], roots=["gaussian"])
    scm = arena.compile(spec)
    cause = spec.names[int(np.argmax(spec.adjacency.sum(1)))]
    effect = spec.names[int(np.flatnonzero(spec.adjacency[spec.names.index(cause)])[0])]
    ate = eqx.filter_jit(lambda v: arena.ate(scm, effect, {cause: v}, {cause: 0.0}, key=KEY, n=20_000))
    # A step in a mechanism makes the derivative at a point differ from a finite difference: stay clear of cutoffs.
    at, h = (2.0, 1e-2) if family == "piecewise_threshold" else (0.4, 1e-2)
    difference = (ate(at + h) - ate(at - h)) / (2 * h)
    np.testing.assert_allclose(jax.grad(ate)(at), difference, rtol=2e-2, atol=2e-3)


def test_gradient_flows_into_the_parameters():
    """The gradient of E[Y] in every weight of a linear SCM is that of the closed form."""
    spec = linear_gaussian(7)
    scm = arena.compile(spec)
    params, static = eqx.partition(scm, eqx.is_inexact_array)
    gradient = jax.grad(lambda p: arena.expectation(eqx.combine(p, static), "v0", key=KEY, n=50_000))(params)
    for bank in range(len(scm.mechanisms)):
        assert jnp.isfinite(gradient.mechanisms[bank].weight).all()
    data, h = spec.to_json(), 1e-4
    for j, node in enumerate(spec.nodes):
        for k, weight in enumerate(node.mechanism.weight if node.parents else ()):
            step = {}
            for sign in (1, -1):
                moved = SCMSpec.from_json(data).model_dump()
                weights = list(node.mechanism.weight)
                weights[k] = weight + sign * h
                moved["nodes"][j]["mechanism"]["weight"] = weights
                step[sign] = moments(SCMSpec.from_dict(moved))[0][0]
            row = int(np.flatnonzero(np.asarray(scm.order) == j)[0])
            bank, slot = np.asarray(scm.mechanism)[row]
            found = gradient.mechanisms[bank].weight[slot, k]
            np.testing.assert_allclose(found, (step[1] - step[-1]) / (2 * h), rtol=0.03, atol=0.03)


def test_host_arrays_will_do():
    """Noise, edits and SCMs that are numpy arrays give what device arrays give, jitted or not."""
    spec = random_spec(2)
    scm, host = arena.compile(spec), compile_on_host(spec)
    data = arena.sample(scm, KEY, 30)
    for one in (scm, host):
        np.testing.assert_allclose(one.evaluate(data.noise), data.values, rtol=1e-5, atol=1e-6)
        edited = arena.do(one, X1=np.float64(0.5), X2=np.arange(30))
        assert (np.asarray(edited.evaluate(data.noise))[:, 1] == 0.5).all()
        np.testing.assert_allclose(one.sample(KEY, 30), data.values, rtol=1e-5, atol=1e-6)


def test_vmap_over_keys_and_over_values():
    scm = arena.compile(random_spec(2))
    keys = jax.random.split(KEY, 4)
    tables = jax.vmap(lambda key: scm.sample(key, 20))(keys)
    for key, table in zip(keys, tables, strict=True):
        np.testing.assert_allclose(table, arena.sample(scm, key, 20).values, rtol=1e-5, atol=1e-6)
    doses = jnp.linspace(-1.0, 1.0, 5)
    curve = jax.vmap(lambda v: arena.expectation(arena.do(scm, X3=v), "X5", key=KEY, n=200))(doses)
    for dose, value in zip(doses, curve, strict=True):
        single = arena.expectation(arena.do(scm, X3=dose), "X5", key=KEY, n=200)
        np.testing.assert_allclose(value, single, rtol=1e-4, atol=1e-5)


def test_noise_of_a_node_is_its_own():
    """It is uniform, independent of the others, the same for any n, and no node's depends on another's."""
    scm = arena.compile(random_spec(2))
    noise = np.asarray(scm.draw_noise(KEY, 20_000))
    assert noise.min() > 0 and noise.max() < 1
    assert np.abs(noise.mean(0) - 0.5).max() < 0.01 and np.abs(noise.var(0) - 1 / 12).max() < 0.002
    assert np.abs(np.corrcoef(noise.T) - np.eye(10)).max() < 0.03
    assert (np.asarray(scm.draw_noise(KEY, 50)) == noise[:50]).all()
    smaller = arena.compile(linear_gaussian(0))
    assert (np.asarray(smaller.draw_noise(KEY, 50)) == noise[:50, :6]).all()


def test_same_key_same_table_other_key_other_table():
    scm = arena.compile(random_spec(9))
    first, again, other = (arena.sample(scm, jax.random.key(k), 50).values for k in (1, 1, 2))
    assert (first == again).all() and not (first == other).any(axis=0).all()


def test_float64_when_asked():
    spec = linear_gaussian(0)
    with jax.enable_x64(True):
        scm = arena.compile(spec, dtype=np.float64)
        assert arena.sample(scm, KEY, 10).values.dtype == np.float64
    assert arena.sample(arena.compile(spec), KEY, 10).values.dtype == np.float32


def test_repeated_questions_compile_once():
    """Un-jitted use in a loop, as a person would write it: nothing is compiled again."""
    scm = arena.compile(linear_gaussian(3))

    def ask(v):
        slope = jax.grad(lambda v: arena.expectation(arena.do(scm, v1=v), "v0", key=KEY, n=50))(v)
        arena.ate(scm, "v0", {"v1": v}, {"v1": 0.0}, key=KEY, n=50)
        return slope

    ask(0.1)
    compiled = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, duration, **_: compiled.append(event) if "backend_compile" in event else None
    )
    try:
        for v in (0.2, 0.3, 0.4):
            ask(v)
    finally:
        jax.monitoring.clear_event_listeners()
    assert not compiled


def test_gradients_ignore_what_an_intervention_cut_off():
    """A mechanism that is not finite at the point matters no more once its node is set, or softly set to the full."""
    cause = {"name": "a", "root": {"family": "gaussian", "mean": -3.0, "scale": 0.1}}
    root = {"name": "b", "parents": ["a"], "mechanism": {"family": "formula", "expression": "log(a)"}}
    sum_ = {"name": "c", "parents": ["a", "b"], "mechanism": {"family": "formula", "expression": "2 * a + 3 * b"}}
    scm = arena.compile(SCMSpec.from_dict({"name": "cut", "nodes": [cause, root, sum_]}))
    ask = lambda v, edit: arena.expectation(edit(arena.do(scm, a=v)), "c", key=KEY, n=50)  # noqa: E731
    for edit in (lambda s: arena.do(s, b=1.0), lambda s: arena.soft(s, b=1.0, softness=1.0)):
        np.testing.assert_allclose(jax.grad(lambda v, edit=edit: ask(v, edit))(-1.0), 2.0, rtol=1e-5)


def test_a_soft_intervention_has_a_gradient_in_its_softness():
    spec = linear_gaussian(2)
    scm = arena.compile(spec)
    child = next(node.name for node in spec.nodes if node.parents)
    for softness in (0.45, 1.0):
        ask = lambda w: arena.expectation(arena.soft(scm, {child: 2.0}, softness=w), child, key=KEY, n=5000)  # noqa: E731
        plain = arena.expectation(scm, child, key=KEY, n=5000)
        np.testing.assert_allclose(jax.grad(ask)(softness), 2.0 - plain, rtol=1e-3, atol=1e-3)


def test_keys_derived_by_the_caller_are_not_our_noise():
    scm = arena.compile(random_spec(2))
    noise = np.asarray(scm.draw_noise(KEY, 500))
    for derived in [*jax.random.split(KEY, 10), *(jax.random.fold_in(KEY, j) for j in range(10)), KEY]:
        mine = np.asarray(jax.random.uniform(derived, (500,)))
        assert np.abs([np.corrcoef(mine, column)[0, 1] for column in noise.T]).max() < 0.2


def test_float64_noise_has_no_ties():
    with jax.enable_x64(True):
        scm = arena.compile(linear_gaussian(0), dtype=np.float64)
        noise = np.asarray(scm.draw_noise(KEY, 20_000))
    assert noise.dtype == np.float64 and len(np.unique(noise)) == noise.size


def test_counterfactuals_of_edited_worlds():
    """The factual world is the SCM that is handed in, interventions included; the answer's mask says all of them."""
    scm = arena.compile(linear_gaussian(4))
    data = arena.sample(scm, KEY, 50)
    twin = arena.counterfactual(scm, data, v1=1.0)
    with pytest.raises(DataError, match="its interventions included"):
        arena.counterfactual(scm, twin, v2=0.0)
    both = arena.counterfactual(arena.do(scm, v1=1.0), twin, v2=0.0)
    assert (both.values == arena.sample(arena.do(scm, v1=1.0, v2=0.0), KEY, 50).values).all()
    assert both.mask[:, [1, 2]].all() and both.mask.sum() == 100
    shifted = arena.shift(scm, v3=1.0)
    assert arena.counterfactual(shifted, arena.sample(shifted, KEY, 50), v2=0.0).mask[:, [2, 3]].all()


def test_counterfactuals_of_small_numbers_are_checked_as_well():
    """Whether rows are from an SCM is judged in units of their own spread."""

    def tiny(weight):
        cause = {"name": "a", "root": {"family": "gaussian", "mean": 0.0, "scale": 1e-6}}
        effect = {"name": "b", "parents": ["a"],
                  "mechanism": {"family": "linear_additive", "weight": [weight], "bias": 0.0}}  # fmt: skip
        return arena.compile(SCMSpec.from_dict({"name": "tiny", "nodes": [cause, effect]}))

    data = arena.sample(tiny(1.0), KEY, 50)
    with pytest.raises(DataError, match="not from this SCM"):
        arena.counterfactual(tiny(-5.0), data, a=0.0)


@pytest.mark.parametrize(
    "edit, words",
    [
        (lambda scm: arena.do(scm, v1=None), ["'v1'", "None", "expected a number"]),
        (lambda scm: arena.do(scm, v1="1"), ["'v1'", "expected a number"]),
        (lambda scm: arena.do(scm, {"v1": 1.0}, v1=2.0), ["'v1' is given twice"]),
        (lambda scm: arena.expectation(scm, "v1", key=KEY, n=0), ["0 units"]),
        (lambda scm: arena.do(scm, v9=1.0), ["'v9' is not a variable", "did you mean"]),
        (lambda scm: arena.do(scm, v1=np.zeros((3, 2))), ["'v1'", "shape (3, 2)"]),
        (lambda scm: arena.do(scm, v1=np.zeros(3), v2=np.zeros(4)), ["3, 4 rows"]),
        (lambda scm: arena.do(arena.do(scm, v1=np.zeros(3)), v2=np.zeros(4)), ["3 rows", "4"]),
        (lambda scm: arena.sample(arena.do(scm, v1=np.zeros(3)), KEY, 4), ["3 rows", "4"]),
        (lambda scm: arena.expectation(scm, "w", key=KEY), ["'w' is not a variable"]),
    ],
)
def test_wrong_edits_are_named(edit, words):
    with pytest.raises(SpecError) as caught:
        edit(arena.compile(linear_gaussian(0)))
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_adjacency_of_an_scm_is_that_of_its_spec():
    for seed in range(5):
        spec = random_spec(seed)
        assert (arena.adjacency(arena.compile(spec)) == spec.adjacency).all()
        assert (arena.adjacency(arena.do(arena.compile(spec), X0=1.0)) == spec.adjacency).all()
