import dataclasses
import json
import subprocess
import sys
import types
from importlib.metadata import EntryPoint

import numpy as np
import pytest

from arena import reference
from arena.errors import MethodError
from methods import registry
from methods.base import Capabilities, Estimate, Method
from methods.function import FunctionMethod
from methods.pc import PC


@dataclasses.dataclass(frozen=True)
class Foreign(Method):
    strength: float = 1.0

    name = "foreign"
    title = "Foreign"
    capabilities = Capabilities()

    def fit(self, dataset, key):
        return Estimate(np.zeros((dataset.d, dataset.d)))


class Unfinished(Method):
    name = "unfinished"


@pytest.fixture
def others(monkeypatch):
    module = types.ModuleType("other_package")
    for name, offered in {
        "Foreign": Foreign,
        "foreign": Foreign(strength=3.0),
        "function": lambda table: table,
        "number": 3,
        "Unfinished": Unfinished,
    }.items():
        setattr(module, name, offered)
    monkeypatch.setitem(sys.modules, "other_package", module)
    offers = {
        "foreign": "other_package:Foreign",
        "renamed": "other_package:Foreign",
        "function": "other_package:function",
        "number": "other_package:number",
        "unfinished": "other_package:Unfinished",
        "absent": "no_such_package:Thing",
        "pc": "other_package:Foreign",
    }
    points = [EntryPoint(name, value, registry.GROUP) for name, value in offers.items()]
    monkeypatch.setattr(registry, "entry_points", lambda group: points)


def test_built_in_names():
    known = registry.names()
    assert set(reference.METHODS) < set(known), "all eighteen of the paper"
    assert known[:2] == ["random_regress", "pc"] and set(registry.floors()) <= set(known[-5:])
    for name in registry.names():
        method = registry.get(name)
        assert method.name == name and method.title
        assert method.capabilities.install or not method.capabilities.packages


def test_settings_reach_the_method():
    assert registry.get("pc", alpha=0.01) == PC(alpha=0.01)


def test_unknown_name_and_setting():
    with pytest.raises(MethodError, match="did you mean 'lingam'.*methods are random_regress, pc"):
        registry.get("LinGAM")
    with pytest.raises(MethodError, match="did you mean 'lingam'"):
        registry.get("DirectLingam")
    with pytest.raises(MethodError, match="no setting 'alfa'; settings are alpha"):
        registry.get("pc", alfa=0.1)
    with pytest.raises(MethodError, match="it has no settings"):
        registry.get("lingam", alpha=0.1)


def test_as_method():
    def mine(table):
        return table

    assert registry.as_method("pc") == registry.as_method(PC) == registry.as_method(PC()) == PC()
    method = registry.as_method(mine)
    assert isinstance(method, FunctionMethod) and method.name == method.title == "mine"
    assert method.settings() == {"threshold": 0.3}
    with pytest.raises(MethodError, match="threshold"):
        FunctionMethod(mine, "mine", threshold=-1.0)


def test_describe_is_json_and_complete():
    rows = json.loads(json.dumps(registry.describe()))
    assert [row["name"] for row in rows] == registry.names()
    by_name = {row["name"]: row for row in rows}
    assert by_name["pc"]["settings"] == {"alpha": 0.05, "max_rows": None} and by_name["pc"]["status"] == "ready"
    assert by_name["gies"]["capabilities"]["splits"] == ["obs", "obs_int"]
    assert by_name["lingam"]["title"] == "DirectLiNGAM"


def test_missing_package_is_unsupported_with_the_command(monkeypatch):
    monkeypatch.delitem(sys.modules, "lingam", raising=False)
    monkeypatch.setattr("methods.needs.find_spec", lambda name: None if name == "lingam" else True)
    row = next(row for row in registry.describe() if row["name"] == "lingam")
    assert row["status"] == "needs package"
    assert row["reason"] == "lingam not installed; run: pip install 'causal-arena[classical]'"


def test_third_party_methods(others):
    assert registry.get("foreign", strength=2.0) == Foreign(strength=2.0)
    assert isinstance(registry.get("function", threshold=0.5), FunctionMethod)
    assert isinstance(registry.get("pc"), PC), "a built-in name cannot be taken over"
    with pytest.raises(MethodError, match="settings are strength"):
        registry.get("foreign", alpha=1)


def test_a_broken_entry_point_does_not_break_the_others(others):
    rows = {row["name"]: row for row in registry.describe()}
    assert rows["pc"]["status"] == rows["foreign"]["status"] == "ready"
    for name, reason in {
        "absent": "no_such_package:Thing) cannot be loaded: ModuleNotFoundError",
        "renamed": "must have that `name`",
        "number": "is int, not a Method and not a function",
        "unfinished": "cannot be made: TypeError",
    }.items():
        assert rows[name]["status"] == "unsupported" and reason in rows[name]["reason"], rows[name]
        with pytest.raises(MethodError):
            registry.get(name)


def test_importing_and_describing_imports_no_library():
    script = (
        "import sys; from methods import registry; registry.describe(); "
        "print(sorted({'causallearn', 'gies', 'lingam', 'sklearn', 'torch', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("value", [float("inf"), float("nan"), "0.1", True])
@pytest.mark.parametrize("give", [lambda value: registry.get("foreign", strength=value), lambda value: Foreign(value)])
def test_settings_are_finite_numbers_however_a_method_was_made(give, value, others):
    with pytest.raises(MethodError, match="foreign: strength is .*; it must be a finite number"):
        registry.as_method(give(value))


@pytest.mark.parametrize("value", [1.5, float("nan"), True, "2", 1.0])
def test_settings_that_may_be_left_out_have_types_too(value):
    with pytest.raises(MethodError, match="cdis: max_conditioning is .*; it must be a whole number"):
        registry.get("cdis", max_conditioning=value)
    assert registry.get("cdis", max_conditioning=None) == registry.get("cdis")
    with pytest.raises(MethodError, match="method 'pc' has no setting 'name'"):
        registry.get("pc", name="x")
