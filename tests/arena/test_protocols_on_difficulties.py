"""Every protocol (paper A.2) on every difficulty (A.1): what rows become, beside the edited SCM itself."""

import equinox as eqx
import numpy as np
import pytest
from specs import descendants

import arena
from arena import suites
from arena.drawing import _once, _plan, draw
from arena.keys import key_of
from arena.protocols import FACTORS, JITTER, PROTOCOLS, SHIFTS
from arena.quality import pair_fault
from arena.stressors import UNRELATED, softness
from arena.synthetic.difficulty import STRESSORS

SEED = 5
SETTINGS = {(): "baseline", **{(name,): name for name in STRESSORS}}


@pytest.fixture(scope="module")
def members():
    """One SCM with ten variables for each of the nine difficulties."""
    places = {}
    for cell in suites.grid("main"):
        if cell.d == 10:
            places.setdefault(cell.settings()["stressors"], cell)
    chosen = [places[setting] for setting in SETTINGS]
    return dict(zip(SETTINGS.values(), suites.accepted(chosen, SEED), strict=True))


@pytest.fixture(scope="module")
def tables(members):
    """For each protocol what is written of each SCM."""
    frame = suites.MAIN.frame
    return {
        name: dict(zip(members, draw(list(members.values()), 1, protocol, SEED, frame), strict=True))
        for name, protocol in PROTOCOLS.items()
    }


@pytest.mark.parametrize("difficulty", SETTINGS.values())
@pytest.mark.parametrize("name", PROTOCOLS)
def test_tables_pass_the_rules_of_matched_splits(tables, members, name, difficulty):
    (replicate,), protocol = tables[name][difficulty].replicates, PROTOCOLS[name]
    obs, mixed = replicate["obs"], replicate["obs_int"]
    assert obs.n == mixed.n == 1000 and not mixed.mask[: protocol.n_obs].any()
    counts = mixed.mask[protocol.n_obs :].sum(axis=1)
    least, most = (min(bound, len(tables[name][difficulty].targets)) for bound in protocol.n_targets)
    assert counts.min() == least and counts.max() == most
    assert {mixed.names[j] for j in np.flatnonzero(mixed.mask.any(axis=0))} == set(tables[name][difficulty].targets)
    # A draw that breaks a rule by chance is drawn anew by `generate`; at this seed none does.
    assert pair_fault(obs, mixed, difficulty in UNRELATED) is None


@pytest.mark.parametrize("difficulty", SETTINGS.values())
@pytest.mark.parametrize("name", PROTOCOLS)
def test_rows_are_what_the_edited_scm_gives(tables, members, name, difficulty):
    """Other code, one loop over the SCM's own nodes, for the same units: all values, descendants included."""
    member, protocol = members[difficulty], PROTOCOLS[name]
    spec, plan = member.spec, _plan(member, _once(member, protocol, SEED), protocol, SEED, 0)
    scm = arena.compile(spec)
    noise = scm.draw_noise(key_of("units", spec.content_hash, SEED, 0), 1000)
    edits = (plan.edits.gain, plan.edits.offset, scm.strength * plan.edits.strength)
    edited = eqx.tree_at(lambda s: (s.gain, s.offset, s.strength), scm, edits)
    plain, expected = np.asarray(scm.evaluate(noise)), np.asarray(edited.evaluate(noise[plan.units]))
    # What is measured may be stressed: compare where nothing is.
    (replicate,) = tables[name][difficulty].replicates
    if not spec.stressors or difficulty == "soft_interventions":
        mixed = replicate["obs_int"].select(spec.names)
        close = np.isclose(mixed.values[protocol.n_obs :], expected, rtol=1e-3, atol=1e-3)
        # A value near a jump of its mechanism may fall on the other side by rounding.
        assert close.mean() > 0.999
        np.testing.assert_array_equal(mixed.mask[protocol.n_obs :], plan.mask)
    reached = np.array(
        [[j in descendants(spec.adjacency, np.flatnonzero(row)) for j in range(10)] for row in plan.mask]
    )
    untouched = ~(reached | plan.mask)
    assert np.isclose(expected[untouched], plain[plan.units][untouched], rtol=1e-4, atol=1e-4).mean() > 0.999
    assert (expected[reached] != plain[plan.units][reached]).any() or not reached.any()


@pytest.mark.parametrize("difficulty", SETTINGS.values())
@pytest.mark.parametrize("name", PROTOCOLS)
def test_targets_become_what_the_protocol_says(members, name, difficulty):
    member, protocol = members[difficulty], PROTOCOLS[name]
    plan = _plan(member, _once(member, protocol, SEED), protocol, SEED, 0)
    weight, kinds = softness(member.spec.stressors), [node.kind for node in member.spec.nodes]
    assert weight == (0.45 if difficulty == "soft_interventions" else 1.0)
    for j in np.flatnonzero(plan.mask.any(axis=0)):
        column, rows = member.baseline[:, j].astype(float), plan.mask[:, j]
        gain, offset, strength = (table[rows, j].astype(float) for table in plan.edits[1:])
        spread = np.subtract(*np.percentile(column, (75, 25))) or column.std()
        shifted, values = (
            np.isin(gain, 1.0),
            np.divide(offset, 1 - gain, where=gain < 1, out=np.full(len(gain), np.nan)),
        )
        if kinds[j] == "continuous":
            assert np.allclose(gain[~shifted], 1 - weight)
        tolerance = 1e-4 * (1 + np.abs(column).max())
        if "parameter_shift" not in protocol.changes:
            assert kinds[j] != "continuous" or not shifted.any()
        else:
            changed = np.abs(offset[shifted]) > 0
            size = np.abs(offset[shifted][changed]) / spread
            assert ((size >= SHIFTS[0] - 1e-4) & (size <= SHIFTS[1] + 1e-4)).all()
            factor = strength[shifted][~changed]
            assert all(any(low - 1e-6 <= f <= high + 1e-6 for low, high in FACTORS) for f in factor)
        if protocol.changes == ("setpoint",):
            points = np.percentile(column, (20, 50, 80))
            away = np.abs(values[~shifted][:, None] - points).min(axis=1)
            if kinds[j] == "continuous":
                assert away.max() <= 5 * JITTER * spread + tolerance
            else:
                assert np.isin(values[~shifted].round(4), np.unique(column).round(4)).all()
        low, high = np.percentile(column, (10, 90))
        slack = 5 * JITTER * spread + tolerance
        if kinds[j] == "continuous":
            assert ((values[~shifted] >= low - slack) & (values[~shifted] <= high + slack)).all()
        else:
            low, high = np.percentile(column, (10, 90), method="inverted_cdf")
            assert ((values[~shifted] >= low - tolerance) & (values[~shifted] <= high + tolerance)).all()
