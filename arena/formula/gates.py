"""Gates of one formula scenario (paper A.3, stage 5): each measures something and says if it is within its limit.

`SPEC_GATES` look at the spec alone, `TABLE_GATES` at a table that is from it.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import jax
import numpy as np

from arena.dataset import Dataset
from arena.formula.constants import ALIASES, KNOWN
from arena.quality import MAX_BOUNDARY_SHARE, MAX_CATEGORY_SHARE, MIN_RELATIVE_SD, Verdict
from arena.spec import NodeSpec, SCMSpec
from arena.units import TOLERANCE, UnitError, check, unit
from mechanisms.expression import Expression, parse

VARIABLES, EDGES, TARGETS = (16, 25), (18, 50), (1, 17)
LEAST_PROCESSES = 3
#: Relative difference of a stored value and its formula in float64; the share of rows that may lie on the other side of
#: a jump, where float32 rounds.
RESIDUAL, JUMPED = 1e-5, 0.002
#: Least share of rows in which a cause acts as its edge says; what moves by less than this share of its range does not.
SIGN_SHARE, ROUNDED = 0.95, 1e-9
#: How far a cause is raised, in its standard deviations; the next where nothing moves.
STEPS = (0.1, 1.0, 3.0)
#: Least share of rows within a range of validity.
VALID_SHARE = 0.99
#: Values of an ordinal variable at most.
MOST_LEVELS = 100
#: How far outside its range a value may lie, in widths of the range.
FAR = 4.0
#: Largest correlation of two continuous variables.
CORRELATION = 0.90
#: Least mean effect of a parent on its child's equation, in standard deviations of the child.
RESPONSE = 0.01
#: The same where an exception is declared.
LEAST_RESPONSE = 1e-6
#: Points of the variables' ranges at which units are compared.
POINTS = 40
#: A constant has four digits right.
DIGITS = 5e-5
#: Operations that would cut an equation's value off.
CUTS = ("min", "max")
JUMPS = ("floor", "lt", "le", "where")


def schema(spec: SCMSpec) -> Verdict:
    """Every core field of paper A.5 is there."""
    missing = [*_missing_of_spec(spec)]
    for node in spec.nodes:
        missing += [f"'{node.name}': {field}" for field in _missing_of(node)]
    missing += [f"{edge.source} -> {edge.target}: reason" for edge in spec.edges if not (edge.reason or "").strip()]
    missing += [f"{edge.source} -> {edge.target}: sign" for edge in spec.edges if not edge.sign]
    return _some(missing, "missing") or "all there", "every field of A.5", not missing


def _missing_of_spec(spec: SCMSpec) -> Iterator[str]:
    fields = {"description": spec.description, "edges": spec.edges, "references": spec.references,
              "equations": spec.equations}  # fmt: skip
    yield from (field for field, value in fields.items() if not value)
    if not any(equation.core for equation in spec.equations):
        yield "a core equation"
    for field in ("id", "solve_for"):
        found = [getattr(equation, field) for equation in spec.equations]
        yield from (f"another {field} than '{one}'" for one in sorted({one for one in found if found.count(one) > 1}))
    for one in spec.exceptions:
        wanted = 2 if one.gate in ("correlation", "live_parents") else 1
        if len(set(one.variables)) != wanted:
            yield f"{wanted} variables of the exception '{one.gate}' on {', '.join(one.variables)}"


def _missing_of(node: NodeSpec) -> Iterator[str]:
    for field in ("unit", "description", "role", "range", "measurement"):
        value = getattr(node, field)
        if value is None or isinstance(value, str) and not value.strip():
            yield field
    if (node.strength, node.extra_noise, node.scaling) != (1.0, 0.0, None):
        yield "an equation without strength, extra_noise and scaling, which units do not see"
    if node.parents and node.process is None:
        yield "process"
    if node.intervention is not None and node.resampler is None:
        yield "resampler"


def size(spec: SCMSpec) -> Verdict:
    """16-25 variables, 18-50 edges, 1-17 targets (paper A.5)."""
    counts = (len(spec.nodes), int(spec.adjacency.sum()), sum(n.intervention is not None for n in spec.nodes))
    bounds = (VARIABLES, EDGES, TARGETS)
    ok = all(low <= count <= high for count, (low, high) in zip(counts, bounds, strict=True))
    words = "variables, {} edges, {} targets"
    limit = ("{} " + words).format(*(f"{low}-{high}" for low, high in bounds))
    return ("{} " + words).format(*counts), limit, ok


def no_isolated_variable(spec: SCMSpec) -> Verdict:
    """Every variable has a parent or a child, and all hang together."""
    adjacency = np.asarray(spec.adjacency, bool)
    reached = np.eye(len(adjacency), dtype=bool)[0]
    for _ in range(len(adjacency)):
        reached = reached | (adjacency | adjacency.T)[reached].any(axis=0)
    alone = [name for name, found in zip(spec.names, reached, strict=True) if not found]
    return _some(alone, "apart") or "one piece", "one connected graph", not alone


def mechanism_families(spec: SCMSpec) -> Verdict:
    """At least three kinds of structural equation."""
    found = sorted({node.process for node in spec.nodes if node.process})
    return f"{len(found)}: {', '.join(found)}", f"at least {LEAST_PROCESSES}", len(found) >= LEAST_PROCESSES


def process_form(spec: SCMSpec) -> Verdict:
    """A variable's equation is of the kind that its process says."""
    wrong = []
    for node in spec.nodes:
        if node.parents and node.process and not _FORMS.get(node.process, lambda node: True)(node):
            wrong.append(f"'{node.name}' is no {node.process}")
    return _some(wrong, "wrong") or "all fit", "equation and noise of that kind", not wrong


