"""`Component`: the base of mechanisms, noises and roots.

A component is an Equinox module for *one* unit of *one* node. Its fields are typed with named dimensions, and from
them follow the parameters that a spec may hold, the checks on their shapes, and the padding with which the nodes of a
family are laid side by side in a bank. A new family is one class: fields, a prior, one unbatched equation.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

# With what follows, all that a family needs comes from here.
from mechanisms.fields import FamilyError, as_arrays, check_declarations, declared, derive_parameters, layout
from mechanisms.fields import param as param
from mechanisms.parameters import Number as Number
from mechanisms.parameters import ParameterError as ParameterError
from mechanisms.parameters import Parameters

#: A module holds numpy arrays until it is put on a device, and tracers while it runs.
Array = Any
Kind = Literal["mechanism", "noise", "root"]
ValueKind = Literal["continuous", "binary", "ordinal", "categorical", "count"]
Link = Literal["identity", "logit", "log", "chance"]

REGISTRY: dict[Kind, dict[str, type["Component"]]] = {"mechanism": {}, "noise": {}, "root": {}}

#: Rounding of a dimension's length when nodes are stacked in a bank, so that few shapes are ever compiled.
DEFAULT_GRANULARITY = 8


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
        _check_class(cls, family)
        cls.family = family
        REGISTRY[cls.kind][family] = cls

    @classmethod
    def parameters(cls) -> type[Parameters]:
        """The pydantic model of this family's entry in a spec; derived from the fields."""
        return derive_parameters(cls)

    @classmethod
    def arrays(cls, parameters: Any, parents: Sequence[str]) -> dict[str, np.ndarray]:
        """The module's arrays for one node, by field, float64 or integer.

        Args:
            parameters: An instance of `cls.parameters()`.
            parents: The node's parents, in order.

        Raises:
            ParameterError: If a dimension does not agree with the parents or with another field.
        """
        return as_arrays(cls, parameters, parents)

    @classmethod
    def from_parameters(cls, parameters: Any, parents: Sequence[str], dtype: Any = np.float32) -> "Component":
        """The module of one node, floating-point arrays of type `dtype`; otherwise as `arrays`."""
        return Blueprint(cls, cls.arrays(parameters, parents)).module(dtype)


class Blueprint(NamedTuple):
    """One node's component before it is laid in a bank: its class and its arrays."""

    cls: type[Component]
    arrays: dict[str, np.ndarray]

    def module(self, dtype: Any) -> "Component":
        """The component by itself, floating-point arrays of type `dtype`."""
        dtypes = {name: dtype if array.dtype.kind == "f" else array.dtype for name, array in self.arrays.items()}
        return self.cls(**{name: jnp.asarray(array, dtypes[name]) for name, array in self.arrays.items()})

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
        raise _no_prior(cls, "rng, parents")

    def __call__(self, parents: Array) -> Array:
        """`[parents] -> scalar`, one unit. Padded parents are 0."""
        raise NotImplementedError

    def over(self, x: Array, rows: Array | None = None) -> Array:
        """`[columns, n] -> [n]`, n units: the equation of the given rows of a table, of all rows if none are given.

        For a family that reads few of its parents at a time, and need not have all of them side by side.
        """
        return jax.vmap(self, in_axes=1)(x if rows is None else x[rows])


