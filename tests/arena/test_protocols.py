"""The six protocols and the difficulty schedule: counts, balance, ranges, restrictions."""

import collections
import itertools

import jax
import numpy as np
import pytest
from specs import linear_gaussian

from arena.compiler import compile_on_host
from arena.errors import SpecError
from arena.pool import Pool
from arena.protocols import FACTORS, JITTER, PERCENTILES, PROTOCOLS, SETPOINTS, SHIFTS, target_pool
from arena.synthetic.difficulty import PAIRS, STRESSORS, stressors_of

D = 12
#: Columns 0-3 are roots; 3 and 4 are discrete.
KINDS = ["continuous"] * 3 + ["binary", "ordinal"] + ["continuous"] * (D - 5)
IS_ROOT = np.arange(D) < 4
EVERY = sorted(PROTOCOLS)


def baseline_of(seed=0, n=1000):
    rng = np.random.default_rng(seed)
    baseline = rng.normal(rng.normal(size=D), np.arange(1, D + 1), size=(n, D))
    baseline[:, 3], baseline[:, 4] = rng.random(n) < 0.3, rng.integers(0, 5, n) - 1.5
    return baseline.astype(np.float32)


BASELINE = baseline_of()


def plan_of(name, seed=0, pool=None, **options):
    protocol, rng = PROTOCOLS[name], np.random.default_rng(seed)
    if pool is None:
        pool = target_pool(rng, D, protocol.candidates(KINDS, IS_ROOT))
    return protocol.plan(rng, pool, BASELINE, KINDS, IS_ROOT, **options), pool


def spread(j):
    low, high = np.percentile(BASELINE[:, j].astype(float), (25, 75))
    return high - low


def shift_of(edits, j, rows):
    """(strength, offset in IQRs) of a target's parameter shift, from the rows that have it."""
    pairs = set(zip(edits.strength[rows, j].tolist(), edits.offset[rows, j].tolist(), strict=True))
    assert len(pairs) == 1  # one changed mechanism for all rows of a target
    strength, offset = pairs.pop()
    return strength, offset / spread(j)


def test_the_protocols_of_the_paper():
    table = {name: (p.n_obs, p.n_int, p.n_targets, len(p.changes), p.structural) for name, p in PROTOCOLS.items()}
    assert table == {
        "default_resampling": (800, 200, (1, 1), 1, False),
        "fixed_setpoint": (800, 200, (1, 1), 1, False),
        "parameter_shift": (800, 200, (1, 1), 1, True),
        "high_fraction": (200, 800, (1, 1), 1, False),
        "multi_target": (800, 200, (2, 4), 1, False),
        "dense_mixed": (200, 800, (2, 4), 3, True),
    }


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("seed", range(3))
def test_rows_targets_and_tables_of_every_protocol(name, seed):
    protocol = PROTOCOLS[name]
    plan, pool = plan_of(name, seed)
    assert plan.mask.shape == (protocol.n_int, D) and plan.mask.dtype == bool
    assert plan.units.tolist() == list(range(protocol.n_obs, 1000)) and plan.units.dtype == np.int32
    for table, neutral in zip(plan.edits[1:], (1, 0, 1), strict=True):
        assert table.shape == plan.mask.shape and table.dtype == np.float32 and np.isfinite(table).all()
        assert (table[~plan.mask] == neutral).all()
    assert np.flatnonzero(plan.mask.any(0)).tolist() == pool
    assert np.ptp(plan.mask.sum(0)[pool]) <= 1
    sizes, counts = np.unique(plan.mask.sum(1), return_counts=True)
    low, high = protocol.n_targets
    assert sizes.tolist() == list(range(low, min(high, len(pool)) + 1)) and np.ptp(counts) <= len(protocol.changes)


@pytest.mark.parametrize("name", EVERY)
def test_plans_follow_from_the_generator(name):
    same, other = plan_of(name, 1)[0], plan_of(name, 2)[0]
    for a, b in zip(same.edits, plan_of(name, 1)[0].edits, strict=True):
        assert np.array_equal(a, b)
    assert not np.array_equal(same.edits.offset, other.edits.offset)