def units(spec: SCMSpec) -> Verdict:
    """Every formula gives the same number in plain numbers and in quantities, in the unit of its variable."""
    of, worst, where = {node.name: node.unit for node in spec.nodes}, 0.0, "all"
    for node in spec.nodes:
        try:
            unit(node.unit)
            if (expression := formula_of(node)) is None:
                continue
            values = {name: _within(spec, name) for name in expression.parents}
            mechanism = node.mechanism
            off = check(
                mechanism.expression, {p: of[p] for p in node.parents}, mechanism.constants, mechanism.units,  # type: ignore[union-attr]
                node.unit, values,
            )  # fmt: skip
        except UnitError as error:
            return f"'{node.name}': {error}", "consistent units", False
        if not off <= worst:
            worst, where = off, f"'{node.name}'"
        if not off <= TOLERANCE:
            break  # also where it is not a number
    return f"{where} relative difference {worst:.2g}", f"at most {TOLERANCE:g}", worst <= TOLERANCE


def orientation(spec: SCMSpec) -> Verdict:
    """Every contract is kept: an equation's variable is computed from its inputs, and from nothing else."""
    wrong, nodes = [], {node.name: node for node in spec.nodes}
    for equation in spec.equations:
        node = nodes[equation.solve_for]
        if set(equation.inputs) != set(node.parents):
            found = ", ".join(node.parents) or "nothing"
            wrong.append(f"'{equation.id}': '{node.name}' is computed from {found}, not {', '.join(equation.inputs)}")
        elif set(equation.valid) - {node.name, *node.parents}:
            wrong.append(f"'{equation.id}': a range of a variable that is not in it")
        else:
            symbols = [nodes[name].symbol for name in (equation.solve_for, *equation.inputs)]
            absent = [s or "a symbol" for s in symbols if not s or not _is_word(s, equation.relation)]
            wrong += [f"'{equation.id}': {absent[0]} does not occur in '{equation.relation}'"] if absent else []
    return _some(wrong, "broken") or f"{len(spec.equations)} contracts kept", "contract and graph agree", not wrong


