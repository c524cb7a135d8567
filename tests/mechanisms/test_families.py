"""Every registered family, whatever it is: priors, padding, banks, schema. A new family is picked up by itself."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mechanisms import registry
from mechanisms.base import Blueprint, ParameterError, layout, stack

COMPONENTS = [(kind, family) for kind in registry.KINDS for family in registry.families(kind)]
MECHANISMS = sorted(registry.families("mechanism"))
NAMES = ["a", "b", "c", "d", "e"]


def draw(kind, family, seed=0, n_parents=3):
    """The class, drawn parameters and parents of one component."""
    cls = registry.families(kind)[family]
    parents = [] if kind == "root" else NAMES[:n_parents]
    prior = cls.prior(np.random.default_rng(seed), *([parents] if kind == "mechanism" else []))
    if kind == "noise":
        prior |= calibrated(cls, prior)
    return cls, cls.parameters().model_validate({"family": family, **prior}), parents


def calibrated(cls, prior, n=200):
    """The fields of a noise that its prior leaves out, from a small sample."""
    if not cls.calibrated:
        return {}
    placeholders = {"family": cls.family, **prior, **dict.fromkeys(cls.calibrated, 0.0)}
    module = cls.from_parameters(cls.parameters().model_validate(placeholders), [])
    signal, u = jnp.linspace(-1.0, 2.0, n), jnp.roll((jnp.arange(n) + 0.5) / n, n // 3)
    return dict(zip(cls.calibrated, map(float, module.calibrate(signal, u)), strict=True))


def call(component, kind, inputs, u):
    if kind == "mechanism":
        return component(inputs)
    return component(u) if kind == "root" else component(inputs[0], u, inputs)


@pytest.mark.parametrize("kind, family", COMPONENTS)
def test_prior_is_valid_seeded_and_varied(kind, family):
    first, again, other = (draw(kind, family, seed)[1] for seed in (0, 0, 1))
    assert first == again
    assert family == "none" or first != other


@pytest.mark.parametrize("kind, family", COMPONENTS)
def test_parameters_round_trip_through_json(kind, family):
    cls, parameters, _ = draw(kind, family)
    assert cls.parameters().model_validate_json(parameters.model_dump_json()) == parameters


@pytest.mark.parametrize("kind, family", COMPONENTS)
def test_output_is_a_finite_scalar_and_float32_stays(kind, family):
    cls, parameters, parents = draw(kind, family)
    out = call(
        cls.from_parameters(parameters, parents),
        kind,
        jnp.array([0.3, -0.7, 1.1], jnp.float32),
        jnp.float32(0.3),
    )
    assert out.shape == () and out.dtype == jnp.float32 and jnp.isfinite(out)


@pytest.mark.parametrize("kind, family", COMPONENTS)
@pytest.mark.parametrize("width", [8, 24])
def test_padding_changes_nothing(kind, family, width):
    """A slot of a bank, padded to any number of parents, computes what the component alone does."""
    drawn = [draw(kind, family, seed, n_parents=k) for seed, k in enumerate((1, 3, 5))]
    blueprints = [Blueprint(cls, cls.arrays(parameters, parents)) for cls, parameters, parents in drawn]
    by_bucket: dict = {}
    for i, blueprint in enumerate(blueprints):
        by_bucket.setdefault(blueprint.bucket(), []).append(i)
    x = np.random.default_rng(5).normal(size=5).astype(np.float32)
    for members in by_bucket.values():
        bank = stack([blueprints[i] for i in members], width, np.float32)
        for slot, i in enumerate(members):
            cls, parameters, parents = drawn[i]
            alone = call(cls.from_parameters(parameters, parents), kind, x[: len(parents) or 1], np.float32(0.3))
            padded = np.zeros(width, np.float32)
            padded[: len(parents) or 1] = x[: len(parents) or 1]
            inside = call(jax.tree.map(lambda leaf, slot=slot: leaf[slot], bank), kind, padded, np.float32(0.3))
            np.testing.assert_allclose(inside, alone, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("family", MECHANISMS)
def test_another_number_of_parents_is_refused_or_followed(family):
    """Parameters that list the parents one by one must fit them; the others make arrays that do."""
    cls, parameters, _ = draw("mechanism", family, n_parents=3)
    try:
        arrays = cls.arrays(parameters, NAMES[:2])
    except ParameterError:
        return
    widths = {arrays[f].shape[dims.index("parents")] for f, (dims, _) in layout(cls).items() if "parents" in dims}
    assert widths == {2}


@pytest.mark.parametrize("family", MECHANISMS)
def test_every_parent_matters(family):
    """Over some draws, moving any one parent moves the output."""
    moved = np.zeros(3, bool)
    for seed in range(100):
        cls, parameters, parents = draw("mechanism", family, seed)
        component = cls.from_parameters(parameters, parents)
        x = np.random.default_rng(seed).normal(size=3).astype(np.float32)
        moved |= np.array(
            [abs(float(component(x) - component(x + np.eye(3, dtype=x.dtype)[k]))) > 1e-3 for k in range(3)]
        )
        if moved.all():
            return
    assert moved.all()


def test_shipped_families_are_those_of_the_package():
    assert registry.shipped("mechanism") == tuple(MECHANISMS)
    assert "gaussian" in registry.shipped("noise") and "gaussian" in registry.shipped("root")
