"""Quality gates of stored scenarios, one named rule each (paper A.2).

A rule is a pure function that measures something and says whether it is within its limit. `GRAPH_RULES` look at a
scenario's graph, `quality.RULES` and `TABLE_RULES` at every stored table, `quality.PAIR_RULES` at matched splits.
"""

import dataclasses
import math
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from arena import authored, drawing, quality
from arena.dag import depth, find_cycle
from arena.dataset import Dataset, Split
from arena.errors import DataError, SourceError, SpecError
from arena.files import StoredScenario, is_scenario, lost_its_manifest, open_scenario
from arena.formula import gates
from arena.formula.pool import POOL_GATES
from arena.members import Member
from arena.protocols import PROTOCOLS
from arena.quality import Verdict
from arena.spec import SCMSpec
from arena.spec_errors import did_you_mean
from arena.stressors import UNRELATED
from arena.synthetic.graphs import FAMILIES

MIN_EDGES_PER_NODE = 0.8
MIN_DEPTH = 2


@dataclasses.dataclass(frozen=True)
class Finding:
    """The outcome of one rule in one place.

    Attributes:
        rule: Name of the rule.
        where: Scenario id, and for tables the replicate and split.
        measured: What was found, with the variable concerned where there is one.
        limit: What would be right.
        ok: Whether it is.
    """

    rule: str
    where: str
    measured: str
    limit: str
    ok: bool


def audit(path: str | os.PathLike[str]) -> list[Finding]:
    """Every rule on the scenario directory at `path`, or on all those below it, sorted by path.

    Damaged files are findings, not errors; rules that would need them are left out.

    Raises:
        SourceError: If there is no scenario directory at or below `path`.
    """
    folders = list(_scenario_folders(Path(path)))
    if not folders:
        raise SourceError(f"{path}: holds no scenario directory; expected one with manifest.json")
    return [finding for folder in folders for finding in audit_scenario(folder)]


def audit_scenario(folder: Path) -> list[Finding]:
    """Every rule on one scenario directory."""
    try:
        scenario = open_scenario(folder)
    except DataError as error:
        return [Finding("manifest", str(folder), str(error), "a readable manifest", False)]
    findings = [Finding("files", scenario.id, *files_match(scenario))]
    try:
        adjacency = scenario.adjacency()
    except DataError as error:
        return [*findings, Finding("acyclic", scenario.id, str(error), "a readable DAG", False)]
    for name, graph_rule in GRAPH_RULES.items():
        findings += _finding(name, scenario.id, graph_rule(adjacency, scenario))
    try:
        spec = _written(scenario)
    except (DataError, SpecError) as error:
        return [*findings, Finding("spec", scenario.id, str(error), "the spec that was written", False)]
    if spec is not None:
        findings += written_gates(spec, scenario.id)
    for replicate in range(scenario.n_replicates()):
        loaded: dict[Split, Dataset] = {}
        for split in scenario.splits:
            where = f"{scenario.id} replicate {replicate} {split}"
            try:
                dataset = loaded[split] = scenario.load(split, replicate)
            except DataError as error:
                findings.append(Finding("readable", where, str(error), "finite values as recorded", False))
                continue
            findings += table_gates(spec, dataset, where)
            for name, table_rule in TABLE_RULES.items():
                findings += _finding(name, where, table_rule(dataset, scenario, split, replicate))
        # Splits that a protocol made are the same units.
        if len(loaded) == 2 and "protocol" in scenario.manifest["provenance"]:
            stressed = bool(set(UNRELATED) & set(scenario.factors.get("difficulty", ())))
            where = f"{scenario.id} replicate {replicate}"
            findings += pair_gates(loaded["obs"], loaded["obs_int"], where, stressed)
    return findings