def exactness(spec: SCMSpec) -> Verdict:
    """Equations have no noise and no clip, and what is called an explicit equation has a contract."""
    wrong, contracts = [], {equation.solve_for for equation in spec.equations}
    for node in spec.nodes:
        expression = formula_of(node)
        if node.name in contracts:
            if expression is None or node.noise is not None or node.extra_noise:
                wrong.append(f"'{node.name}' is no formula without noise")
            elif cuts := _cuts(expression):
                wrong.append(f"'{node.name}' is cut off by {cuts[0]}")
            elif node.process not in ("explicit_equation", "physical_law", "empirical_relation"):
                wrong.append(f"'{node.name}' has an equation and the process {node.process}")
        elif node.process == "explicit_equation":
            wrong.append(f"'{node.name}' is called an explicit equation and has no contract")
    return _some(wrong, "wrong") or f"{len(contracts)} exact", "formulas as they are", not wrong


def _cuts(expression: Expression) -> list[str]:
    """Operations that cut the value off: a min or max anywhere, a choice at the end; a choice within is a regime."""
    used = [name for name, *_ in expression.operations]
    return [*(name for name in used if name in CUTS), *(name for name in used[-1:] if name == "where")]


def constants(spec: SCMSpec) -> Verdict:
    """Named physical constants have their CODATA values, to four digits."""
    checked, wrong = 0, []
    for node in spec.nodes:
        for name, value in getattr(node.mechanism, "constants", {}).items():
            if name in ALIASES:
                wrong.append(f"'{node.name}': '{name}' is named {ALIASES[name]}")
            if name not in KNOWN:
                continue
            right, si = KNOWN[name]
            try:
                factor = float((1.0 * unit(node.mechanism.units.get(name))).to(unit(si)).magnitude)  # type: ignore[union-attr]
            except Exception:
                wrong.append(f"'{node.name}': {name} in {node.mechanism.units.get(name, '1')}, expected {si}")  # type: ignore[union-attr]
                continue
            checked += 1
            if abs(value * factor / right - 1.0) > DIGITS:
                wrong.append(f"'{node.name}': {name} is {value * factor:.6g} {si}, expected {right:.6g}")
    return _some(wrong, "wrong") or f"{checked} right", "four digits", not wrong


def resamplers(spec: SCMSpec) -> Verdict:
    """What is set takes values that its variable can have: within the range, and of its kind."""
    wrong, u = [], np.linspace(0.002, 0.998, 257, dtype=np.float32)
    for node in spec.nodes:
        if node.resampler is None or node.range is None:
            continue
        quantile: Any = node.resampling.module(np.float32)
        values, slack = np.asarray(jax.vmap(quantile)(u)), 1e-6 * (node.range[1] - node.range[0])
        if values.min() < node.range[0] - slack or values.max() > node.range[1] + slack:
            wrong.append(f"'{node.name}' is set to {values.min():.4g} ... {values.max():.4g}")
        elif node.kind != "continuous" and len(np.unique(values)) > MOST_LEVELS:
            wrong.append(f"'{node.name}' is {node.kind} and set to any number")
    return _some(wrong, "wrong") or "all within", "values that the variable can have", not wrong


def live_parents(spec: SCMSpec, response: Mapping[tuple[str, str], float]) -> Verdict:
    """Every parent moves its child's equation."""
    allowed = excused(spec, "live_parents")
    dead = {
        f"{source} -> {target} {moved:.2g}"
        for (source, target), moved in response.items()
        if moved < (LEAST_RESPONSE if tuple(sorted((source, target))) in allowed else RESPONSE)
    }
    least = min(response.values(), default=0.0)
    return _some(sorted(dead), "dead") or f"least response {least:.2g}", f"at least {RESPONSE:g}", not dead


def non_constant(spec: SCMSpec, table: Dataset) -> Verdict:
    """No column is constant, or nearly so."""
    deviation, size = table.values.std(axis=0, dtype=np.float64), np.abs(table.values).max(axis=0)
    relative = deviation / np.where(size > 0, size, 1.0)
    worst = int(np.argmin(relative))
    found = f"'{table.names[worst]}' relative SD {relative[worst]:.2g}"
    return found, f"at least {MIN_RELATIVE_SD:g}", bool(relative[worst] >= MIN_RELATIVE_SD)