def test_inputs_are_not_changed():
    before, pool = BASELINE.copy(), [5, 6, 7]
    for name in EVERY:
        plan_of(name, pool=pool)
    assert np.array_equal(BASELINE, before) and pool == [5, 6, 7]


@pytest.mark.parametrize("name", ["default_resampling", "high_fraction", "multi_target"])
def test_resampling_is_uniform_over_the_range(name):
    plan, pool = plan_of(name, pool=[0, 2, 5, 8])
    assert (plan.edits.gain[plan.mask] == 0).all() and (plan.edits.strength == 1).all()
    for j in pool:
        low, high = np.percentile(BASELINE[:, j], PERCENTILES)
        values = plan.edits.offset[plan.mask[:, j], j]
        assert low - 1e-4 <= values.min() and values.max() <= high + 1e-4
        assert np.ptp(values) > 0.8 * (high - low) and abs(values.mean() - (low + high) / 2) < 0.2 * (high - low)


def test_setpoints_are_percentiles_with_jitter():
    plan, pool = plan_of("fixed_setpoint", pool=[0, 5])
    assert (plan.edits.gain[plan.mask] == 0).all()
    for j in pool:
        points = np.percentile(BASELINE[:, j].astype(float), SETPOINTS)
        values = plan.edits.offset[plan.mask[:, j], j]
        nearest = np.abs(values[:, None] - points).argmin(1)
        assert np.ptp(np.bincount(nearest, minlength=3)) <= 1
        jitter = (values - points[nearest]) / spread(j)
        assert np.abs(jitter).max() < 5 * JITTER and 0.7 * JITTER < jitter.std() < 1.3 * JITTER


def test_parameter_shifts_change_mechanisms_of_structural_targets():
    forms = collections.Counter()
    for seed in range(30):
        plan, pool = plan_of("parameter_shift", seed)
        assert not IS_ROOT[pool].any() and (plan.edits.gain == 1).all()
        for j in pool:
            strength, shift = shift_of(plan.edits, j, plan.mask[:, j])
            if shift:
                assert strength == 1 and SHIFTS[0] - 1e-5 <= abs(shift) <= SHIFTS[1] + 1e-5
                forms["up" if shift > 0 else "down"] += 1
            else:
                assert any(low - 1e-6 <= strength <= high + 1e-6 for low, high in FACTORS)
                forms["strong" if strength > 1 else "weak"] += 1
    bias = forms["up"] + forms["down"]
    assert 0.2 < bias / forms.total() < 0.5 and min(forms.values()) > 10


def test_the_dense_mixture_is_balanced():
    pool = [5, 6, 8, 11]
    plan, _ = plan_of("dense_mixed", pool=pool)
    set_, mask = plan.mask & (plan.edits.gain == 0), plan.mask
    shifted = mask & ~set_
    rows_set, rows_shifted = set_.any(1), shifted.any(1)
    assert not (rows_set & rows_shifted).any() and abs(rows_shifted.sum() - 800 / 3) < 1
    assert np.ptp(shifted.sum(0)[pool]) <= 2  # its targets too are dealt evenly
    at_setpoint = np.zeros_like(mask)
    for j in pool:
        shift_of(plan.edits, j, shifted[:, j])
        points = np.percentile(BASELINE[:, j].astype(float), SETPOINTS)
        at_setpoint[:, j] = (np.abs(plan.edits.offset[:, [j]] - points) < 5 * JITTER * spread(j)).any(1)
    rows_at_setpoint = (at_setpoint | ~set_).all(1) & rows_set  # a few resampled rows come that close by chance
    assert 800 / 3 - 1 < rows_at_setpoint.sum() < 800 / 3 + 25


def test_discrete_targets_are_set_to_values_that_occur():
    for name, levels in (
        ("default_resampling", {3: {0.0, 1.0}, 4: {-1.5, -0.5, 0.5, 1.5, 2.5}}),
        ("fixed_setpoint", {3: {0.0, 1.0}, 4: set(np.percentile(BASELINE[:, 4], SETPOINTS, method="inverted_cdf"))}),
    ):
        plan, _ = plan_of(name, pool=[3, 4])
        for j in (3, 4):
            assert set(plan.edits.offset[plan.mask[:, j], j].tolist()) == levels[j], name
    low, high = np.percentile(BASELINE[:, 4], PERCENTILES, method="inverted_cdf")
    assert low >= -1.5 and high <= 2.5