def audit_family(family: str, only: Sequence[str] | None = None) -> list[Finding]:
    """Every gate on the written scenarios of a family, on one replicate of each, and on the pool of all of them.

    Args:
        family: The family.
        only: Names of scenarios; all, and the pool, when omitted.

    Raises:
        SourceError: If there is no such family or scenario.
    """
    if family not in authored.FAMILIES:
        hint = did_you_mean(family, authored.FAMILIES)
        raise SourceError(f"no family '{family}'{hint} of written scenarios; there are {', '.join(authored.FAMILIES)}")
    pool, findings = {}, []
    for name in only or authored.files(family):
        try:
            pool[name] = authored.scenario(family, name)
        except SpecError as error:
            findings.append(Finding("schema", f"{family}/{name}", str(error), "a valid spec", False))
    if pool:
        findings += audit_written(list(pool.values()))
    if not only:
        for rule, gate in POOL_GATES.items():
            findings += _finding(rule, family, gate(list(pool.values())))
    return findings


def audit_written(pool: Sequence[authored.Authored]) -> list[Finding]:
    """Every gate on some written scenarios, with tables of one replicate."""
    findings, specs = [], [one.spec for one in pool]
    frame = authored.frame_of(specs)
    for one, sample in zip(pool, authored.sampled(specs, frame), strict=True):
        where = f"{one.family}/{one.name}"
        findings += written_gates(one.spec, where)
        findings += _finding("live_parents", where, gates.live_parents(one.spec, sample.response))
        member = Member(where, one.family, one.spec, sample.values.T, [], [])
        try:
            (drawn,) = drawing.draw([member], 1, PROTOCOLS["default_resampling"], 0, frame)
        except DataError as error:
            findings.append(Finding("finite", where, str(error), "finite values", False))
            continue
        obs, mixed = drawn.replicates[0]["obs"], drawn.replicates[0]["obs_int"]
        findings += [*table_gates(one.spec, obs, f"{where} obs"), *table_gates(one.spec, mixed, f"{where} obs_int")]
        findings += pair_gates(obs, mixed, where, False)
    return findings


def written_gates(spec: SCMSpec, where: str) -> list[Finding]:
    """The gates that look at a written spec alone."""
    return [finding for name, gate in gates.SPEC_GATES.items() for finding in _finding(name, where, gate(spec))]


def table_gates(spec: SCMSpec | None, dataset: Dataset, where: str) -> list[Finding]:
    """The rules for a table; those of its spec, where that is written."""
    if spec is None:
        return [finding for name, rule in quality.RULES.items() for finding in _finding(name, where, rule(dataset))]
    return [f for name, gate in gates.TABLE_GATES.items() for f in _finding(name, where, gate(spec, dataset))]


def pair_gates(obs: Dataset, mixed: Dataset, where: str, stressed: bool) -> list[Finding]:
    """The rules for two matched splits."""
    verdicts = {name: rule(obs, mixed, stressed) for name, rule in quality.PAIR_RULES.items()}
    return [finding for name, verdict in verdicts.items() for finding in _finding(name, where, verdict)]


def _written(scenario: StoredScenario) -> SCMSpec | None:
    """The spec of a stored scenario that was written."""
    text = scenario.spec_json() if scenario.family in authored.FAMILIES else None
    return None if text is None else SCMSpec.from_json(text)


def files_match(scenario: StoredScenario) -> tuple[str, str, bool]:
    """Every recorded file is there with the recorded hash, and no other file is."""
    problems = []
    for name in scenario.manifest["files"]:
        try:
            scenario.read(name)
        except DataError as error:
            problems.append(str(error))
    present = {file.relative_to(scenario.path).as_posix() for file in scenario.path.rglob("*") if file.is_file()}
    problems += [
        f"{name}: is not recorded" for name in sorted(present - {*scenario.manifest["files"], "manifest.json"})
    ]
    return "; ".join(problems) or f"{len(scenario.manifest['files'])} files", "all as recorded", not problems


def acyclic(adjacency: np.ndarray, scenario: StoredScenario) -> Verdict:
    """The graph has no directed cycle."""
    cycle = find_cycle(adjacency)
    found = "no cycle" if cycle is None else " -> ".join(scenario.names[i] for i in cycle)
    return found, "no directed cycle", cycle is None