def residual(spec: SCMSpec, table: Dataset) -> Verdict:
    """Every noise-free formula holds in every row in which its variable was not set."""
    worst, where = 0.0, "all"
    for node in spec.nodes:
        expression = formula_of(node)
        if expression is None or node.noise is not None or node.extra_noise:
            continue
        column = table.names.index(node.name)
        rows = ~table.mask[:, column]
        found = table.values[rows, column].astype(np.float64)
        inputs = {p: table.values[rows, table.names.index(p)].astype(np.float64) for p in expression.parents}
        with np.errstate(all="ignore"):
            expected = np.broadcast_to(expression.evaluate(inputs), found.shape)
            off = np.abs(found - expected) / np.maximum(np.abs(expected), max(float(found.std()), 1e-30))
        if {name for name, *_ in expression.operations} & {*JUMPS}:
            off = np.sort(off)[: len(off) - int(JUMPED * len(off))]
        if not (largest := float(off.max())) <= worst:
            worst, where = largest, f"'{node.name}'"
        if not largest <= RESIDUAL:
            break  # also where it is not a number
    return f"{where} relative residual {worst:.2g}", f"at most {RESIDUAL:g}", worst <= RESIDUAL


def signs(spec: SCMSpec, table: Dataset) -> Verdict:
    """Raising a cause moves its effect as the edge says, all else as it is, in 95 % of the rows that move."""
    said = {(edge.source, edge.target): edge.sign for edge in spec.edges}
    values = {name: table.values[:, k].astype(np.float64) for k, name in enumerate(table.names)}
    kinds = {node.name: node.kind for node in spec.nodes}
    wrong, checked = [], 0
    for node in spec.nodes:
        equation = _in_numpy(node)
        for parent in node.parents if equation else ():
            if (sign := said.get((parent, node.name))) not in ("+", "-"):
                continue
            moved = np.zeros(0)
            for size in STEPS:
                step = _step(values[parent], kinds[parent], size)
                with np.errstate(all="ignore"):
                    moved = equation({**values, parent: values[parent] + step}) - equation(values)  # type: ignore[misc]
                moved = moved[np.abs(moved) > ROUNDED * max(float(np.ptp(values[node.name])), 1e-30)]
                if len(moved):
                    break
            if not len(moved):  # a rule that none of these steps turns; `live_parents` knows whether anything does
                continue
            checked, share = checked + 1, float(np.mean(moved < 0 if sign == "+" else moved > 0))
            if share > 1.0 - SIGN_SHARE:
                wrong.append(f"{parent} -> {node.name} is not {sign} in {100 * share:.0f} % of the rows that move")
    return _some(wrong, "wrong") or f"{checked} right", f"at least {100 * SIGN_SHARE:g} % of rows", not wrong


def _step(column: np.ndarray, kind: str, size: float) -> np.ndarray | float:
    """How far a cause is raised: `size` of its spread, or to its next value."""
    if kind == "continuous":
        return size * float(column.std())
    levels = np.unique(column)
    return levels[np.minimum(np.searchsorted(levels, column) + 1, len(levels) - 1)] - column


def _in_numpy(node: NodeSpec) -> Callable[[Mapping[str, np.ndarray]], np.ndarray] | None:
    """The structural equation in float64, of the families whose edges have one sign or another."""
    mechanism: Any = node.mechanism
    expression = formula_of(node)
    if expression is not None:
        return lambda values: expression.evaluate({name: values[name] for name in expression.parents})
    if _family(node) == "linear_additive":
        return lambda values: np.tensordot(mechanism.weight, [values[parent] for parent in node.parents], axes=1)
    if _family(node) == "lookup_table":
        value, last = np.reshape(mechanism.value, mechanism.levels), np.array(mechanism.levels) - 1
        return lambda values: value[tuple(
            np.clip(np.round(values[p]), 0, k).astype(int) for p, k in zip(node.parents, last, strict=True)
        )]  # fmt: skip
    return None