class Noise(Component):
    """How exogenous noise enters a structural node (paper A.1 Structural noise).

    Attributes:
        calibrated: Scalar fields whose values follow from a calibration sample and not from the prior: `prior` leaves
            them out, `calibrate` gives them, a spec holds them like any other. `arrays` must take them as they are.
        link: The scale of the signal, if it is known: `logit`, `log` and `chance` where the signal sets the log-odds,
            the log mean or the chance of a discrete value, `identity` where the noise is added to it.
    """

    kind: ClassVar[Kind] = "noise"
    calibrated: ClassVar[tuple[str, ...]] = ()
    link: ClassVar[Link | None] = None

    @classmethod
    def prior(cls, rng: np.random.Generator) -> dict[str, Any]:
        """Parameters drawn from the family's ranges, as a spec holds them (without `family`)."""
        raise _no_prior(cls, "rng")

    def __call__(self, signal: Array, u: Array, parents: Array) -> Array:
        """`(signal, u in (0, 1), [parents]) -> value`, one unit; a function of u, so that a unit keeps its luck."""
        raise NotImplementedError

    @classmethod
    def placeholders(cls, drawn: Mapping[str, Any]) -> dict[str, float]:
        """Values for the `calibrated` fields that their declarations allow, until a sample gives theirs.

        Args:
            drawn: The other fields, as from `prior`.

        Raises:
            FamilyError: If none of 0, 1, 1/2 and -1 is allowed.
        """
        if not cls.calibrated:
            return {}
        for value in (0.0, 1.0, 0.5, -1.0):
            fields = dict.fromkeys(cls.calibrated, value)
            try:
                cls.arrays(cls.parameters().model_validate({"family": cls.family, **drawn, **fields}), [])
            except (ValueError, ParameterError):
                continue
            return fields
        raise FamilyError(f"noise family '{cls.family}': one of 0, 1, 0.5, -1 must be allowed in {cls.calibrated}")

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
        raise _no_prior(cls, "rng")

    @classmethod
    def support(cls, parameters: Any) -> tuple[np.ndarray, np.ndarray] | None:
        """The levels, ascending, and the probability of each; None if the values are no short list of levels."""
        return None

    def __call__(self, u: Array) -> Array:
        """`u in (0, 1) -> value`, scalars: the quantile function."""
        raise NotImplementedError


def round_up(length: int, step: int) -> int:
    """The smallest positive multiple of `step` that holds `length`."""
    return max(step, math.ceil(length / step) * step)


def standard_normal(u: Array) -> Array:
    """The standard normal quantile of u in (0, 1)."""
    return math.sqrt(2.0) * jax.lax.erf_inv(2.0 * u - 1.0)


def is_shipped(cls: type[Component]) -> bool:
    """Whether the class is of this package."""
    return cls.__module__.partition(".")[0] == __name__.partition(".")[0]


def _check_class(cls: type[Component], family: str) -> None:
    """FamilyError unless a class that is being defined can be a family."""
    if not hasattr(cls, "kind"):
        raise FamilyError(f"{cls.__qualname__} names a family, expected a subclass of Mechanism, Noise or Root")
    fields = check_declarations(cls)
    own = itertools.takewhile(lambda base: base.__module__ != __name__, cls.__mro__)
    if not any("__call__" in vars(base) for base in own):
        takes = {"mechanism": "parents", "noise": "signal, u, parents", "root": "u"}[cls.kind]
        raise FamilyError(f"{cls.kind} family '{family}' has no equation: define __call__(self, {takes})")
    for field in getattr(cls, "calibrated", ()):
        if field not in fields:
            raise FamilyError(f"{cls.kind} family '{family}' calibrates '{field}', which is not a field of it")
    known = REGISTRY[cls.kind].get(family)
    if known and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
        raise FamilyError(
            f"{cls.kind} family '{family}' is already {known.__module__}.{known.__qualname__}; choose another name"
        )


def _no_prior(cls: type[Component], takes: str) -> NotImplementedError:
    return NotImplementedError(
        f"{cls.kind} family '{cls.family}' has no prior to draw from: define the classmethod prior(cls, {takes})"
    )


#: What `check_padding` has found right: a class, and which of its dimensions were padded.
_CHECKED: set[tuple[type[Component], frozenset[str]]] = set()


def check_padding(blueprint: Blueprint, n_parents: int) -> None:
    """Compute a node by itself and as a padded slot of a bank, on a few inputs, if its class is not of this package.

    Once for each class and each set of padded dimensions.

    Args:
        blueprint: The component of one node.
        n_parents: How many parents the node has.

    Raises:
        FamilyError: If the two differ, or the component does not give one number of its input's type.
    """
    cls = blueprint.cls
    if is_shipped(cls):
        return
    name = f"{cls.kind} family '{cls.family}'"
    _check_arrays(blueprint, name)
    padded = frozenset(
        dim
        for field, (dims, _) in layout(cls).items()
        for dim, length in zip(dims, blueprint.arrays[field].shape, strict=True)
        if dim != "parents" and length < dict(blueprint.bucket())[dim]
    )
    if (cls, padded) not in _CHECKED:
        try:
            _compare(blueprint, n_parents, name)
        except FamilyError:
            raise
        except Exception as error:
            reason = str(error).strip().partition("\n")[0]
            raise FamilyError(f"{name} cannot be computed: {type(error).__name__}: {reason}") from error
        _CHECKED.add((cls, padded))


