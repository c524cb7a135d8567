"""Suites on disk: matched splits, reproducible bytes, a part is the same as in the whole, restartable."""

import dataclasses
import hashlib
import itertools

import numpy as np
import pytest
from specs import descendants

import arena.generate
from arena import drawing, suites
from arena.audit import audit
from arena.errors import SourceError
from arena.files import open_scenario
from arena.keys import key_of
from arena.protocols import PROTOCOLS
from arena.selection import Selection
from arena.sortability import r2_sortability, var_sortability
from arena.sources import scenarios
from arena.spec import SCMSpec
from mechanisms import registry

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
    baselines = {m.id: dict(zip(m.spec.names, m.baseline.T, strict=True)) for m in arena.generate.members("mini", PART)}
    for path in pool[1]:
        scenario = open_scenario(path)
        baseline = baselines[scenario.id]
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
        again = arena.compile(spec).sample(key_of("units", spec.content_hash, 0, 1), 1000)
        stored = scenario.load("obs", 1).select(spec.names)
        np.testing.assert_allclose(stored.values, again, rtol=1e-5, atol=1e-6)
        assert (stored.truth == spec.adjacency).all()


def test_same_bytes_again_and_in_the_whole(pool, tmp_path):
    folder, paths = pool
    arena.generate.generate("mini", tmp_path / "again", PART)
    assert digests(tmp_path / "again") == digests(folder)
    arena.generate.generate("mini", tmp_path / "more", Selection(max_d=5, limit=5, replicates=2))
    whole = digests(tmp_path / "more")
    assert all(whole[name] == digest for name, digest in digests(folder).items())


def test_fewer_replicates_are_the_first_ones(pool, tmp_path):
    arena.generate.generate("mini", tmp_path, dataclasses.replace(PART, replicates=1))
    whole = digests(pool[0])
    assert all(whole[name] == digest for name, digest in digests(tmp_path).items() if "manifest" not in name)


def test_another_seed_shares_no_table(pool, tmp_path):
    arena.generate.generate("mini", tmp_path, dataclasses.replace(PART, seed=1))
    tables = [{d for name, d in digests(f).items() if name.endswith("obs.parquet")} for f in (pool[0], tmp_path)]
    assert tables[0] and not tables[0] & tables[1]


def test_goes_on_where_it_stopped(tmp_path):
    seen = []

    def stop_after_one(event):
        if event.id:
            seen.append(event.id)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        arena.generate.generate("mini", tmp_path, PART, progress=stop_after_one)
    first = tmp_path / seen[0]
    stamp = (first / "manifest.json").stat().st_mtime_ns
    events = []
    paths = arena.generate.generate("mini", tmp_path, PART, progress=events.append)
    assert len(paths) == 2 and (first / "manifest.json").stat().st_mtime_ns == stamp
    assert events[0].done >= 1 and events[-1].done == 2


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
        part = [member.id for member in arena.generate.members("mini", dataclasses.replace(PART, limit=limit))]
        assert [scenario.id for scenario in scenarios(folder, Selection(limit=limit))] == part


def test_what_is_there_and_damaged_is_written_again(tmp_path):
    part = Selection(max_d=5, limit=1, replicates=1)
    (path,) = arena.generate.generate("mini", tmp_path, part)
    good = digests(tmp_path)
    (path / "replicate_0" / "obs.parquet").write_bytes(b"junk")
    arena.generate.generate("mini", tmp_path, part)
    assert digests(tmp_path) == good


def test_the_mini_suite_has_every_mechanism_family():
    specs = [member.spec for member in arena.generate.members("mini")]
    found = {node.mechanism.family for spec in specs for node in spec.nodes if node.mechanism}
    assert found == {"linear_additive", "piecewise_threshold", "random_neural", "rff_gp", "formula"}