def validity(spec: SCMSpec, table: Dataset) -> Verdict:
    """Variables lie in their ranges, and equations' variables where the equation holds, in 99 % of rows."""
    ranges = [(node.name, node.range, "its range") for node in spec.nodes if node.range]
    ranges += [(name, bounds, f"'{one.id}'") for one in spec.equations for name, bounds in one.valid.items()]
    least, outside = 1.0, []
    for name, (low, high), what in ranges:
        column, slack = table.values[:, table.names.index(name)], 1e-6 * (high - low)
        share = float(((column >= low - slack) & (column <= high + slack)).mean())
        least = min(share, least)
        if share < VALID_SHARE:
            found = f"{100 * share:.1f} % of rows, values are in [{column.min():.4g}, {column.max():.4g}]"
            outside.append(f"'{name}' in {what} [{low:g}, {high:g}] {found}")
    limit = f"at least {100 * VALID_SHARE:g} % of rows within"
    return _some(outside, "outside") or f"{100 * least:.1f} % at least", limit, not outside


def kinds(spec: SCMSpec, table: Dataset) -> Verdict:
    """Values are what their variable's kind says: 0 and 1, whole numbers, few levels."""
    wrong = []
    for node in spec.nodes:
        column = table.values[:, table.names.index(node.name)]
        levels, whole = len(np.unique(column)), bool((column == np.round(column)).all())
        fits = {"binary": set(np.unique(column)) <= {0.0, 1.0}, "count": whole, "categorical": whole,
                "ordinal": levels <= MOST_LEVELS}.get(node.kind, True)  # fmt: skip
        wrong += [] if fits else [f"'{node.name}' is {node.kind} and has {levels} values"]
    return _some(wrong, "wrong") or "all fit", "values of their kind", not wrong


def no_runaway(spec: SCMSpec, table: Dataset) -> Verdict:
    """No value lies far outside its range, by several times its width: one such row would make the variance."""
    far = []
    for node in spec.nodes:
        (low, high), column = node.range or (-np.inf, np.inf), table.values[:, table.names.index(node.name)]
        if column.min() < low - FAR * (high - low) or column.max() > high + FAR * (high - low):
            far.append(f"'{node.name}' in [{column.min():.4g}, {column.max():.4g}], its range is [{low:g}, {high:g}]")
    return _some(far, "run away") or "none", f"within {FAR:g} times the range", not far


def boundary_mass(spec: SCMSpec, table: Dataset) -> Verdict:
    """No continuous variable has more than 10 % of its rows at one end of its range, or of its values."""
    most, where = 0.0, "none"
    for j, node in _columns(spec, table, "boundary_mass", continuous=True):
        column = table.values[~table.mask[:, j], j]
        ends = {column.min(), column.max(), *(np.float32(end) for end in node.range or ())}
        for end in ends:
            if (share := float((column == end).mean())) > most:
                most, where = share, f"'{node.name}' {100 * share:.1f} % of rows at {end:g}"
    return where, f"at most {100 * MAX_BOUNDARY_SHARE:g} %", most <= MAX_BOUNDARY_SHARE


def correlation(spec: SCMSpec, table: Dataset) -> Verdict:
    """No two continuous variables correlate to .90 or more."""
    among = [(j, node.name) for j, node in _columns(spec, table, None, continuous=True) if np.ptp(table.values[:, j])]
    allowed, most, pairs = excused(spec, "correlation"), 0.0, []
    values = np.abs(np.corrcoef(table.values[:, [j for j, _ in among]], rowvar=False, dtype=np.float64))
    for (i, (_, a)), (j, (_, b)) in itertools.combinations(enumerate(among), 2):
        if tuple(sorted((a, b))) not in allowed:
            most = max(most, float(values[i, j]))
            if values[i, j] >= CORRELATION:
                pairs.append(f"'{a}', '{b}' {values[i, j]:.3f}")
    return _some(pairs, "pairs") or f"at most {most:.3f}", f"below {CORRELATION}", not pairs


def dominant_category(spec: SCMSpec, table: Dataset) -> Verdict:
    """No value of a discrete variable has more than 99 % of rows."""
    most, where = 0.0, "none"
    for j, node in _columns(spec, table, "dominant_category", continuous=False):
        share = float(np.unique(table.values[:, j], return_counts=True)[1].max() / table.n)
        if share > most:
            most, where = share, f"'{node.name}' {100 * share:.1f} % of rows with one value"
    return where, f"at most {100 * MAX_CATEGORY_SHARE:g} %", most <= MAX_CATEGORY_SHARE


