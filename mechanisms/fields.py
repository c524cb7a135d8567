"""The fields of a component: how a class declares them, and what follows from that for specs, checks and banks."""

import dataclasses
import functools
import inspect
import typing
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import equinox as eqx
import numpy as np
from pydantic import ConfigDict, Field, create_model

from mechanisms.parameters import Many, Number, ParameterError, Parameters

INT32 = {"ge": -(2**31), "le": 2**31 - 1}


class FamilyError(TypeError):
    """A class that cannot be a family of components, as its author wrote it."""


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


class Declared(NamedTuple):
    """One field, as its class declares it; see `param`.

    Attributes:
        dims: Names of its dimensions.
        whole: Whether its entries are integers.
    """

    dims: tuple[str, ...]
    whole: bool
    doc: str | None = None
    bounds: Mapping[str, float] = {}
    pad: float = 0.0
    choices: tuple[str, ...] | None = None
    default: Any = ...


@functools.cache
def declared(cls: type) -> dict[str, Declared]:
    """What a component class declares of each field, by name."""
    return {f.name: _read(cls, f.name, f.type, f) for f in dataclasses.fields(cls)}


@functools.cache
def layout(cls: type) -> dict[str, tuple[tuple[str, ...], float]]:
    """For each field the names of its dimensions, read from its shape annotation, and its pad value."""
    return {name: (field.dims, field.pad) for name, field in declared(cls).items()}


def check_declarations(cls: type) -> list[str]:
    """The names of the fields of a class that is being defined.

    Raises:
        FamilyError: If a field cannot be one; it names the class, the field, and what would be right.
    """
    own = inspect.get_annotations(cls)
    inherited = {f.name: (f.type, f) for f in dataclasses.fields(cls)}  # type: ignore[arg-type]
    given = {name: (hint, vars(cls).get(name, dataclasses.MISSING)) for name, hint in own.items()}
    names = []
    for name, (hint, value) in (inherited | given).items():
        if typing.get_origin(hint) is not ClassVar and hint is not ClassVar:
            _read(cls, name, hint, value)
            names.append(name)
    for name, value in vars(cls).items():
        if isinstance(value, dataclasses.Field) and name not in own:
            raise FamilyError(f'{_where(cls, name)} has no annotation, expected Float[Array, "..."]')
    return names


def _read(cls: type, name: str, hint: Any, value: Any) -> Declared:
    where = _where(cls, name)
    is_field = isinstance(value, dataclasses.Field)
    metadata = dict(value.metadata) if is_field else {}
    if isinstance(hint, str):
        raise FamilyError(f"{where} is annotated by a text; leave out `from __future__ import annotations`")
    if name == "family":
        raise FamilyError(f"{where} has a name that specs use for the family; choose another one")
    dims, kinds = getattr(hint, "dim_str", None), {dtype.strip("0123456789") for dtype in getattr(hint, "dtypes", ())}
    whole = kinds == {"int"}
    if dims is None or metadata.get("static") or not (whole or "float32" in hint.dtypes and "int32" not in hint.dtypes):
        found = "static" if metadata.get("static") else f"annotated as {inspect.formatannotation(hint)}"
        raise FamilyError(
            f'{where} is {found}, expected Float[Array, "..."] (or Int), with the names of its dimensions in the '
            'quotes and "" for a number; what is the same for all nodes is a constant of the file or a ClassVar'
        )
    if not is_field and value is not dataclasses.MISSING or is_field and value.default is not dataclasses.MISSING:
        raise FamilyError(f"{where} has a plain default, expected param(..., default=...)")
    if metadata and "doc" not in metadata:
        raise FamilyError(f"{where} is declared by another function, expected param(...)")
    for dim in dims.split():
        if not dim.isidentifier() or dim.startswith("_"):
            raise FamilyError(f"{where} has the dimension '{dim}', expected a name, such as `parents`")
    field = Declared(tuple(dims.split()), whole, **metadata)
    if field.choices and not whole:
        raise FamilyError(f'{where} has choices, whose positions are integers: expected Int[Array, "..."]')
    if whole and field.pad != int(field.pad):
        raise FamilyError(f"{where} has the pad {field.pad}, expected a whole number")
    return field


def _where(cls: type, name: str) -> str:
    return f"field '{name}' of {cls.__qualname__}"


class _Derived(Parameters, frozen=True):
    """Base of the models that no module holds by name; they pickle by the component class they belong to."""

    model_config = ConfigDict(validate_default=True)

    __component__: ClassVar[Any]

    def __reduce__(self):
        return (_restored, (self.__component__, self.model_dump()))


def _restored(cls: Any, data: dict[str, Any]) -> Parameters:
    return cls.parameters().model_validate(data)


@functools.cache
def derive_parameters(cls: Any) -> type[Parameters]:
    """The pydantic model of a family's entry in a spec."""
    fields: dict[str, Any] = {"family": (Literal[cls.family], ...)}
    for name, field in declared(cls).items():
        if field.choices:
            kind: Any = Literal[field.choices]
        elif field.whole:
            kind = Annotated[int, Field(**(INT32 | dict(field.bounds)))]  # type: ignore[arg-type]
        else:
            kind = Annotated[Number, Field(**field.bounds)]  # type: ignore[arg-type]
        for _ in field.dims:
            kind = Many[kind]
        fields[name] = (kind, Field(field.default, description=field.doc))
    model = create_model(
        f"{cls.__name__}Parameters", __base__=_Derived, __module__=cls.__module__, __doc__=cls.__doc__, **fields
    )
    model.__component__ = cls
    return model


def as_arrays(cls: type, parameters: Any, parents: Sequence[str]) -> dict[str, np.ndarray]:
    """The arrays of one node, by field, float64 or int32.

    Raises:
        ParameterError: If a dimension does not agree with the parents or with another field.
    """
    arrays = {}
    length, source = {"parents": len(parents)}, {"parents": f"one per parent: {', '.join(parents)}"}
    for name, field in declared(cls).items():
        value = getattr(parameters, name)
        for dim, found in zip(field.dims, _shape(name, value, field.dims, parents), strict=True):
            wanted = length.setdefault(dim, found)
            source.setdefault(dim, f"as in '{name}'")
            if found != wanted:
                raise ParameterError(name, f"has {found} entries, expected {wanted} ({source[dim]})")
        if field.choices:
            value = np.vectorize(field.choices.index, otypes=[np.int32])(value)
        arrays[name] = np.asarray(value, np.int32 if field.whole else np.float64)
    return arrays


def _shape(field: str, value: Any, dims: tuple[str, ...], parents: Sequence[str]) -> tuple[int, ...]:
    """The shape of nested tuples, one level a dimension."""
    if not dims:
        return ()
    if not value:
        wanted = f"{len(parents)} (one per parent: {', '.join(parents)})" if dims[0] == "parents" else "one or more"
        raise ParameterError(field, f"is empty, expected {wanted}")
    if len(dims) > 1 and len({len(row) for row in value}) > 1:
        raise ParameterError(field, "has rows of different lengths, expected one length")
    shapes = {_shape(field, row, dims[1:], parents) for row in value}
    if len(shapes) > 1:
        raise ParameterError(field, "has rows of different lengths, expected one length")
    return (len(value), *shapes.pop())