def test_the_main_suite_is_the_papers_grid():
    """Ten graph families, five dimensions, twenty each; 800 with independent roots; a quarter baseline (A.1)."""
    cells = suites.grid("main")
    assert len(cells) == len({cell.id for cell in cells}) == 1000
    assert len({cell.graph for cell in cells}) == 10 and {cell.d for cell in cells} == {10, 20, 30, 50, 100}
    settings = [cell.settings() for cell in cells]
    dependency = [s["root_dependency"] for s in settings]
    assert dependency.count("independent_roots") == 800
    assert all(60 <= dependency.count(name) <= 75 for name in set(dependency) - {"independent_roots"})
    assert sum(not s["stressors"] for s in settings) == 250
    assert sum(len(s["stressors"]) == 2 for s in settings) == 250
    assert (len(suites.MAIN.mechanisms), len(suites.MAIN.noises), len(suites.MAIN.roots)) == (17, 15, 14)
    assert len({registry.families("mechanism")[family].tag for family in suites.MAIN.mechanisms}) == 16


def test_a_part_of_the_main_suite(tmp_path):
    """Whatever the stressors, root dependencies and dimensions: tables pass the audit, splits match."""
    for path in arena.generate.generate("main", tmp_path, Selection(max_d=20, limit=6, replicates=1)):
        scenario = open_scenario(path)
        obs, mixed = scenario.load("obs", 0), scenario.load("obs_int", 0)
        assert (obs.values[:800] == mixed.values[:800]).all()
        assert mixed.mask[800:].any(axis=1).all() and not mixed.mask[:800].any()
    assert all(finding.ok for finding in audit(tmp_path))


def test_protocols_generate(tmp_path):
    """What a protocol says about rows and targets is what is written."""
    for name in ("multi_target", "dense_mixed"):
        part = Selection(max_d=10, limit=2, replicates=1)
        for path in arena.generate.generate("mini", tmp_path / name, part, protocol=name):
            mixed, rules = open_scenario(path).load("obs_int", 0), PROTOCOLS[name]
            assert mixed.n == rules.n_obs + rules.n_int
            targets = mixed.mask[rules.n_obs :].sum(axis=1)
            assert targets.min() >= 1 and targets.max() <= rules.n_targets[1]
        assert all(finding.ok for finding in audit(tmp_path / name))


def cells_of_one_scm(suite, n=None):
    cells = [cell for cell in suites.cells(suite) if cell.graph == "tree" and cell.index == 0]
    return [cell for cell in cells if n is None or cell.variant.n in n]


@pytest.mark.parametrize("suite, variants", [("sample-size", 7), ("protocols", 6)])
def test_sensitivity_suites_measure_scms_of_the_main_suite(suite, variants):
    """100 SCMs with d = 30, ten a graph family (paper A.2)."""
    cells = suites.cells(suite)
    assert len(cells) == 100 * variants and len({cell.id for cell in cells}) == len(cells)
    of_main = {cell.id: cell for cell in suites.grid("main")}
    assert len({cell.scm for cell in cells}) == 100
    for cell in cells:
        assert cell.settings() == of_main[cell.scm].settings() and cell.d == of_main[cell.scm].d == 30


def test_larger_samples_begin_with_the_smaller_ones(tmp_path):
    cells = sorted(cells_of_one_scm("sample-size", (100, 500, 1000)), key=lambda cell: cell.variant.n)
    job = arena.generate._Job("sample-size", tmp_path, 0, "paper", 1)
    job.write([cells], lambda id: None)
    tables = [open_scenario(job.path(cell)).load("obs", 0) for cell in cells]
    assert [table.n for table in tables] == [100, 500, 1000]
    for smaller, larger in itertools.pairwise(tables):
        np.testing.assert_allclose(larger.values[: smaller.n], smaller.values, rtol=1e-4, atol=1e-5)
    mixed = open_scenario(job.path(cells[1])).load("obs_int", 0)
    assert mixed.mask.any(axis=1).sum() == 100
    assert all(finding.ok for finding in audit(tmp_path))


