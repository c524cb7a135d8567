"""The gates of formula scenarios: what is shipped passes them, and what an author may do wrong does not."""

import jax
import numpy as np
import pytest
from formula_faults import FAULTS, renamed, seeded

import arena
from arena import authored
from arena.audit import audit_written, table_gates, written_gates
from arena.dataset import Dataset
from arena.errors import SpecError
from arena.formula import gates, pool
from arena.spec import SCMSpec

#: Scenarios that each fault is seeded into, and the least share that the gate meant for it catches.
PLACES, CAUGHT = 10, 0.95
#: Scenarios that are looked at as they are.
SOUND = 10


def failures(specs):
    """For each spec the gates that it, or a sample of it, fails."""
    found = []
    for spec, values, response in authored.sampled(specs):
        some = written_gates(spec, "")
        if np.isfinite(values).all():
            some += table_gates(spec, Dataset(spec.names, values.T, adjacency=spec.adjacency), "")
        ok = {finding.rule: finding.ok for finding in some} | {"live_parents": gates.live_parents(spec, response)[2]}
        found.append({rule for rule, passed in ok.items() if not passed})
    return found


@pytest.fixture(scope="module")
def audited():
    """Gates that fail: of scenarios as they are, and by fault and scenario."""
    every = authored.scenarios("formula")
    faulty = {}
    for name in FAULTS:
        # Begun elsewhere for each, so that many scenarios have their turn.
        start = sum(map(ord, name)) % len(every)
        places = ((one.name, seeded(name, one.spec)) for one in [*every[start:], *every[:start]])
        taken = [(name, place, data) for place, data in places if data is not None][:PLACES]
        faulty |= {(fault, place): SCMSpec.from_dict(data) for fault, place, data in taken}
    sound = every[:: max(1, len(every) // SOUND)][:SOUND]
    found = failures([*(one.spec for one in sound), *faulty.values()])
    return dict(zip((one.name for one in sound), found, strict=False)), dict(
        zip(faulty, found[len(sound) :], strict=True)
    )


def test_scenarios_as_they_are_pass(audited):
    assert audited[0] == dict.fromkeys(audited[0], set())


@pytest.mark.parametrize("fault", FAULTS)
def test_seeded_faults_are_caught_by_the_gate_meant_for_them(audited, fault):
    failed = [gates for (name, _), gates in audited[1].items() if name == fault]
    assert len(failed) == PLACES
    assert sum(FAULTS[fault][0] in gates for gates in failed) >= CAUGHT * len(failed)


def plain(spec):
    return spec.model_dump(mode="json", exclude_defaults=True)


@pytest.fixture(scope="module")
def every():
    return authored.scenarios("formula")


def test_a_copy_with_other_names_is_caught(every):
    for one in every[::10]:
        copied = one._replace(name="copied", spec=SCMSpec.from_dict(renamed(plain(one.spec))))
        found, _, ok = pool.no_same_support([*every, copied])
        assert not ok and found in (f"{one.name} and copied", f"copied and {one.name}")
        assert not pool.no_same_roles([*every, copied])[2]
        assert not pool.no_similar_text([*every, copied])[2]
        assert pool.no_same_support(every)[2]


def test_the_pool_passes_its_gates(every):
    failed = {name: gate(every) for name, gate in pool.POOL_GATES.items() if not gate(every)[2]}
    assert not failed


def test_a_reason_that_fits_everywhere_is_caught(every):
    def with_reason(one):
        edges = list(one.spec.edges)
        edges[0] = edges[0].model_copy(update={"reason": f"{edges[0].source} drives {edges[0].target}."})
        return one._replace(spec=one.spec.model_copy(update={"edges": tuple(edges)}))

    assert pool.no_template_reasons(every[:5])[2]
    found, _, ok = pool.no_template_reasons([*map(with_reason, every[:5])])
    assert not ok and found.startswith("'_ drives _.' 5 times")


def test_an_equation_is_the_core_of_two_scenarios_at_most(every):
    one = every[0]
    assert pool.core_equations([one, one])[2] and not pool.core_equations([one, one, one])[2]


def tampered(one, rows, factor, masked=()):
    """A table of a scenario whose first equation is off in some rows, of which some are said to be set."""
    spec = one.spec
    scm, target = arena.compile(spec), spec.names.index(spec.equations[0].solve_for)
    values = arena.sample(scm, jax.random.key(0), n=200).values.copy()
    values[rows, target] *= factor
    mask = np.zeros(values.shape, bool)
    mask[list(masked), target] = True
    return Dataset(spec.names, values, mask, spec.adjacency)


def test_a_row_that_does_not_keep_its_equation_is_caught(every):
    one = authored.scenario("formula", "barometric_reduction")
    assert gates.residual(one.spec, tampered(one, [], 1.0))[2]
    found, _, ok = gates.residual(one.spec, tampered(one, [7], 1.001))
    assert not ok and found.startswith("'sea_level_pressure' relative residual 0.001")
    found, _, ok = gates.residual(one.spec, tampered(one, [7], 1.001, masked=[7]))
    assert not ok and found.startswith("'altimeter_setting'")  # what follows from it was not computed again


def test_numbers_that_are_not_finite_are_a_finding(every):
    data = plain(every[0].spec)
    node = next(node for node in data["nodes"] if node.get("mechanism", {}).get("family") == "formula")
    node["mechanism"]["expression"] = f"log(-1 - abs({node['mechanism']['expression']}))"
    bad = every[0]._replace(spec=SCMSpec.from_dict(data))
    finite = [finding for finding in audit_written([bad]) if finding.rule == "finite"]
    assert len(finite) == 1 and not finite[0].ok and "must be finite" in finite[0].measured


@pytest.mark.parametrize("field", ["solve_for", "inputs", "valid"])
def test_an_equation_about_an_unknown_variable_is_refused(every, field):
    data = plain(every[0].spec)
    one = data["equations"][0]
    one[field] = {"solve_for": "ghost", "inputs": [*one["inputs"], "ghost"], "valid": {"ghost": [0, 1]}}[field]
    with pytest.raises(SpecError, match=f"equations.{one['id']}.*'ghost'.*not a variable"):
        SCMSpec.from_dict(data)


def test_declared_exceptions_are_the_only_ones(every):
    """Without what is declared, the gate fails: no exception is there that is not needed."""
    one = authored.scenario("formula", "barometric_reduction")
    without = one.spec.model_copy(update={"exceptions": ()})
    values, response = authored.sampled([without])[0][1:]
    table = Dataset(one.spec.names, values.T, adjacency=one.spec.adjacency)
    assert gates.correlation(one.spec, table)[2] and not gates.correlation(without, table)[2]
    assert gates.live_parents(one.spec, response)[2] and not gates.live_parents(without, response)[2]
