"""`SCMSpec`: the declarative description of an SCM (DESIGN 3). JSON in, JSON out; loading one never runs code."""

import contextlib
import copy
import functools
import hashlib
import json
import math
import os
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field, SerializeAsAny, Strict, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from arena.errors import SpecError
from arena.spec_blocks import RootBlockSpec
from arena.spec_equations import Equations, Exceptions, Process, Role
from arena.spec_errors import FieldError, RegisteredComponent, did_you_mean, first_error, strict_json
from arena.stressors import Stressor
from mechanisms import registry
from mechanisms.base import Blueprint, Number, ParameterError, Parameters
from mechanisms.base import Kind as ComponentKind
from mechanisms.parameters import FROZEN, ONLY_LISTS, WHOLE, Data, Many

SCHEMA_VERSION = 1
MAX_VARIABLES = 2000


def _printable(text: str) -> str:
    if not all(unicodedata.category(c)[0] != "C" and unicodedata.category(c) not in ("Zl", "Zp") for c in text):
        raise PydanticCustomError("printable", "Input should be printable text without blanks at its ends")
    return text


def _factor(value: Any) -> Any:
    if isinstance(value, float) and math.isfinite(value):
        return float(value) + 0.0  # -0.0 becomes 0.0
    texts = isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)
    if isinstance(value, float) or not (texts or isinstance(value, str | int)):
        message = "Input should be a text, a finite number, true or false, or a list of texts"
        raise PydanticCustomError("factor", message)
    return value


# The pattern means the same to ECMA, which JSON Schema has, to Python and to Rust; printability is checked by itself.
Name = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^\S(.*\S)?$"), AfterValidator(_printable)]
Text = Annotated[str, Field(max_length=10_000)]
Kind = Literal["continuous", "binary", "ordinal", "categorical", "count"]
Sign = Literal["+", "-", "mixed"]
Factor = Annotated[str | int | float | bool | Many[str], BeforeValidator(_factor)]