def _compare(blueprint: Blueprint, n_parents: int, name: str) -> None:
    width = round_up(n_parents + 1, DEFAULT_GRANULARITY)
    inputs = _probes(blueprint, n_parents)
    wider = [np.pad(x, ((0, 0), (0, width - n_parents))) if x.ndim == 2 else x for x in inputs]
    alone: Any = blueprint.module(np.float32)
    inside = jax.tree.map(lambda leaf: jnp.asarray(leaf[0]), stack([blueprint], width, np.float32))
    out = jax.eval_shape(alone, *(x[0] for x in inputs))
    if getattr(out, "shape", None) != () or out.dtype != np.float32:
        found = f"{out.dtype}{list(out.shape)}" if hasattr(out, "shape") else type(out).__name__
        raise FamilyError(f"{name} gives {found}, expected one number of its input's type, here float32[]")

    def run(module, x):
        with jax.default_matmul_precision("highest"):
            return np.asarray(jax.jit(jax.vmap(module))(*x), np.float64)

    expected, found = run(alone, inputs), run(inside, wider)
    nearby = run(alone, [x * np.float32(1.0 + 1e-6) for x in inputs])
    # Sums in another order differ by rounding, which a steep function magnifies as it does a small step of its input.
    size = np.max(np.abs(expected), where=np.isfinite(expected), initial=0.0)
    near = np.isclose(found, expected, rtol=1e-4, atol=1e-5 * size, equal_nan=True)
    with np.errstate(invalid="ignore"):
        near |= np.abs(found - expected) <= 10.0 * np.abs(nearby - expected)
    if not near.all():
        row = int(np.argmin(near))
        raise FamilyError(
            f"{name} computes {expected[row]:.6g} for a node of {n_parents} parents by itself, and {found[row]:.6g} "
            f"where it is padded to {width}: padded parents are 0 and padded parameters hold their `pad`; "
            "multiply by a weight, or choose a pad that leaves the result unchanged"
        )


def _check_arrays(blueprint: Blueprint, name: str) -> None:
    for field, declaration in declared(blueprint.cls).items():
        array = blueprint.arrays.get(field)
        shape = f"[{', '.join(declaration.dims)}]"
        if array is None or np.ndim(array) != len(declaration.dims):
            found = "nothing" if array is None else f"an array of shape {list(np.shape(array))}"
            raise FamilyError(f"{name} gives {found} for its field '{field}', expected {shape}")
        if (array.dtype.kind in "iu") != declaration.whole:
            kind = "integers" if declaration.whole else "floats"
            raise FamilyError(f"{name} gives {array.dtype} for its field '{field}', expected {kind}")
    if unknown := sorted(blueprint.arrays.keys() - declared(blueprint.cls).keys()):
        raise FamilyError(f"{name} gives an array '{unknown[0]}', which is not a field of it")


def _probes(blueprint: Blueprint, n_parents: int) -> list[np.ndarray]:
    """Inputs of a component, by argument, for some units: parents of all signs, and of those of its parameters.

    The latter because an extreme over effects is changed by a 0 only where all of them have one sign.
    """
    unit, parent = np.mgrid[:16, :n_parents]
    effects = [a for f, a in blueprint.arrays.items() if layout(blueprint.cls)[f][0] == ("parents",)]
    signs = [1.0 - 2.0 * ((unit >> parent % 4) & 1), *(s * np.sign(a)[None] for a in effects for s in (1.0, -1.0))]
    sign = np.concatenate(signs)
    unit, parent = np.mgrid[: len(sign), :n_parents]
    parents = sign * (0.3 + (0.618034 * (unit + 1) * (parent + 1)) % 1.0)
    signal, u = np.linspace(0.4, 2.1, len(sign)), (0.618034 * np.arange(1, len(sign) + 1)) % 0.9 + 0.05
    inputs = {"mechanism": [parents], "noise": [signal, u, parents], "root": [u]}[blueprint.cls.kind]
    return [x.astype(np.float32) for x in inputs]
