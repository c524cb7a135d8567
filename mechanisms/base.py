"""`Component`: the base of mechanisms, noises and roots.

A component is an Equinox module for *one* unit of *one* node. Its fields are typed with named dimensions, and from
them follow the parameters that a spec may hold, the checks on their shapes, and the padding with which the nodes of a
family are laid side by side in a bank. A new family is one class: fields, a prior, one unbatched equation.
"""

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from pydantic import BaseModel, ConfigDict, Field, Strict, create_model

#: A module holds numpy arrays until it is put on a device, and tracers while it runs.
Array = Any
#: Any float that is finite in float32 as well.
Number = Annotated[float, Field(allow_inf_nan=False, ge=-3e38, le=3e38)]
Kind = Literal["mechanism", "noise", "root"]
ValueKind = Literal["continuous", "binary", "ordinal", "categorical", "count"]

REGISTRY: dict[Kind, dict[str, type["Component"]]] = {"mechanism": {}, "noise": {}, "root": {}}

#: Rounding of a dimension's length when nodes are stacked in a bank, so that few shapes are ever compiled.
DEFAULT_GRANULARITY = 8


class ParameterError(ValueError):
    """A parameter that is well-formed by itself and wrong for its node; `field` is its path inside the component."""

    def __init__(self, field: str, message: str):
        super().__init__(message)
        self.field = field
        self.message = message


class Parameters(BaseModel, frozen=True):
    """What a spec says of one component. Concrete models are derived from the fields of each family."""

    model_config = ConfigDict(strict=True, extra="forbid")

    family: str


def param(
    doc: str, *, gt: float | None = None, ge: float | None = None, lt: float | None = None,
    le: float | None = None, pad: float = 0.0, choices: tuple[str, ...] | None = None, default: Any = ...,
) -> Any:  # fmt: skip
    """A field of a component.

    Args:
        doc: What it is, for the schema.
        gt: Exclusive lower bound of every entry; likewise `ge`, `lt`, `le`.
        pad: The value that makes a padded entry do nothing.
        choices: The names that a spec may hold, of variants of the family; the module holds their positions.
        default: What a spec may leave out.
    """
    bounds = {name: limit for name, limit in (("gt", gt), ("ge", ge), ("lt", lt), ("le", le)) if limit is not None}
    return eqx.field(metadata={"doc": doc, "bounds": bounds, "pad": pad, "choices": choices, "default": default})


class Component(eqx.Module):
    """One structural equation, noise channel or root distribution, for one unit.

    Attributes:
        family: The name used in specs.
        kind: `mechanism`, `noise` or `root`.
        granularity: Rounding of the length of a named dimension, where it is not the default.
    """

    family: ClassVar[str]
    kind: ClassVar[Kind]
    granularity: ClassVar[Mapping[str, int]] = {}

    def __init_subclass__(cls, family: str | None = None, **kwargs):
        super().__init_subclass__(**kwargs)
        if family is None:
            return
        known = REGISTRY[cls.kind]
        if family in known and known[family].__qualname__ != cls.__qualname__:
            raise ValueError(f"{cls.kind} family '{family}' is already {known[family].__qualname__}")
        cls.family = family
        known[family] = cls

    @classmethod
    def parameters(cls) -> type[Parameters]:
        """The pydantic model of this family's entry in a spec; derived from the fields."""
        return _derive_parameters(cls)

    @classmethod
    def arrays(cls, parameters: Any, parents: Sequence[str]) -> dict[str, np.ndarray]:
        """The module's arrays for one node, by field, float64 or integer.

        Args:
            parameters: An instance of `cls.parameters()`.
            parents: The node's parents, in order.

        Raises:
            ParameterError: If a dimension does not agree with the parents or with another field.
        """
        arrays = {
            f.name: _as_array(getattr(parameters, f.name), f.metadata["choices"]) for f in dataclasses.fields(cls)
        }
        _check_dimensions(cls, arrays, parents)
        return arrays

    @classmethod
    def from_parameters(cls, parameters: Any, parents: Sequence[str], dtype: Any = np.float32) -> "Component":
        """The module of one node, floating-point arrays of type `dtype`; otherwise as `arrays`."""
        arrays = cls.arrays(parameters, parents)
        return cls(**{name: jnp.asarray(a, dtype if a.dtype.kind == "f" else a.dtype) for name, a in arrays.items()})


class Blueprint(NamedTuple):
    """One node's component before it is laid in a bank: its class and its arrays."""

    cls: type[Component]
    arrays: dict[str, np.ndarray]

    def bucket(self) -> tuple[tuple[str, int], ...]:
        """The rounded length of each named dimension but `parents`: nodes that share it share a bank.

        It depends on this node alone, so what a node computes never depends on what it is stacked with.
        """
        sizes = {}
        for field, (dims, _) in layout(self.cls).items():
            for dim, length in zip(dims, self.arrays[field].shape, strict=True):
                if dim != "parents":
                    sizes[dim] = round_up(length, self.cls.granularity.get(dim, DEFAULT_GRANULARITY))
        return tuple(sorted(sizes.items()))


