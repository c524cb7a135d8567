"""Written scenarios: names, targets, resampling, and their place in suites."""

import shutil

import jax
import numpy as np
import pytest
from scipy import stats

import arena
import arena.generate
from arena import authored, drawing, suites, written
from arena.audit import audit, audit_family
from arena.errors import SourceError
from arena.files import open_scenario
from arena.protocols import PROTOCOLS
from arena.selection import Selection

NAME = "barometric_reduction"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A few scenarios as the main suite has them, two replicates each."""
    out = tmp_path_factory.mktemp("formula")
    return out, arena.generate.generate("main", out, Selection(("formula",), limit=3, replicates=2))


def test_a_name_loads_and_runs():
    spec = arena.load(f"formula:{NAME}")
    assert spec.name == "Barometric reduction to sea level" and spec.factors["domain"] == "earth_systems"
    scm = arena.compile(spec)
    data = arena.sample(scm, jax.random.key(0), n=500)
    night = arena.counterfactual(scm, data, observation_window=0)
    day = data.values[:, spec.names.index("observation_window")] == 1
    moved = (night.values != data.values).any(axis=1)
    assert (moved == day).all()
    # The plateau's surveyed marks are where they are, day or night.
    assert (night.values == data.values)[:, spec.names.index("surveyed_elevation")].all()


@pytest.mark.parametrize("name", ["barometric_reductions", "", "../synthetic"])
def test_an_unknown_name_is_one_error(name):
    with pytest.raises(SourceError, match="no formula scenario"):
        arena.load(f"formula:{name}")
    with pytest.raises(SourceError, match="no formula scenario"):
        audit_family("formula", [name])
    with pytest.raises(SourceError, match="no family 'formulas' \\(did you mean 'formula'"):
        audit_family("formulas")


def test_what_is_generated_passes_the_audit(folder):
    out, paths = folder
    assert len(paths) == 3 and all(path.parent.name == "main" and path.parts[-3] == "formula" for path in paths)
    findings = audit(out)
    assert {"units", "residual", "orientation", "others_stay"} <= {finding.rule for finding in findings}
    assert [finding for finding in findings if not finding.ok] == []


@pytest.mark.parametrize("damage", [b"{", b"junk"])
def test_a_damaged_spec_is_a_finding(folder, tmp_path, damage):
    scenario = tmp_path / "one"
    shutil.copytree(folder[1][0], scenario)
    (scenario / "spec.json").write_bytes(damage)
    failed = {finding.rule: finding.measured for finding in audit(scenario) if not finding.ok}
    assert set(failed) == {"files", "spec"} and "is damaged" in failed["spec"]


def test_targets_are_what_can_be_set(folder):
    for path in folder[1]:
        scenario = open_scenario(path)
        spec = arena.load(path)
        can = {node.name for node in spec.nodes if node.intervention is not None}
        mixed = scenario.load("obs_int", 0)
        assert {mixed.names[j] for j in np.flatnonzero(mixed.mask.any(axis=0))} == can
        assert set(scenario.manifest["provenance"]["target_pool"]) == can


def test_set_values_come_from_the_resampler():
    """Beside the percentiles of the variable, which another distribution does not follow."""
    data = arena.load(f"formula:{NAME}").model_dump(mode="json", exclude_defaults=True)
    for node in data["nodes"]:
        node.pop("intervention", None)
        node.pop("resampler", None)
    target = next(node for node in data["nodes"] if node["name"] == "raw_pressure")
    target |= {"intervention": "Pump.", "resampler": {"family": "gamma", "concentration": 2.0, "rate": 0.5}}
    spec = arena.load(data)
    member = drawing.Member("formula/x", "formula", spec, authored.sampled([spec])[0].values.T, [], [])
    (drawn,) = drawing.draw([member], 3, PROTOCOLS["default_resampling"], 0)
    values = np.concatenate([
        replicate["obs_int"].values[replicate["obs_int"].mask] for replicate in drawn.replicates
    ])  # fmt: skip
    assert len(values) == 600 and stats.kstest(values, stats.gamma(2.0, scale=2.0).cdf).pvalue > 0.01


def test_a_protocol_without_a_target_is_one_error():
    """Both of its targets are roots, and a shift of parameters takes none."""
    (member,) = written.members([written.Place("main", "formula", NAME)])
    with pytest.raises(SourceError, match="none of its targets is one that the protocol 'parameter_shift' takes"):
        drawing.draw([member], 1, PROTOCOLS["parameter_shift"], 0)


def test_the_main_suite_has_them_and_others_have_not():
    ids = [cell.id for cell in suites.cells("main", Selection(("formula",)))]
    assert ids == [f"formula/main/{name}" for name in authored.files("formula")]
    assert all(
        cell.family == "synthetic" for name in ("mini", "sample-size", "protocols") for cell in suites.cells(name)
    )
    both = suites.cells("main")
    assert len(both) == 1000 + len(ids) and [cell.id for cell in both] == sorted(cell.id for cell in both)
    assert {cell.family for cell in suites.cells("main", Selection(max_d=15))} == {"synthetic"}


def test_the_same_seed_gives_the_same_tables(folder):
    """Also where fewer replicates are asked for."""
    out, paths = folder
    again = arena.generate.generate("main", out.parent / "again", Selection(("formula",), limit=3, replicates=1))
    for first, second in zip(paths, again, strict=True):
        a, b = open_scenario(first).load("obs", 0), open_scenario(second).load("obs", 0)
        assert a.names == b.names and (a.values == b.values).all()


def test_a_spec_is_sampled_as_it_is():
    """No root is standardised, no noise calibrated, whatever its family would have."""
    spec = arena.load(f"formula:{NAME}")
    ((same, values, response),) = authored.sampled([spec])
    assert same == spec and values.shape == (16, 1000)
    assert 990 < values[spec.names.index("raw_pressure")].mean() < 998
    assert set(response) == {(edge.source, edge.target) for edge in spec.edges}