def test_a_discrete_value_outside_the_percentiles_is_not_drawn():
    rare = BASELINE.copy()
    rare[:, 4] = np.where(np.arange(1000) < 50, 9.0, np.arange(1000) % 2)
    plan = PROTOCOLS["default_resampling"].plan(np.random.default_rng(0), [4], rare, KINDS, IS_ROOT)
    assert set(plan.edits.offset[:, 4].tolist()) == {0.0, 1.0}


@pytest.mark.parametrize("name", ["default_resampling", "fixed_setpoint", "multi_target"])
def test_soft_interventions_blend(name):
    hard, soft = plan_of(name, pool=[0, 5])[0], plan_of(name, pool=[0, 5], softness=0.45)[0]
    assert np.array_equal(soft.mask, hard.mask)
    np.testing.assert_allclose(soft.edits.gain[soft.mask], 0.55, rtol=1e-6)
    np.testing.assert_allclose(soft.edits.offset, 0.45 * hard.edits.offset, rtol=1e-5)


def test_soft_interventions_keep_the_levels_of_discrete_targets():
    plan, _ = plan_of("high_fraction", pool=[3], softness=0.45)
    gain, offset = plan.edits.gain[:, 3], plan.edits.offset[:, 3]
    assert plan.mask[:, 3].all() and set(gain.tolist()) == {0.0, 1.0} and (offset[gain == 1] == 0).all()
    assert abs((gain == 0).mean() - 0.45) < 0.07 and set(offset.tolist()) == {0.0, 1.0}


def test_parameter_shifts_have_no_softness():
    hard, soft = plan_of("parameter_shift")[0], plan_of("parameter_shift", softness=0.45)[0]
    assert all(np.array_equal(a, b) for a, b in zip(hard.edits, soft.edits, strict=True))


def test_candidates():
    everything, structural = list(range(D)), [j for j in range(5, D)]
    for name, protocol in PROTOCOLS.items():
        expected = structural if name in ("parameter_shift", "dense_mixed") else everything
        assert protocol.candidates(KINDS, IS_ROOT) == expected


@pytest.mark.parametrize("pool, words", [([0, 5], "column 0"), ([4, 5], "column 4"), ([], "an empty target pool")])
def test_targets_that_a_protocol_does_not_take(pool, words):
    with pytest.raises(SpecError, match=f"'dense_mixed': found {words}, expected .* continuous variables with parents"):
        plan_of("dense_mixed", pool=pool)


@pytest.mark.parametrize("pool, most", [([5], 1), ([5, 7], 2), ([5, 7, 9], 3)])
def test_small_pools_bound_the_number_of_targets(pool, most):
    plan, _ = plan_of("multi_target", pool=pool)
    sizes = plan.mask.sum(1)
    assert sizes.min() == min(2, most) and sizes.max() == most and np.ptp(plan.mask.sum(0)[pool]) <= 1


@pytest.mark.parametrize("d, low, high", [(5, 2, 4), (10, 2, 4), (20, 3, 6), (30, 4, 8), (50, 5, 12), (100, 8, 20)])
def test_target_pools_have_the_papers_sizes(d, low, high):
    pools = [target_pool(np.random.default_rng(seed), d) for seed in range(300)]
    assert {len(pool) for pool in pools} == set(range(low, high + 1))
    assert all(pool == sorted(set(pool)) for pool in pools)
    assert {j for pool in pools for j in pool} == set(range(d))


def test_target_pools_are_bounded_by_their_candidates():
    for seed in range(20):
        assert set(target_pool(np.random.default_rng(seed), 30, [7, 3, 20, 11, 12])) <= {3, 7, 11, 12, 20}
        assert target_pool(np.random.default_rng(seed), 30, [7, 3]) == [3, 7]
    with pytest.raises(SpecError, match="none of the 30 variables may be intervened on"):
        target_pool(np.random.default_rng(0), 30, [])


