"""The calibration sample: what it says is what the SCM does with the same noise."""

import itertools

import jax
import numpy as np
import pytest
from jaxtyping import Float

import arena
from arena import programs, suites
from arena.calibrate import calibrate
from arena.compiler import bank_key, compile_on_host
from arena.errors import SpecError
from arena.keys import key_of, keys_of, rng_of
from arena.pool import Pool, _key_of
from arena.selection import Selection
from arena.spec import SCMSpec
from arena.suites import _draft
from mechanisms.base import REGISTRY, Array, Noise, param


@pytest.fixture(scope="module")
def drafts():
    return [_draft(cell, 0, 0) for cell in suites.cells("main", Selection(("synthetic",), limit=24, max_d=50))]


@pytest.mark.parametrize("scaling", ["paper", "internal"])
def test_the_sample_is_what_the_calibrated_spec_gives(drafts, scaling):
    drafts = drafts[:6]
    for draft, (spec, values, _) in zip(drafts, calibrate(drafts, scaling, frame=suites.MAIN.frame), strict=True):
        again = arena.compile(spec).sample(key_of("calibration", draft.content_hash), 1000)
        close = np.isclose(values.T, again, rtol=1e-3, atol=1e-3)
        # A value near a jump of its mechanism may fall on the other side by rounding.
        assert close.mean() > 0.999
        for j, node in enumerate(spec.nodes):
            if scaling == "internal" or (node.root and node.kind in ("continuous", "count")):
                assert abs(values[j].mean()) < 1e-3 and abs(values[j].std() - 1) < 1e-3
            else:
                assert node.scaling is None


def test_one_spec_is_calibrated_as_among_others(drafts):
    together = calibrate(drafts[:6], frame=suites.MAIN.frame)
    (alone,) = calibrate(drafts[3:4], frame=suites.MAIN.frame)
    assert alone.spec == together[3].spec and (alone.values == together[3].values).all()


def test_the_response_of_a_linear_mechanism():
    """The mean absolute difference of two standard normals is 2 / sqrt(pi)."""
    spec = SCMSpec.from_dict(
        {
            "schema_version": 1,
            "name": "pair",
            "nodes": [
                {"name": "a", "root": {"family": "gaussian", "mean": 0.0, "scale": 1.0}},
                {"name": "b", "root": {"family": "gaussian", "mean": 0.0, "scale": 1.0}},
                {
                    "name": "c",
                    "parents": ["a", "b"],
                    "mechanism": {"family": "linear_additive", "weight": [2.0, -0.01], "bias": 0.0},
                    "noise": {"family": "gaussian", "scale": 1.0},
                },
            ],
        }
    )
    ((_, _, response),) = calibrate([spec])
    size = 2 / np.sqrt(np.pi) / np.sqrt(5.0)
    assert response["a", "c"] == pytest.approx(2 * size, rel=0.1)
    assert response["b", "c"] == pytest.approx(0.01 * size, rel=0.1)


def test_every_bank_of_the_suites_is_in_their_vocabulary(drafts):
    known = {bank_key(blueprint) for blueprint in suites.MAIN.frame.vocabulary}
    for draft in drafts:
        scm = compile_on_host(draft)
        assert {_key_of(bank) for bank in itertools.chain(scm.mechanisms, scm.noises)} <= known


def test_pools_of_one_frame_share_their_programs(drafts):
    """SCMs of other families and sizes, other numbers of them: nothing is compiled again."""
    frame = suites.MAIN.frame
    narrow = [draft for draft in drafts if max(len(node.parents) for node in draft.nodes) <= 8]

    def use(some):
        (calibrated, *_) = (calibrate(some, frame=frame),)
        pool = Pool([compile_on_host(one.spec, widths=frame.parents) for one in calibrated], frame)
        pool.draw(range(len(some)), keys_of((i,) for i in range(len(some))), 50)

    use(narrow[:3])
    before = programs.count()
    use(narrow[3:4])
    use(narrow[4:])
    assert programs.count() == before


def test_keys_on_the_host_are_the_same_keys():
    names = [("a", 1), ("b", 2)]
    words = keys_of(names).words
    assert (words == [jax.random.key_data(key_of(*name)) for name in names]).all()
    assert rng_of("a", 1).random() == rng_of("a", 1).random() != rng_of("b", 2).random()


@pytest.fixture
def families_are_forgotten():
    before = {kind: dict(known) for kind, known in REGISTRY.items()}
    yield
    for kind, known in REGISTRY.items():
        known.clear()
        known.update(before[kind])


def own_noise(calibrate):
    class HalfAsLoud(Noise, family="half_as_loud"):
        """As loud as half of the signal's standard deviation, which must be positive."""

        calibrated = ("size",)
        size: Float[Array, ""] = param("standard deviation", gt=0.0, pad=1.0)

        @classmethod
        def prior(cls, rng):
            return {}

        def __call__(self, signal, u, parents):
            return signal + self.size * (u - 0.5) * 12**0.5

    HalfAsLoud.calibrate = calibrate


def test_a_noise_of_ones_own_with_a_constrained_calibrated_field(families_are_forgotten):
    own_noise(lambda self, signal, u: (0.5 * signal.std(),))
    options = {"mechanisms": ["linear_additive"], "noises": ["half_as_loud"], "roots": ["gaussian"]}
    spec = arena.synthetic.sample_spec(jax.random.key(0), d=6, **options)
    scm = arena.compile(spec)
    values = np.asarray(scm.sample(jax.random.key(1), 4000))
    for j, node in enumerate(spec.nodes):
        if node.parents:
            columns = values[:, [spec.names.index(parent) for parent in node.parents]]
            signal = columns @ np.asarray(node.mechanism.weight)
            assert node.noise.size == pytest.approx(0.5 * signal.std(), rel=0.15)
            assert values[:, j].var() == pytest.approx(1.25 * signal.var(), rel=0.15)


@pytest.mark.parametrize("given", [lambda x: x, lambda x: (x, x), lambda x: (), lambda x: (x[None],)])
def test_a_wrong_calibrate_is_named(families_are_forgotten, given):
    own_noise(lambda self, signal, u: given(signal.std()))
    options = {"mechanisms": ["linear_additive"], "noises": ["half_as_loud"], "roots": ["gaussian"]}
    with pytest.raises(SpecError, match="'half_as_loud': calibrate must give a tuple of 1 numbers: size"):
        arena.synthetic.sample_spec(jax.random.key(0), d=5, **options)
