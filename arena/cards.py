"""The card of an SCM (paper A.5): what it is, said for people. Text here; the page in `eval.card` adds drawings."""

from typing import NamedTuple

from arena.dag import topological_order
from arena.spec import NodeSpec, SCMSpec


class Line(NamedTuple):
    """One variable of a card, in words.

    Attributes:
        equation: Its structural equation with its noise, or its distribution.
    """

    name: str
    symbol: str
    role: str
    kind: str
    unit: str
    range: str
    process: str
    equation: str
    about: str
    measurement: str
    setting: str


def lines(spec: SCMSpec) -> list[Line]:
    """The variables, causes first."""
    return [_line(spec.nodes[j]) for j in topological_order(spec.adjacency)]


def head(spec: SCMSpec) -> str:
    """One sentence about the size of an SCM, and what it is built around."""
    targets = sum(node.intervention is not None for node in spec.nodes)
    laws = ", ".join(equation.law for equation in spec.equations if equation.core)
    around = f"; built around: {laws}" if laws else ""
    return f"{len(spec.nodes)} variables, {int(spec.adjacency.sum())} edges, {targets} that can be set{around}"


def text(spec: SCMSpec) -> str:
    """The card as text, without the table of variables: what it is, equations, settings, exceptions, references."""
    parts = [f"{spec.name}\n{head(spec)}", spec.description or ""]
    for equation in spec.equations:
        valid = ", ".join(f"{name} in {span(bounds)}" for name, bounds in equation.valid.items())
        parts.append("\n".join(filter(None, [
            f"{equation.relation}    ({equation.law}{', core' if equation.core else ''})",
            f"    gives {equation.solve_for} from {', '.join(equation.inputs)}",
            f"    why so: {equation.orientation}",
            f"    not the other way: {equation.not_reversed}",
            f"    holds for {valid}" if valid else "",
            f"    {equation.reference}",
        ])))  # fmt: skip
    settings = [f"  {line.name}: {line.setting}" for line in lines(spec) if line.setting]
    exceptions = [f"  {one.gate}, {' and '.join(one.variables)}: {one.reason}" for one in spec.exceptions]
    for title, found in (("What can be set", settings), ("Exceptions from the gates", exceptions),
                         ("References", [f"  {one}" for one in spec.references])):  # fmt: skip
        if found:
            parts.append("\n".join([title, *found]))
    return "\n\n".join(filter(None, parts))


def _line(node: NodeSpec) -> Line:
    return Line(
        node.name,
        node.symbol or "",
        node.role or "",
        node.kind,
        node.unit or "",
        span(node.range) if node.range else "",
        (node.process or "").replace("_", " "),
        equation(node),
        node.description or "",
        node.measurement or "",
        node.intervention or "",
    )


def equation(node: NodeSpec) -> str:
    """The structural equation of a variable with noise and constants, or its distribution, and what is done to it."""
    found = _equation(node)
    if node.strength != 1.0:
        found = f"{node.strength:.6g} times ({found})"
    if node.extra_noise:
        found += f"; more noise gaussian(scale {node.extra_noise:.6g})"
    if node.scaling is not None:
        found += f"; then less {node.scaling[0]:.6g}, divided by {node.scaling[1]:.6g}"
    return found


def _equation(node: NodeSpec) -> str:
    if node.root is not None:
        return _call(node.root.family, node.root.model_dump(exclude={"family"}))
    if node.mechanism is None:
        return "jointly with other roots"
    data = node.mechanism.model_dump(exclude={"family"})
    if node.mechanism.family == "formula":
        units = data["units"]
        given = [f"{name} = {value:.6g}{_unit(units.get(name))}" for name, value in data["constants"].items()]
        found = data["expression"] + (f", {', '.join(given)}" if given else "")
    elif node.mechanism.family == "linear_additive":
        terms = [f"{weight:.6g} {parent}" for weight, parent in zip(data["weight"], node.parents, strict=True)]
        found = " + ".join([*terms, *([f"{data['bias']:.6g}"] if data["bias"] else [])]).replace("+ -", "- ")
    else:
        found = _call(node.mechanism.family, data, node.parents)
    if node.noise is None or node.noise.family == "none":
        return found
    return f"{found}; noise {_call(node.noise.family, node.noise.model_dump(exclude={'family'}))}"


def span(bounds: tuple[float, float]) -> str:
    """A range in words."""
    return f"{bounds[0]:g} to {bounds[1]:g}"


def _unit(unit: str | None) -> str:
    return f" {unit}" if unit and unit != "1" else ""


def _call(family: str, data: dict, parents: tuple[str, ...] = ()) -> str:
    """A family with its parameters, shortened where they are many."""
    given = [*parents, *(f"{name} {_short(value)}" for name, value in data.items())]
    return f"{family.replace('_', ' ')}({', '.join(given)})"


def _short(value: object) -> str:
    if isinstance(value, float | int):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        some = [_short(one) for one in value[:12]]
        return "[" + ", ".join(some + (["..."] if len(value) > 12 else [])) + "]"
    return str(value)