def stack(blueprints: Sequence[Blueprint], n_parents: int, dtype: Any) -> Component:
    """A bank: components of one family and one bucket along a new leading axis of every array.

    Every dimension gets its bucket's length, `parents` gets `n_parents`; the added entries do nothing.

    Returns:
        A module of the same class whose arrays are `[slots, ...]`, numpy, floating-point ones of type `dtype`.
    """
    first = blueprints[0]
    length = {**dict(first.bucket()), "parents": n_parents}
    leaves = []
    for field, (dims, pad) in layout(first.cls).items():
        arrays = [blueprint.arrays[field] for blueprint in blueprints]
        kind = dtype if arrays[0].dtype.kind == "f" else arrays[0].dtype
        out = np.full([len(arrays), *(length[dim] for dim in dims)], pad, kind)
        for slot, array in enumerate(arrays):
            out[(slot, *map(slice, array.shape))] = array
        leaves.append(out)
    return jax.tree.unflatten(jax.tree.structure(first.cls(**first.arrays)), leaves)


class Mechanism(Component):
    """A structural equation f_j (paper eq. 1, A.1 Mechanisms): values of the parents -> signal.

    Attributes:
        tag: The name under which the paper scores the family; its own name, where it says nothing else.
    """

    kind: ClassVar[Kind] = "mechanism"
    tag: ClassVar[str]

    def __init_subclass__(cls, family: str | None = None, tag: str | None = None, **kwargs):
        super().__init_subclass__(family=family, **kwargs)
        if family is not None:
            cls.tag = tag or family

    @classmethod
    def prior(cls, rng: np.random.Generator, parents: Sequence[str]) -> dict[str, Any]:
        """Parameters drawn from the family's ranges, as a spec holds them (without `family`)."""
        raise NotImplementedError(f"mechanism family '{cls.family}' has no prior")

    def __call__(self, parents: Array) -> Array:
        """`[parents] -> scalar`, one unit. Padded parents are 0."""
        raise NotImplementedError


class Noise(Component):
    """How exogenous noise enters a structural node (paper A.1 Structural noise).

    Attributes:
        calibrated: Fields whose values follow from a calibration sample and not from the prior: `prior` leaves them
            out, `calibrate` gives them, a spec holds them like any other.
    """

    kind: ClassVar[Kind] = "noise"
    calibrated: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def prior(cls, rng: np.random.Generator) -> dict[str, Any]:
        """Parameters drawn from the family's ranges, as a spec holds them (without `family`)."""
        raise NotImplementedError(f"noise family '{cls.family}' has no prior")

    def __call__(self, signal: Array, u: Array, parents: Array) -> Array:
        """`(signal, u in (0, 1), [parents]) -> value`, one unit; a function of u, so that a unit keeps its luck."""
        raise NotImplementedError

    def calibrate(self, signal: Array, u: Array) -> tuple[Array, ...]:
        """The values of the `calibrated` fields, in order, from the signals and noise `[n]` of a sample.

        Only the other fields may be read.
        """
        return ()


class Root(Component):
    """The distribution of a node without parents (paper A.1 Root distributions), as a quantile function.

    Attributes:
        value_kind: What its values are, as the `kind` of a node in a spec says it.
    """

    kind: ClassVar[Kind] = "root"
    value_kind: ClassVar[ValueKind] = "continuous"

    @classmethod
    def prior(cls, rng: np.random.Generator) -> dict[str, Any]:
        """Parameters drawn from the family's ranges, as a spec holds them (without `family`)."""
        raise NotImplementedError(f"root family '{cls.family}' has no prior")

    def __call__(self, u: Array) -> Array:
        """`u in (0, 1) -> value`, scalars: the quantile function."""
        raise NotImplementedError


def round_up(length: int, step: int) -> int:
    """The smallest positive multiple of `step` that holds `length`."""
    return max(step, math.ceil(length / step) * step)


@functools.cache
def layout(cls: type[Component]) -> dict[str, tuple[tuple[str, ...], float]]:
    """For each array field the names of its dimensions, read from its shape annotation, and its pad value."""
    return {
        f.name: (tuple(f.type.dim_str.split()), f.metadata.get("pad", 0.0))  # type: ignore[union-attr]
        for f in dataclasses.fields(cls)
    }


def _as_array(value: Any, choices: tuple[str, ...] | None) -> np.ndarray:
    if choices is None:
        return np.asarray(value, np.float64)
    return np.vectorize(choices.index, otypes=[np.int32])(value)


def _check_dimensions(cls: type[Component], arrays: Mapping[str, np.ndarray], parents: Sequence[str]) -> None:
    length, source = {"parents": len(parents)}, {"parents": f"one per parent: {', '.join(parents)}"}
    for field, (dims, _) in layout(cls).items():
        for dim, found in zip(dims, arrays[field].shape, strict=True):
            wanted = length.setdefault(dim, found)
            source.setdefault(dim, f"as in '{field}'")
            if found != wanted:
                raise ParameterError(field, f"has {found} entries, expected {wanted} ({source[dim]})")


@functools.cache
def _derive_parameters(cls: type[Component]) -> type[Parameters]:
    fields: dict[str, Any] = {"family": (Literal[cls.family], ...)}
    for f in dataclasses.fields(cls):
        choices = f.metadata["choices"]
        kind: Any = Literal[choices] if choices else Annotated[Number, Field(**f.metadata["bounds"])]
        for _ in layout(cls)[f.name][0]:
            kind = Annotated[tuple[kind, ...], Strict(False)]  # JSON has lists where we keep tuples
        fields[f.name] = (kind, Field(f.metadata["default"], description=f.metadata["doc"]))
    return create_model(f"{cls.__name__}Parameters", __base__=Parameters, __doc__=cls.__doc__, **fields)


def standard_normal(u: Array) -> Array:
    """The standard normal quantile of u in (0, 1)."""
    return math.sqrt(2.0) * jax.lax.erf_inv(2.0 * u - 1.0)
