"""Faults that an author may make, seeded into a scenario: each takes a spec's JSON and says which gate is meant for it.

A fault changes a copy in place and gives True, or False where the scenario has no place for it.
"""

import copy
import re
from collections.abc import Callable

import numpy as np

from arena.formula.constants import KNOWN
from arena.spec import SCMSpec

FAULTS: dict[str, tuple[str, Callable[[dict], bool]]] = {}


def fault(gate):
    def register(function):
        FAULTS[function.__name__] = gate, function
        return function

    return register


def seeded(name: str, spec: SCMSpec) -> dict | None:
    """The spec's JSON with the fault in it; None where there is no place for it."""
    data = copy.deepcopy(spec.model_dump(mode="json", exclude_defaults=True))
    return data if FAULTS[name][1](data) else None


def node_of(data, name):
    return next(node for node in data["nodes"] if node["name"] == name)


def equations(data):
    """Variables with a contract, and the contract."""
    return [(node_of(data, one["solve_for"]), one) for one in data["equations"]]


def middle(node):
    """A value and a width of a variable, as its range has them."""
    low, high = node["range"]
    return 0.5 * (low + high), high - low


def with_constant(node, name, value, unit):
    node["mechanism"].setdefault("constants", {})[name] = value
    if unit != "1":
        node["mechanism"].setdefault("units", {})[name] = unit


def replaced(expression, name, by):
    return re.sub(rf"(?<![\w.]){re.escape(name)}(?!\w)", f"({by})", expression)


def plain_formulas(data):
    """Variables with a formula and no contract."""
    contracts = {one["solve_for"] for one in data["equations"]}
    return [
        node for node in data["nodes"]
        if node.get("mechanism", {}).get("family") == "formula" and node["name"] not in contracts
    ]  # fmt: skip


OTHER_UNIT = {
    "m": "km", "Pa": "hPa", "K": "degC", "degC": "K", "s": "min", "kg": "g", "mm": "m", "W": "kW", "m/s": "km/h",
    "nm": "um", "percent": "1", "kPa": "Pa", "J": "kJ", "V": "mV", "A": "mA", "Hz": "kHz", "um": "nm",
}  # fmt: skip


@fault("units")
def swapped_unit(data):
    """An input of an equation is in another unit than its numbers are."""
    for node, _ in equations(data):
        for parent in node["parents"]:
            if node_of(data, parent)["unit"] in OTHER_UNIT:
                node_of(data, parent)["unit"] = OTHER_UNIT[node_of(data, parent)["unit"]]
                return True
    return False


@fault("units")
def constant_in_another_unit(data):
    """A constant's number is of another unit than it says."""
    for node in data["nodes"]:
        units = node.get("mechanism", {}).get("units", {})
        for name, unit in units.items():
            # What occurs twice may be there for its unit only, and cancel.
            if unit in OTHER_UNIT and len(re.findall(rf"\b{re.escape(name)}\b", node["mechanism"]["expression"])) == 1:
                units[name] = OTHER_UNIT[unit]
                return True
    return False


@fault("orientation")
def reversed_equation(data):
    """An equation is solved for one of its inputs, a root that has no other child."""
    children = {node["name"]: [n["name"] for n in data["nodes"] if node["name"] in n.get("parents", ())]
                for node in data["nodes"]}  # fmt: skip
    for node, _ in equations(data):
        for parent in node["parents"]:
            root = node_of(data, parent)
            if "parents" in root or children[parent] != [node["name"]] or root.get("intervention"):
                continue
            others = [name for name in node["parents"] if name != parent]
            at, width = middle(node)
            root |= {"parents": [node["name"], *others], "process": "explicit_equation"}
            root["mechanism"] = {"family": "formula", "expression": " + ".join(root["parents"])}
            del root["root"]
            for field in ("parents", "mechanism", "process"):
                del node[field]
            node["root"] = {"family": "gaussian", "mean": at, "scale": 0.1 * width}
            inputs = {(name, node["name"]) for name in [parent, *others]}
            data["edges"] = [e for e in data["edges"] if (e["source"], e["target"]) not in inputs]
            data["edges"] += [{"source": name, "target": parent, "sign": "+", "reason": "It was turned round."}
                              for name in root["parents"]]  # fmt: skip
            return True
    return False