def test_protocols_share_their_scm_and_its_units(tmp_path):
    cells = cells_of_one_scm("protocols")
    job = arena.generate._Job("sample-size", tmp_path, 0, "paper", 1)
    job.write([cells], lambda id: None)
    stored = [open_scenario(job.path(cell)) for cell in cells]
    assert len({scenario.manifest["provenance"]["spec_hash"] for scenario in stored}) == 1
    assert {scenario.factors["protocol"] for scenario in stored} == set(PROTOCOLS)
    first = stored[0].load("obs", 0)
    for scenario in stored:
        table = scenario.load("obs", 0).select(first.names)
        assert (table.values == first.values).all()
    assert all(finding.ok for finding in audit(tmp_path))


def test_sortability_is_recorded(pool):
    for path in pool[1]:
        scenario = open_scenario(path)
        for replicate, recorded in enumerate(scenario.manifest["sortability"]):
            for split in ("obs", "obs_int"):
                table = scenario.load(split, replicate)
                assert recorded[split]["var"] == pytest.approx(var_sortability(table.values, table.truth))
                assert recorded[split]["r2"] == pytest.approx(r2_sortability(table.values, table.truth))


def test_internal_scaling_is_another_pool(tmp_path):
    part = Selection(max_d=5, limit=1, replicates=1)
    (path,) = arena.generate.generate("mini", tmp_path, part, scaling="internal")
    spec = SCMSpec.from_json(open_scenario(path).spec_json())
    assert all(node.scaling is not None for node in spec.nodes)
    arena.generate.generate("mini", tmp_path, part)
    assert open_scenario(path).manifest["provenance"]["scaling"] == "paper"


def spec_hash(path):
    return open_scenario(path).manifest["provenance"]["spec_hash"]


def test_sensitivity_suites_have_the_scms_of_the_main_suite_whatever_part_is_asked_for(tmp_path):
    """Also where a small table fails a rule: its units are drawn again, not its SCM."""
    main = [
        cell for cell in suites.grid("main") if cell.d == 30 and cell.index == 0 and cell.graph in ("chain", "tree")
    ]
    expected = {one.member.id: one.member.spec.content_hash for one in drawing.settle(main)}
    for n in ((100,), (100, 500)):
        cells = [cell for cell in suites.cells("sample-size") if cell.scm in expected and cell.variant.n in n]
        job = arena.generate._Job("sample-size", tmp_path / str(len(n)), 0, "paper", 2)
        for cell in cells:
            job.write([[cell]], lambda id: None)
            assert spec_hash(job.path(cell)) == expected[cell.scm]
        assert all(finding.ok for finding in audit(job.out))


def test_members_are_what_is_written(pool):
    hashes = {member.id: member.spec.content_hash for member in arena.generate.members("mini", PART)}
    assert hashes == {open_scenario(path).id: spec_hash(path) for path in pool[1]}


def test_a_suite_with_variants_takes_no_protocol(tmp_path):
    with pytest.raises(SourceError, match="suite 'protocols' has variants of its own"):
        arena.generate.generate("protocols", tmp_path, Selection(limit=1), protocol="multi_target")


def test_corrupted_units_are_the_same_under_every_protocol():
    cells = [cell for cell in suites.grid("main") if cell.d == 10]
    (cell,) = [cell for cell in cells if cell.settings()["stressors"] == ("feature_corruption",)][:1]
    (one,) = drawing.settle([cell])
    tables = [
        drawing.draw([one.member], 1, protocol, frame=suites.MAIN.frame)[0]
        .replicates[0]["obs"]
        .select(one.member.spec.names)
        for protocol in PROTOCOLS.values()
    ]
    assert all((table.values == tables[0].values).all() for table in tables)


@pytest.mark.parametrize("damage", [b"{", b"[1, 2]", b""])
def test_a_damaged_manifest_is_written_again(tmp_path, damage):
    part = Selection(max_d=5, limit=1, replicates=1)
    (path,) = arena.generate.generate("mini", tmp_path, part)
    good = digests(tmp_path)
    (path / "manifest.json").write_bytes(damage)
    arena.generate.generate("mini", tmp_path, part)
    assert digests(tmp_path) == good
