import numpy as np
import pytest

from arena import audit as rules
from arena import quality
from arena.audit import audit
from arena.dag import depth
from arena.dataset import Dataset
from arena.errors import SourceError
from arena.files import StoredScenario, write_scenario

NAMES = ("a", "b", "c", "d")
CHAIN = np.eye(4, k=1, dtype=np.int8)
CHAIN[0, 2] = 1  # a fourth edge: ceil(0.8 d) of them are asked for


def good_values(n=200):
    values = np.random.default_rng(0).standard_normal((n, 4))
    values[:, 3] = values[:, 3] > 0
    return values


def store(path, *, values=None, graph=CHAIN, touched=("b", "c"), family="synthetic", **changes):
    values = good_values() if values is None else values
    mask = np.zeros(values.shape, bool)
    for row, name in enumerate(touched):
        mask[row, NAMES.index(name)] = True
    arguments = {
        "id": "synthetic/s",
        "family": family,
        "factors": {"graph_family": "chain"},
        "adjacency": graph,
        "names": NAMES,
        "spec_json": None,
        "replicates": [
            {
                "obs": Dataset(NAMES, values, adjacency=graph),
                "obs_int": Dataset(NAMES, values, mask, adjacency=graph),
            }
        ],
        "provenance": {"target_pool": ["b", "c"]},
    }
    return write_scenario(path, **{**arguments, **changes})


def failed(findings):
    return {finding.rule for finding in findings if not finding.ok}


def test_a_good_scenario_passes_every_rule(tmp_path):
    findings = audit(store(tmp_path / "s"))
    assert failed(findings) == set()
    assert {finding.rule for finding in findings} == {
        "files",
        *rules.GRAPH_RULES,
        *quality.RULES,
        *rules.TABLE_RULES,
    }
    assert {finding.where for finding in findings} == {
        "synthetic/s",
        "synthetic/s replicate 0 obs",
        "synthetic/s replicate 0 obs_int",
    }


def column(j, new):
    values = good_values()
    values[:, j] = new(values)
    return values


@pytest.mark.parametrize(
    ("changes", "rule", "measured"),
    [
        ({"graph": np.zeros((4, 4))}, "no_isolated_variable", "'a', 'b', 'c', 'd'"),
        ({"graph": np.eye(4, k=2)}, "depth", "depth 1"),
        ({"graph": np.eye(4, k=2)}, "edges", "2 edges"),
        ({"values": column(0, lambda v: 3.0)}, "no_constant_continuous", "'a' relative SD 0"),
        ({"values": column(0, lambda v: 3 + 1e-9 * v[:, 0])}, "no_constant_continuous", "'a' relative SD"),
        (
            {"values": column(3, lambda v: np.arange(200) == 0)},
            "no_dominant_category",
            "'d' 99.5 % of rows",
        ),
        ({"values": column(1, lambda v: -v[:, 0] + 0.01 * v[:, 1])}, "no_duplicate_pair", "'a', 'b'"),
        ({"touched": ("b", "c", "d")}, "mask_in_target_pool", "'d'"),
        ({"touched": ("b",)}, "every_target_used", "'c'"),
    ],
)
def test_each_rule_finds_what_it_is_for(tmp_path, changes, rule, measured):
    findings = audit(store(tmp_path / "s", **changes))
    (first, *_) = [finding for finding in findings if finding.rule == rule and not finding.ok]
    assert measured in first.measured
    if rule in rules.TABLE_RULES:
        assert failed(findings) == {rule}


def test_depth_and_edges_are_asked_of_synthetic_graphs_only(tmp_path):
    findings = audit(store(tmp_path / "s", graph=np.eye(4, k=2), family="formula"))
    assert failed(findings) == set()


def test_required_depth_follows_the_graph_family(tmp_path):
    graph = np.zeros((4, 4), int)
    graph[[0, 0, 1, 1], [1, 3, 2, 3]] = 1  # depth 2
    random = store(tmp_path / "1", graph=graph, factors={"graph_family": "erdos_renyi"})
    chain = store(tmp_path / "2", graph=graph)
    assert failed(audit(random)) == set()
    assert failed(audit(chain)) == {"depth"}


def test_without_a_recorded_pool_its_rules_do_not_apply(tmp_path):
    findings = audit(store(tmp_path / "s", provenance={}, touched=()))
    assert not {"mask_in_target_pool", "every_target_used"} & {finding.rule for finding in findings}


def test_rows_that_differ_from_the_record(tmp_path):
    scenario = StoredScenario(store(tmp_path / "s"), rules.open_scenario(tmp_path / "s").manifest)
    scenario.manifest["rows"] = [{"obs": 7}]
    verdict = rules.rows_as_recorded(scenario.load("obs", 0), scenario, "obs", 0)
    assert verdict == ("200 rows", "7", False)


def test_damage_is_a_finding(tmp_path):
    path = store(tmp_path / "s")
    (path / "replicate_0" / "obs.parquet").write_bytes(b"")
    (path / "stray.txt").write_text("")
    findings = audit(path)
    assert failed(findings) == {"files", "readable"}
    (files,) = [finding for finding in findings if finding.rule == "files"]
    assert "obs.parquet: is damaged" in files.measured and "stray.txt: is not recorded" in files.measured

    (path / "adjacency.csv").unlink()
    assert failed(audit(path)) == {"files", "acyclic"}
    (path / "manifest.json").write_text("{}")
    assert failed(audit(path)) == {"manifest"}


def test_cyclic_graphs_are_spelt_out(tmp_path):
    scenario = rules.open_scenario(store(tmp_path / "s"))
    assert rules.acyclic(CHAIN + CHAIN.T, scenario) == ("b -> a", "no directed cycle", False)


def test_folders_are_walked(tmp_path):
    store(tmp_path / "x" / "1")
    store(tmp_path / "x" / "2")
    (tmp_path / "x" / ".3.partial").mkdir()
    assert len(audit(tmp_path)) == 2 * len(audit(tmp_path / "x" / "1"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="holds no scenario directory"):
        audit(tmp_path / "empty")


def test_depth():
    assert depth(CHAIN) == 3
    assert depth(np.zeros((3, 3))) == 0
    assert depth(np.triu(np.ones((5, 5)), 1)) == 4


def test_a_scenario_that_lost_its_manifest_fails(tmp_path):
    store(tmp_path / "good")
    (store(tmp_path / "bad") / "manifest.json").unlink()
    assert failed(audit(tmp_path)) == {"manifest"}