@fault("orientation")
def hidden_parent(data):
    """An equation has one of its inputs as a fixed number, and the graph has no such edge."""
    for node, _ in equations(data):
        if len(node["parents"]) < 2:
            continue
        name = node["parents"][-1]
        parent = node_of(data, name)
        node["mechanism"]["expression"] = replaced(node["mechanism"]["expression"], name, "usual")
        with_constant(node, "usual", middle(parent)[0], parent["unit"])
        node["parents"] = node["parents"][:-1]
        data["edges"] = [e for e in data["edges"] if (e["source"], e["target"]) != (name, node["name"])]
        return True
    return False


@fault("exactness")
def clipped_output(data):
    """An equation's value is kept in its range by cutting it off."""
    node, _ = equations(data)[0]
    at, width = middle(node)
    node["mechanism"]["expression"] = f"min(max({node['mechanism']['expression']}, least), most)"
    with_constant(node, "least", at - width / 4, node["unit"])
    with_constant(node, "most", at + width / 4, node["unit"])
    return True


@fault("exactness")
def noisy_equation(data):
    """An equation is jittered."""
    node, _ = equations(data)[-1]
    node["noise"] = {"family": "gaussian", "scale": 0.02 * middle(node)[1]}
    return True


@fault("live_parents")
def dead_parent(data):
    """A parent is in the formula, and does nothing."""
    for node in plain_formulas(data):
        for name in node["parents"]:
            parent = node_of(data, name)
            if parent.get("kind", "continuous") == "continuous":
                node["mechanism"]["expression"] = replaced(
                    node["mechanism"]["expression"], name, f"usual + 1e-7 * {name}"
                )
                with_constant(node, "usual", middle(parent)[0], parent["unit"])
                return True
    return False


@fault("non_constant")
def constant_column(data):
    """A variable hardly varies."""
    for node in data["nodes"]:
        if node.get("root") and node.get("kind", "continuous") == "continuous" and middle(node)[0]:
            at = middle(node)[0]
            node["root"] = {"family": "gaussian", "mean": at, "scale": 1e-9 * abs(at)}
            return True
    return False


@fault("constants")
def wrong_constant(data):
    """A constant of nature is one per cent off."""
    for node in data["nodes"]:
        constants = node.get("mechanism", {}).get("constants", {})
        for name in constants.keys() & KNOWN.keys():
            constants[name] *= 1.01
            return True
    return False


@fault("dominant_category")
def dominant_category(data):
    """A setting that is all but never changed."""
    for node in data["nodes"]:
        if node.get("root", {}).get("family") == "bernoulli":
            node["root"]["probability"] = 0.999
            return True
        if node.get("root", {}).get("family") in ("grid", "ordinal"):
            k = len(node["root"]["probability"])
            node["root"]["probability"] = [1.0 - 1e-3 * (k - 1), *[1e-3] * (k - 1)]
            return True
    return False


@fault("correlation")
def near_copy(data):
    """A readout repeats what it reads, within a thousandth."""
    for node in data["nodes"]:
        parents = [p for p in node.get("parents", ()) if node_of(data, p).get("kind", "continuous") == "continuous"]
        if node.get("noise") and node.get("kind", "continuous") == "continuous" and parents:
            # Within the range of what it was, so that nothing that follows from it breaks.
            ranges, (at, width) = [middle(node_of(data, p)) for p in node["parents"]], middle(node)
            first = node["parents"].index(parents[0])
            weight = [0.5 * width / wide * (1.0 if k == first else 1e-4) for k, (_, wide) in enumerate(ranges)]
            bias = at - sum(w * center for w, (center, _) in zip(weight, ranges, strict=True))
            node["mechanism"] = {"family": "linear_additive", "weight": weight, "bias": bias}
            node["noise"] = {"family": "gaussian", "scale": 1e-4 * width}
            pair = {node["name"], parents[0]}
            data["exceptions"] = [e for e in data.get("exceptions", []) if set(e["variables"]) != pair]
            return True
    return False


@fault("validity")
def outside_its_range(data):
    """A range that a part of the rows does not keep."""
    node, _ = equations(data)[0]
    low, high = node["range"]
    node["range"] = [high, high + (high - low)]
    return True