class _Model(Data, frozen=True):
    """An immutable part of a spec, equal to any other of the same text."""

    def __init__(self, /, **data: Any):
        with _spec_errors(data, type(self)):
            super().__init__(**data)

    # Parts inside a spec are validated by pydantic itself, whose errors know where in the spec they are.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @classmethod
    def model_validate(cls, obj: Any, **options: Any):
        with _spec_errors(obj, cls):
            return super().model_validate(obj, **options)

    @classmethod
    def model_validate_json(cls, json_data: Any, **options: Any):
        return cls.model_validate(strict_json(json_data), **options)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False):
        """A copy with some fields replaced; as valid as any other."""
        fields = {name: getattr(self, name) for name in self.model_fields_set}
        return type(self)(**{**(copy.deepcopy(fields) if deep else fields), **(update or {})})

    @functools.cached_property
    def canonical(self) -> str:
        """JSON text without layout and defaults: the same for equal content."""
        return json.dumps(self._data(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    def _data(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_defaults=True)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and (other is self or self.canonical == other.canonical)

    def __hash__(self) -> int:
        return hash(self.canonical)

    def __getstate__(self) -> dict[Any, Any]:
        # What is cached follows from the fields.
        state = super().__getstate__()
        return {**state, "__dict__": {name: state["__dict__"][name] for name in type(self).model_fields}}

    def __deepcopy__(self, memo: dict[int, Any] | None = None):
        clone = type(self).__new__(type(self))
        clone.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        return clone


@contextlib.contextmanager
def _spec_errors(data: Any, model: type[_Model]) -> Iterator[None]:
    try:
        yield
    except ValidationError as error:
        raise SpecError(first_error(error, data, model)) from None
    except RecursionError:
        raise SpecError("spec: is nested too deeply") from None


class NodeSpec(_Model, frozen=True):
    """One variable: a root distribution, or a mechanism over its parents with a noise.

    Attributes:
        name: Unique in the spec.
        parents: Names of the direct causes, in the order in which the mechanism's parameters are given.
        root: Its distribution, if it has no parents.
        mechanism: Its structural equation, if it has parents.
        noise: How exogenous noise enters the equation; no noise when omitted.
        kind: What its values are.
        unit, range, description, measurement: What it means, where it has meaning; `range` is [low, high].
        intervention: What setting it means in practice, if it can be set.
        resampler: The distribution of the values that it is set to; that of its own values when omitted.
        role: What it is in its scenario.
        process: What kind of structural equation it has, in words of its science.
        symbol: How its equations write it.
        strength: What the structural equation is multiplied by (paper A.1, weak signal).
        extra_noise: Standard deviation of a second, Gaussian noise, added after the first (paper A.1, high noise).
        scaling: [center, scale]: the value is (value - center) / scale, inside the SCM, before children see it.
    """

    name: Name
    parents: Many[Name] = ()
    root: Annotated[SerializeAsAny[Parameters], RegisteredComponent("root")] | None = None
    mechanism: Annotated[SerializeAsAny[Parameters], RegisteredComponent("mechanism")] | None = None
    noise: Annotated[SerializeAsAny[Parameters], RegisteredComponent("noise")] | None = None
    kind: Kind = "continuous"
    unit: Text | None = None
    range: Annotated[tuple[Number, Number], Strict(False), ONLY_LISTS] | None = None
    description: Text | None = None
    measurement: Text | None = None
    intervention: Text | None = None
    resampler: Annotated[SerializeAsAny[Parameters], RegisteredComponent("root")] | None = None
    role: Role | None = None
    process: Process | None = None
    symbol: Text | None = None
    strength: Number = 1.0
    extra_noise: Annotated[Number, Field(ge=0.0)] = 0.0
    scaling: Annotated[tuple[Number, Annotated[Number, Field(gt=0.0)]], Strict(False), ONLY_LISTS] | None = None

    @model_validator(mode="after")
    def _check(self) -> "NodeSpec":
        if len(set(self.parents)) != len(self.parents):
            twice = next(p for p in self.parents if self.parents.count(p) > 1)
            raise FieldError("parents", f"found '{twice}' more than once, expected each parent once")
        if self.name in self.parents:
            raise FieldError("parents", "found the variable itself, expected other variables")
        if self.range is not None and not self.range[0] < self.range[1]:
            raise FieldError("range", f"found {list(self.range)}, expected [low, high] with low < high")
        if self.parents:
            self._require("mechanism", "root", "a variable with parents has a mechanism and no root distribution")
        else:
            if self.mechanism is not None:
                rule = "a variable without parents has a root distribution, no mechanism"
                raise FieldError("mechanism", f"found a mechanism, expected none: {rule}")
            for field, plain in (("noise", None), ("extra_noise", 0.0), ("strength", 1.0)):
                if getattr(self, field) != plain:
                    raise FieldError(field, "expected none: a root distribution has its own noise and no equation")
        if self.resampler is not None and self.intervention is None:
            raise FieldError("resampler", "found one, expected none: the variable has no 'intervention'")
        # Built once, here, so that every rule of the families is checked.
        built = {"mechanism": "component", "noise": "channel"} if self.parents else {"root": "component"}
        built["resampler"] = "resampling"
        for field, part in built.items():
            try:
                if getattr(self, field) is not None:
                    getattr(self, part)
            except ParameterError as error:
                raise FieldError(f"{field}.{error.field}", error.message) from None
        return self

    @functools.cached_property
    def component(self) -> Blueprint:
        """The mechanism or the root distribution."""
        parameters = self.mechanism if self.parents else self.root
        assert parameters is not None
        return self._blueprint("mechanism" if self.parents else "root", parameters)

    @functools.cached_property
    def channel(self) -> Blueprint:
        """The noise of a node with parents."""
        if self.noise is None:
            return Blueprint(registry.families("noise")["none"], {})
        return self._blueprint("noise", self.noise)

    @functools.cached_property
    def resampling(self) -> Blueprint:
        """The distribution of the values that it is set to, where it has one."""
        assert self.resampler is not None
        return self._blueprint("root", self.resampler)

    def _blueprint(self, kind: ComponentKind, parameters: Parameters) -> Blueprint:
        cls = registry.families(kind)[parameters.family]
        arrays = {name: np.array(array) for name, array in cls.arrays(parameters, self.parents).items()}
        for array in arrays.values():
            array.setflags(write=False)
        return Blueprint(cls, arrays)

    def _require(self, present: str, absent: str, rule: str) -> None:
        if getattr(self, absent) is not None:
            raise FieldError(absent, f"found a {absent}, expected none: {rule}")
        if getattr(self, present) is None:
            raise FieldError(present, f"is missing: {rule}")


class EdgeSpec(_Model, frozen=True):
    """Why changing `source` can change `target`, and in which direction."""

    source: Name
    target: Name
    reason: Text | None = None
    sign: Sign | None = None


class SCMSpec(_Model, frozen=True):
    """A structural causal model as data.

    Attributes:
        name: The scenario's name.
        nodes: The variables; their order is the column order, which says nothing about causal order.
        edges: Reasons and signs of the edges. Empty, or exactly the edges that the nodes' parents imply.
        root_block: The joint distribution of dependent roots; those in it have no root distribution of their own.
        stressors: What acts on tables and interventions after the SCM (paper A.1, Difficulty variants), in this order.
        factors: phi(S) (paper 3.2): what slices are cut by.
        description: What the scenario is.
        outcome: The variable that hypotheses are about, where the scenario is made for them.
        equations: Named equations with their contracts.
        exceptions: Which variables may fail which gates, and why.
        references: What the scenario rests on: textbooks, standards, manuals.
        schema_version: Version of this format.

    Raises:
        SpecError: From every constructor here; one error that names the variable, the field, what was found and
            what is allowed.
    """

    name: Name
    nodes: Annotated[tuple[NodeSpec, ...], Strict(False), Field(min_length=1, max_length=MAX_VARIABLES), ONLY_LISTS]
    edges: Many[EdgeSpec] = ()
    root_block: RootBlockSpec | None = None
    stressors: Many[Stressor] = ()
    factors: Annotated[dict[Name, Factor], FROZEN, Field(validate_default=True)] = {}
    description: Text | None = None
    outcome: Name | None = None
    equations: Equations = ()
    exceptions: Exceptions = ()
    references: Many[Text] = ()
    schema_version: Annotated[Literal[1], WHOLE] = SCHEMA_VERSION

    @model_validator(mode="after")
    def _check(self) -> "SCMSpec":
        known = {node.name for node in self.nodes}
        if len(known) != len(self.nodes):
            names = [node.name for node in self.nodes]
            raise FieldError("name", "found twice, expected unique names", next(n for n in names if names.count(n) > 1))
        for node in self.nodes:
            for parent in node.parents:
                if parent not in known:
                    hint = did_you_mean(parent, known)
                    raise FieldError("parents", f"found '{parent}'{hint}, which is not a variable", node.name)
        self._check_acyclic()
        self._check_roots()
        if self.outcome is not None and self.outcome not in known:
            raise FieldError("outcome", f"found '{self.outcome}'{did_you_mean(self.outcome, known)}, not a variable")
        for field, names in self._mentions():
            for name in names:
                if name not in known:
                    raise FieldError(field, f"found '{name}'{did_you_mean(name, known)}, which is not a variable")
        if self.edges:
            self._check_edges()
        return self

    def _mentions(self) -> Iterator[tuple[str, Iterable[str]]]:
        """Where variables are named beside the graph, and which."""
        for stressor in self.stressors:
            yield f"stressors.{stressor.family}", stressor.variables
        for equation in self.equations:
            yield f"equations.{equation.id}", (equation.solve_for, *equation.inputs, *equation.valid)
        for exception in self.exceptions:
            yield f"exceptions.{exception.gate}", exception.variables

    def _check_acyclic(self) -> None:
        waiting = {node.name: set(node.parents) for node in self.nodes}
        while ready := [name for name, parents in waiting.items() if not parents & waiting.keys()]:
            for name in ready:
                del waiting[name]
        if waiting:
            path = [next(iter(waiting))]
            while path[-1] not in path[:-1]:
                path.append(next(iter(sorted(waiting[path[-1]] & waiting.keys()))))
            cycle = path[path.index(path[-1]) :][::-1]
            raise FieldError("parents", f"found a cycle {' -> '.join(cycle)}, expected an acyclic graph", cycle[0])

    def _check_roots(self) -> None:
        by_name = {node.name: node for node in self.nodes}
        joint = self.root_block.roots if self.root_block else ()
        for name in joint:
            if name not in by_name:
                raise FieldError("root_block.roots", f"found '{name}'{did_you_mean(name, by_name)}, not a variable")
            if by_name[name].parents:
                raise FieldError("root_block.roots", "found it, expected variables without parents", name)
            if by_name[name].root is not None:
                raise FieldError("root", "found a root, expected none: root_block gives its distribution", name)
        if len(set(joint)) != len(joint):
            raise FieldError("root_block.roots", "found a variable twice, expected each once")
        for node in self.nodes:
            if not node.parents and node.root is None and node.name not in joint:
                rule = "a variable without parents has a root distribution, or stands in root_block"
                raise FieldError("root", f"is missing: {rule}", node.name)
        if self.root_block:
            try:
                self.root_block.covariance()
            except ParameterError as error:
                raise FieldError(f"root_block.{error.field}", error.message) from None

    def _check_edges(self) -> None:
        known = [node.name for node in self.nodes]
        implied = {(parent, node.name) for node in self.nodes for parent in node.parents}
        seen: set[tuple[str, str]] = set()
        for edge in self.edges:
            for end, name in (("source", edge.source), ("target", edge.target)):
                if name not in known:
                    message = f"found '{name}'{did_you_mean(name, known)}, which is not a variable"
                    raise FieldError(f"edges.{end}", message, edge.target if end == "source" else edge.source)
            pair = (edge.source, edge.target)
            if pair not in implied:
                message = f"found {edge.source} -> {edge.target}, but '{edge.source}' is not among its parents"
                raise FieldError("edges", message, edge.target)
            if pair in seen:
                raise FieldError("edges", f"found {edge.source} -> {edge.target} twice", edge.target)
            seen.add(pair)
        missing = sorted(implied - seen)
        if missing:
            source, target = missing[0]
            raise FieldError("edges", f"{source} -> {target} is missing: list every edge or none", target)

    @classmethod
    def from_dict(cls, data: Any) -> "SCMSpec":
        """The spec of a parsed JSON object."""
        if not isinstance(data, dict):
            raise SpecError(f"a spec is a JSON object with 'name' and 'nodes', found {type(data).__name__}")
        return cls.model_validate(data)

    @classmethod
    def from_json(cls, text: Any) -> "SCMSpec":
        """The spec of a JSON text."""
        return cls.from_dict(strict_json(text))

    @classmethod
    def load(cls, path: str | os.PathLike) -> "SCMSpec":
        """The spec in a JSON file."""
        try:
            return cls.from_json(Path(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise SpecError(f"cannot read {path}: {error}") from None
        except SpecError as error:
            raise SpecError(f"{path}: {error}") from None

    def to_json(self, indent: int | None = 2) -> str:
        """JSON text that reads back as an equal spec."""
        return json.dumps(self._data(), indent=indent, ensure_ascii=False)

    def _data(self) -> dict[str, Any]:
        return {"schema_version": self.schema_version, **super()._data()}

    @functools.cached_property
    def content_hash(self) -> str:
        """sha256 of the canonical JSON: the same for equal specs, whatever the layout of their files."""
        return hashlib.sha256(self.canonical.encode()).hexdigest()

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """The variables, in column order."""
        return tuple(node.name for node in self.nodes)

    @functools.cached_property
    def adjacency(self) -> np.ndarray:
        """`[d, d]` int8, `A[i, j] == 1` for i -> j, in column order; not writable."""
        index = {name: i for i, name in enumerate(self.names)}
        matrix = np.zeros((len(index), len(index)), np.int8)
        for node in self.nodes:
            for parent in node.parents:
                matrix[index[parent], index[node.name]] = 1
        matrix.setflags(write=False)
        return matrix


def json_schema() -> dict[str, Any]:
    """The published JSON Schema of a spec, with every registered family."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **SCMSpec.model_json_schema()}