def no_isolated_variable(adjacency: np.ndarray, scenario: StoredScenario) -> Verdict:
    """Every variable has a parent or a child."""
    alone = np.flatnonzero(~(adjacency.any(axis=0) | adjacency.any(axis=1)))
    return _listed(scenario.names, alone) or "none isolated", "none isolated", not len(alone)


def deep_enough(adjacency: np.ndarray, scenario: StoredScenario) -> Verdict:
    """The longest directed path of a synthetic graph has at least 2 edges, 3 in some graph families."""
    if scenario.family != "synthetic":
        return None
    graph_family = FAMILIES.get(str(scenario.factors.get("graph_family")))
    least = MIN_DEPTH if graph_family is None else graph_family.min_depth
    found = depth(adjacency)
    return f"depth {found}", f"at least {least}", found >= least


def enough_edges(adjacency: np.ndarray, scenario: StoredScenario) -> Verdict:
    """A synthetic graph has at least ceil(0.8 d) edges."""
    if scenario.family != "synthetic":
        return None
    least = math.ceil(MIN_EDGES_PER_NODE * len(adjacency))
    found = int(adjacency.sum())
    return f"{found} edges", f"at least {least}", found >= least


def mask_in_target_pool(dataset: Dataset, scenario: StoredScenario, split: Split, replicate: int) -> Verdict:
    """Only variables of the recorded target pool were intervened on."""
    pool = target_pool(scenario, split)
    if pool is None:
        return None
    touched = np.flatnonzero(dataset.mask.any(axis=0)).tolist()
    outside = [i for i in touched if dataset.names[i] not in pool]
    return _listed(dataset.names, outside) or "all in the pool", "all in the pool", not outside


def every_target_used(dataset: Dataset, scenario: StoredScenario, split: Split, replicate: int) -> Verdict:
    """Every recorded target was intervened on in at least one row."""
    pool = target_pool(scenario, split)
    if pool is None:
        return None
    touched = {dataset.names[i] for i in np.flatnonzero(dataset.mask.any(axis=0))}
    unused = [name for name in pool if name not in touched]
    return ", ".join(f"'{name}'" for name in unused) or "all used", "a row for each target", not unused


def rows_as_recorded(dataset: Dataset, scenario: StoredScenario, split: Split, replicate: int) -> Verdict:
    """The table has as many rows as the manifest says."""
    recorded = scenario.manifest["rows"][replicate][split]
    return f"{dataset.n} rows", f"{recorded}", dataset.n == recorded


GraphRule = Callable[[np.ndarray, StoredScenario], Verdict]
TableRule = Callable[[Dataset, StoredScenario, Split, int], Verdict]

GRAPH_RULES: dict[str, GraphRule] = {
    "acyclic": acyclic,
    "no_isolated_variable": no_isolated_variable,
    "depth": deep_enough,
    "edges": enough_edges,
}
TABLE_RULES: dict[str, TableRule] = {
    "mask_in_target_pool": mask_in_target_pool,
    "every_target_used": every_target_used,
    "rows_as_recorded": rows_as_recorded,
}


def target_pool(scenario: StoredScenario, split: Split) -> list[str] | None:
    """The names in the manifest's `provenance.target_pool`; None when none is recorded, or nothing is set."""
    return scenario.manifest["provenance"].get("target_pool") if split == "obs_int" else None


def _finding(rule: str, where: str, verdict: Verdict) -> list[Finding]:
    return [] if verdict is None else [Finding(rule, where, *verdict)]


def _listed(names: tuple[str, ...], index: np.ndarray | list[int]) -> str:
    return ", ".join(f"'{names[i]}'" for i in index)


def _scenario_folders(folder: Path) -> Iterator[Path]:
    if is_scenario(folder) or lost_its_manifest(folder):
        yield folder
    elif folder.is_dir():
        for child in sorted(folder.iterdir()):
            if child.is_dir() and not child.is_symlink() and not child.name.startswith("."):
                yield from _scenario_folders(child)
