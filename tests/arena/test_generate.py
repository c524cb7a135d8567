"""Suites on disk: matched splits, reproducible bytes, a part is the same as in the whole, restartable."""

import dataclasses
import hashlib

import numpy as np
import pytest
from specs import descendants

import arena.generate
from arena import protocols, suites
from arena.audit import audit
from arena.errors import SourceError
from arena.files import open_scenario
from arena.interventions import evaluate
from arena.selection import Selection
from arena.sources import scenarios
from arena.spec import SCMSpec

PART = Selection(max_d=5, limit=2, replicates=2)


def digests(folder):
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pool")
    return folder, arena.generate.generate("mini", folder, PART)


def test_a_part_passes_the_audit(pool):
    folder, paths = pool
    assert len(paths) == 2
    findings = audit(folder)
    assert findings and all(finding.ok for finding in findings)


def test_splits_are_matched_and_interventions_follow_the_protocol(pool):
    for path in pool[1]:
        scenario = open_scenario(path)
        spec = SCMSpec.from_json(scenario.spec_json())
        baseline = dict(zip(spec.names, suites.calibration([spec])[0].T, strict=True))
        touched = set()
        for replicate in range(2):
            obs, mixed = scenario.load("obs", replicate), scenario.load("obs_int", replicate)
            assert obs.values.shape == mixed.values.shape == (1000, 5)
            assert (obs.values[:800] == mixed.values[:800]).all() and not mixed.mask[:800].any()
            rows = mixed.mask[800:]
            assert (rows.sum(1) == 1).all()
            counts = rows.sum(0)[rows.any(0)]
            assert counts.max() - counts.min() <= 1
            for j in np.flatnonzero(rows.any(0)):
                set_to = mixed.values[800:][rows[:, j], j]
                low, high = np.percentile(baseline[obs.names[j]], (10, 90))
                assert low <= set_to.min() and set_to.max() <= high
                kept = [i for i in range(5) if i not in descendants(obs.truth, [j])]
                same = obs.values[800:][rows[:, j]][:, kept] == mixed.values[800:][rows[:, j]][:, kept]
                assert same.all()
            touched |= {obs.names[j] for j in np.flatnonzero(rows.any(0))}
        assert touched == set(scenario.manifest["provenance"]["target_pool"])


def test_stored_tables_are_the_specs(pool):
    """A stored table is what the stored spec gives for the recorded seed: structural equations hold row by row."""
    for path in pool[1]:
        scenario = open_scenario(path)
        spec = SCMSpec.from_json(scenario.spec_json())
        key = suites.key_of("units", spec.content_hash, 0, 1)
        scm = arena.compile(spec)
        again = np.asarray(evaluate(scm, scm.draw_noise(key, 1000)))
        stored = scenario.load("obs", 1).select(spec.names)
        np.testing.assert_array_equal(stored.values, again)
        assert (stored.truth == spec.adjacency).all()


def test_same_bytes_again_and_in_the_whole(pool, tmp_path):
    folder, paths = pool
    arena.generate.generate("mini", tmp_path / "again", PART)
    assert digests(tmp_path / "again") == digests(folder)
    arena.generate.generate("mini", tmp_path / "more", Selection(max_d=5, limit=5, replicates=2))
    whole = digests(tmp_path / "more")
    assert all(whole[name] == digest for name, digest in digests(folder).items())


def test_another_seed_shares_no_table(pool, tmp_path):
    arena.generate.generate("mini", tmp_path, dataclasses.replace(PART, seed=1))
    tables = [{d for name, d in digests(f).items() if name.endswith("obs.parquet")} for f in (pool[0], tmp_path)]
    assert tables[0] and not tables[0] & tables[1]


def test_goes_on_where_it_stopped(tmp_path):
    seen = []

    def stop_after_one(event):
        seen.append(event.id)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        arena.generate.generate("mini", tmp_path, PART, progress=stop_after_one)
    first = tmp_path / seen[0]
    stamp = (first / "manifest.json").stat().st_mtime_ns
    events = []
    paths = arena.generate.generate("mini", tmp_path, PART, progress=events.append)
    assert len(paths) == 2 and (first / "manifest.json").stat().st_mtime_ns == stamp
    assert [event.done for event in events] == [2]


def test_what_is_there_from_another_seed_is_replaced(tmp_path):
    arena.generate.generate("mini", tmp_path, Selection(seed=1, max_d=5, limit=1, replicates=1))
    (path,) = arena.generate.generate("mini", tmp_path, Selection(seed=2, max_d=5, limit=1, replicates=1))
    assert open_scenario(path).manifest["provenance"]["seed"] == 2


@pytest.mark.parametrize(
    "suite, select, words",
    [
        ("mine", Selection(), "did you mean 'mini'"),
        ("mini", Selection(max_d=2), "nothing of suite 'mini'.*5 to 10 variables"),
        ("mini", Selection(families=["semantic"]), "nothing of suite 'mini'"),
    ],
)
def test_wrong_selections_are_named(tmp_path, suite, select, words):
    with pytest.raises(SourceError, match=words):
        arena.generate.generate(suite, tmp_path, select)
    assert not list(tmp_path.iterdir())


def test_a_limit_means_the_same_on_a_suite_and_on_its_folder(pool):
    """`generate --limit K` then `run` is what `run --limit K` is on the whole."""
    folder, paths = pool
    for limit in (1, 2):
        part = [member.id for member in suites.members("mini", dataclasses.replace(PART, limit=limit))]
        assert [scenario.id for scenario in scenarios(folder, Selection(limit=limit))] == part


@pytest.mark.parametrize("d, low, high", [(5, 2, 4), (10, 2, 4), (20, 3, 6), (30, 4, 8), (50, 5, 12), (100, 8, 20)])
def test_target_pools_have_the_papers_sizes(d, low, high):
    sizes = {len(protocols.target_pool(np.random.default_rng(seed), d)) for seed in range(300)}
    assert sizes == set(range(low, high + 1))


def test_discrete_targets_are_set_to_values_that_occur():
    rng = np.random.default_rng(0)
    baseline = np.stack([rng.integers(0, 2, 500), rng.normal(size=500)], 1).astype(float)
    plan = protocols.default_resampling(rng, [0, 1], baseline, ["binary", "continuous"], 0, 400)
    assert set(plan.values[plan.mask[:, 0], 0]) == {0.0, 1.0}
    low, high = np.percentile(baseline[:, 1], (10, 90))
    drawn = plan.values[plan.mask[:, 1], 1]
    assert low <= drawn.min() and drawn.max() <= high and np.ptp(drawn) > 0.9 * (high - low)


def test_the_mini_suite_has_every_mechanism_family():
    found = {family for member in suites.members("mini") for family in member.spec.factors["mechanisms"]}
    assert found == {"linear_additive", "piecewise_threshold", "random_neural", "rff_gp", "formula"}