def test_a_column_without_interquartile_range_still_shifts():
    flat = BASELINE.copy()
    flat[:, 6] = np.where(np.arange(1000) < 100, 3.0, 1.0)
    protocol = PROTOCOLS["parameter_shift"]
    offsets = [
        np.abs(protocol.plan(np.random.default_rng(seed), [6], flat, KINDS, IS_ROOT).edits.offset[:, 6]).max()
        for seed in range(12)
    ]
    shifted = [offset for offset in offsets if offset]
    assert shifted and all(0.3 * 0.6 - 1e-4 <= offset <= 0.8 * 0.6 + 1e-4 for offset in shifted)


def test_what_units_of_an_scm_become():
    """Set targets have their values, shifted ones a scaled signal; what is no descendant is as in the plain unit."""
    spec = linear_gaussian(0)
    is_root, kinds = ~spec.adjacency.any(0), [node.kind for node in spec.nodes]
    pool, keys = Pool([compile_on_host(spec)]), jax.random.split(jax.random.key(0), 1)
    (plain,) = pool.draw([0], keys, 1000)
    structural = np.flatnonzero(~is_root).tolist()
    for name in ("default_resampling", "parameter_shift"):
        rng = np.random.default_rng(3)
        plan = PROTOCOLS[name].plan(rng, structural[-3:], plain.T, kinds, is_root)
        (values,) = pool.draw([0], keys, 1000, [plan.edits])
        before, after = plain.T[plan.units], values.T[1000:]
        np.testing.assert_allclose(values[:, :1000], plain, atol=1e-5)
        signal = np.stack([
            before @ _weights(spec, j) + spec.nodes[j].mechanism.bias if not is_root[j] else np.zeros(len(before))
            for j in range(len(spec.nodes))
        ], 1)  # fmt: skip
        gain, offset, strength = plan.edits[1:]
        expected = gain * (before + (strength - 1) * signal) + offset
        np.testing.assert_allclose(after[plan.mask], expected[plan.mask], rtol=1e-3, atol=1e-3)
        reached = plan.mask @ _closure(spec.adjacency) > 0
        np.testing.assert_allclose(after[~reached], before[~reached], atol=1e-5)


def _weights(spec, j):
    weights = np.zeros(len(spec.nodes))
    for parent, weight in zip(spec.nodes[j].parents, spec.nodes[j].mechanism.weight, strict=True):
        weights[spec.names.index(parent)] = weight
    return weights


def _closure(adjacency):
    d = len(adjacency)
    return np.linalg.matrix_power(np.eye(d, dtype=int) + adjacency, d) > 0


GRID = list(itertools.product(range(10), range(5), range(20)))


def test_the_schedule_of_every_block():
    for graph, d in itertools.product(range(10), range(5)):
        cases = [stressors_of(graph, d, index) for index in range(20)]
        assert [len(case) for case in cases] == [0, 1, 1, 2] * 5
        singles = [case[0] for case in cases if len(case) == 1]
        assert set(singles) == set(STRESSORS) and max(map(singles.count, singles)) == 2
        paired = [name for case in cases if len(case) == 2 for name in case]
        assert set(paired) == set(STRESSORS)


def test_the_grid_has_every_single_and_pair_about_equally_often():
    cases = collections.Counter(stressors_of(*cell) for cell in GRID)
    assert cases[()] == 250
    assert {cases[(name,)] for name in STRESSORS} == {62, 63}
    assert len(set(map(frozenset, PAIRS))) == len(PAIRS) == 28 and {cases[pair] for pair in PAIRS} == {8, 9}
    assert cases.total() == 1000 and len(cases) == 1 + 8 + 28


def test_stressors_are_spread_over_graphs_and_dimensions():
    for axis, size in ((0, 10), (1, 5)):
        for level in range(size):
            cases = collections.Counter(name for cell in GRID if cell[axis] == level for name in stressors_of(*cell))
            mean = cases.total() / len(STRESSORS)
            assert set(cases) == set(STRESSORS) and all(abs(count - mean) < 0.2 * mean for count in cases.values())


def test_pairs_are_named_in_the_order_in_which_they_act():
    assert all(STRESSORS.index(a) < STRESSORS.index(b) for a, b in PAIRS)