SPEC_GATES: dict[str, Callable[[SCMSpec], Verdict]] = {
    "schema": schema,
    "size": size,
    "no_isolated_variable": no_isolated_variable,
    "mechanism_families": mechanism_families,
    "process_form": process_form,
    "units": units,
    "orientation": orientation,
    "exactness": exactness,
    "constants": constants,
    "resamplers": resamplers,
}
TABLE_GATES: dict[str, Callable[[SCMSpec, Dataset], Verdict]] = {
    "non_constant": non_constant,
    "residual": residual,
    "signs": signs,
    "validity": validity,
    "kinds": kinds,
    "no_runaway": no_runaway,
    "boundary_mass": boundary_mass,
    "correlation": correlation,
    "dominant_category": dominant_category,
}


def excused(spec: SCMSpec, gate: str) -> set[tuple[str, ...]]:
    """The variables, or sorted pairs of them, that may fail a gate."""
    return {tuple(sorted(one.variables)) for one in spec.exceptions if one.gate == gate}


def formula_of(node: NodeSpec) -> Expression | None:
    """The expression of a variable that has one."""
    if node.mechanism is None or node.mechanism.family != "formula":
        return None
    return parse(node.mechanism.expression, node.parents, node.mechanism.constants)  # type: ignore[attr-defined]


def _is_word(symbol: str, text: str) -> bool:
    """Whether a symbol occurs by itself, not only within another word."""
    return re.search(rf"(?<![A-Za-z0-9_]){re.escape(symbol)}(?![A-Za-z0-9_])", text) is not None


def _uses(node: NodeSpec, *operations: str) -> bool:
    expression = formula_of(node)
    return expression is not None and bool({name for name, *_ in expression.operations} & {*operations})


def _noise(node: NodeSpec) -> str:
    return node.noise.family if node.noise is not None else "none"


def _family(node: NodeSpec) -> str:
    return node.mechanism.family if node.mechanism is not None else "none"


#: What the equation of each process looks like; the others have no form of their own.
_FORMS: dict[str, Callable[[NodeSpec], bool]] = {
    "explicit_equation": lambda node: _family(node) == "formula" and _noise(node) == "none",
    "linear_affine": lambda node: _family(node) == "linear_additive",
    "measurement_error": lambda node: _noise(node) != "none" and node.role in ("readout", "instrument"),
    "count_process": lambda node: _noise(node) in ("poisson_count", "poisson_log", "binomial"),
    "event_process": lambda node: _noise(node) in ("bernoulli_logit", "poisson_count", "poisson_log", "binomial"),
    "lookup_table": lambda node: _family(node) == "lookup_table",
    "threshold_rule": lambda node: (
        node.kind != "continuous"
        and (_uses(node, "lt", "le") or _family(node) in ("discrete_assignment", "piecewise_threshold"))
    ),
    "quantization": lambda node: _uses(node, "floor") or _noise(node) == "quantized",
    "saturation": lambda node: (
        _uses(node, "min", "max", "tanh") or _noise(node) == "censored" or _family(node) == "saturation_clip"
    ),
    "mixture": lambda node: _noise(node) == "mixture_outlier" or _family(node) == "mixture_regime",
}


def _within(spec: SCMSpec, name: str) -> np.ndarray:
    """Some values of a variable, over its range; in another order for every variable."""
    low, high = next(node for node in spec.nodes if node.name == name).range or (0.5, 2.0)
    rng = np.random.default_rng(sum(map(ord, name)))
    return low + (high - low) * rng.permutation(np.linspace(0.01, 0.99, POINTS))


def _columns(spec: SCMSpec, table: Dataset, gate: str | None, *, continuous: bool) -> Iterable[tuple[int, NodeSpec]]:
    """Columns of a kind that may not fail the gate."""
    allowed = excused(spec, gate) if gate else set()
    for node in spec.nodes:
        if (node.kind == "continuous") == continuous and (node.name,) not in allowed:
            yield table.names.index(node.name), node


def _some(items: list[str], word: str) -> str:
    """The first few of them."""
    text = "; ".join(items[:5])
    return f"{len(items)} {word}: {text}" + ("; ..." if len(items) > 5 else "") if items else ""