@fault("boundary_mass")
def piled_at_the_end(data):
    """A readout that is cut off at where it usually is."""
    for node in data["nodes"]:
        if node.get("noise", {}).get("family") in ("gaussian", "student_t", "laplace"):
            at, width = middle(node)
            node["noise"] = {"family": "censored", "scale": 0.02 * width, "low": at, "high": at + width}
            node["range"] = [at, at + width]
            data["exceptions"] = [e for e in data.get("exceptions", []) if e["variables"] != [node["name"]]]
            return True
    return False


@fault("schema")
def missing_text(data):
    """A variable that nobody described."""
    del data["nodes"][len(data["nodes"]) // 2]["description"]
    return True


@fault("schema")
def edge_without_a_reason(data):
    """An edge that nobody explained."""
    data["edges"][len(data["edges"]) // 2].pop("reason")
    return True


@fault("exactness")
def clipped_within(data):
    """A clip that something else hides."""
    node, _ = equations(data)[0]
    at, width = middle(node)
    node["mechanism"]["expression"] = f"1 * min({node['mechanism']['expression']}, most)"
    with_constant(node, "most", at + width / 4, node["unit"])
    return True


@fault("schema")
def two_contracts(data):
    """Two equations for one variable."""
    data["equations"].append(data["equations"][0] | {"id": "another", "law": "another law"})
    return True


@fault("schema")
def changed_behind_the_formula(data):
    """An equation that is multiplied by something its units do not see."""
    next(node for node in data["nodes"] if node.get("mechanism"))["strength"] = -1.0
    return True


@fault("resamplers")
def set_beyond_its_range(data):
    """A variable that is set to what it cannot be."""
    node = next(node for node in data["nodes"] if node.get("resampler"))
    low, high = node["range"]
    node["resampler"] = {"family": "uniform", "low": low, "high": high + 2 * (high - low)}
    return True


@fault("kinds")
def continuous_called_binary(data):
    """A continuous variable that is called a switch, so that other gates pass it over."""
    for node in data["nodes"]:
        if node.get("root") and node.get("kind", "continuous") == "continuous":
            node["kind"] = "binary"
            return True
    return False


@fault("process_form")
def misnamed_process(data):
    """A rule that is called a count."""
    for node in data["nodes"]:
        if node.get("mechanism") and not node.get("noise"):
            node["process"] = "count_process"
            return True
    return False


@fault("signs")
def wrong_sign(data):
    """An edge that acts the other way."""
    contracts = {one["solve_for"]: one["inputs"] for one in data["equations"]}
    for edge in data["edges"]:
        if edge["sign"] != "mixed" and edge["source"] in contracts.get(edge["target"], ()):
            edge["sign"] = {"+": "-", "-": "+"}[edge["sign"]]
            return True
    return False


@fault("no_isolated_variable")
def padding(data):
    """A variable that is there for the number's sake."""
    data["nodes"].append(copy.deepcopy(next(n for n in data["nodes"] if n.get("root"))) | {"name": "padding"})
    return True


def renamed(data: dict) -> dict:
    """The same scenario with other names and another order of its variables."""
    text = {node["name"]: f"quantity_{k}" for k, node in enumerate(data["nodes"])}
    rng, data = np.random.default_rng(0), copy.deepcopy(data)
    for node in data["nodes"]:
        expression = node.get("mechanism", {}).get("expression")
        for old, new in text.items():
            expression = expression and re.sub(rf"(?<![\w.]){re.escape(old)}(?!\w)", new, expression)
        if expression:
            node["mechanism"]["expression"] = expression
        node["name"] = text[node["name"]]
        if "parents" in node:
            node["parents"] = [text[p] for p in node["parents"]]
    for edge in data["edges"]:
        edge |= {"source": text[edge["source"]], "target": text[edge["target"]], "reason": "Another reason."}
    for one in data["equations"]:
        one |= {"solve_for": text[one["solve_for"]], "inputs": [text[name] for name in one["inputs"]],
                "valid": {text[name]: bounds for name, bounds in one.get("valid", {}).items()}}  # fmt: skip
    for one in data.get("exceptions", []):
        one["variables"] = [text[name] for name in one["variables"]]
    data["nodes"] = [data["nodes"][i] for i in rng.permutation(len(data["nodes"]))]
    return data
