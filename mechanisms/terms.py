"""Sums of typed terms: the equations of hypothesis benchmarks, where each term is one mechanism that can be claimed.

Every term is `weight * factor * factor`. A factor is a shape of an operand, and an operand is a parent, or what is
derived from one or two. So all terms run in one loop, a term is data, and specs with as many terms share one program.
"""

from typing import Annotated, Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int
from pydantic import Field, Strict, model_validator

from mechanisms import operands
from mechanisms.base import Array, Mechanism, Number, ParameterError, Parameters, param
from mechanisms.operands import Operand, OperandSpec
from mechanisms.parameters import ONLY_LISTS, Data
from mechanisms.priors import signed_weights

Op = Literal["linear", "threshold", "step", "bump", "interaction", "gate", "conjunction", "category"]
Archetype = Literal[
    "monotone_threshold", "non_monotone", "interaction_reversal", "subpopulation_only", "derived_feature",
    "simpsons_paradox", "mediation_chain", "category_level",
]  # fmt: skip
Probability = Annotated[Number, Field(gt=0.0, lt=1.0)]
Width = Annotated[Number, Field(gt=0.0)]

#: A value is at a level if it differs by no more than this, times the level where that is above 1: rounding only.
LEVEL_TOLERANCE = 1e-3

SHAPES = ("one", "linear", "hinge", "step", "bump", "level")
#: The factors of each op: of its operand, and of what it depends on besides.
FACTORS: dict[str, tuple[str, str]] = {
    "linear": ("linear", "one"),
    "threshold": ("hinge", "one"),
    "step": ("step", "one"),
    "bump": ("bump", "one"),
    "interaction": ("linear", "linear"),
    "gate": ("linear", "step"),
    "conjunction": ("step", "step"),
    "category": ("level", "one"),
}
#: The ops that can show each archetype.
OPS: dict[str, tuple[str, ...]] = {
    "monotone_threshold": ("threshold", "step"),
    "non_monotone": ("bump",),
    "interaction_reversal": ("interaction",),
    "subpopulation_only": ("gate", "conjunction"),
    "derived_feature": ("linear", "threshold", "step"),
    "simpsons_paradox": ("linear",),
    "mediation_chain": ("linear",),
    "category_level": ("category",),
}


class TermSpec(Data, frozen=True):
    """One term of the sum. z is (operand - at) / scale, w the same of `by`.

    | op | value |
    |---|---|
    | linear | weight z |
    | threshold | weight max(z, 0): nothing up to `at`, a slope above |
    | step | weight [z > 0] |
    | bump | weight exp(-z^2 / 2): a peak at `at`, or a trough; a U where the weight is negative |
    | interaction | weight z w: the effect of one changes its sign where the other passes `by_at` |
    | gate | weight z [w > 0], or weight z [by = level]: an effect in a subpopulation only |
    | conjunction | weight [z > 0] [w > 0] |
    | category | weight [operand = level] |

    `at` and `scale` that are not given are set by calibration: `at` to the `quantile` of the operand, `scale` to half
    the distance between its quantiles 0.16 and 0.84. Likewise those of `by`; the `by` of an interaction that has two
    values only is centred midway between them, so that the effect has either sign.

    Attributes:
        label: The name of the mechanism, if it is planted to be found.
        archetype: What kind of mechanism it is; a labelled term has one, another has none.
    """

    op: Op
    operand: Operand
    weight: Number
    by: Operand | None = None
    at: Number | None = None
    quantile: Probability = 0.5
    scale: Width | None = None
    by_at: Number | None = None
    by_quantile: Probability = 0.5
    by_scale: Width | None = None
    level: Number | None = None
    label: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    archetype: Archetype | None = None

    @model_validator(mode="after")
    def _check(self) -> "TermSpec":
        paired = FACTORS[self.op][1] != "one"
        if paired and self.by is None:
            raise ParameterError("by", f"is missing: '{self.op}' is about two operands")
        for field in ("by", "by_at", "by_scale"):
            if not paired and getattr(self, field) is not None:
                raise ParameterError(field, f"found one, expected none: '{self.op}' is about one operand")
        if self.op == "category" and self.level is None:
            raise ParameterError("level", "is missing: a category term singles out one level")
        if self.op not in ("category", "gate") and self.level is not None:
            raise ParameterError("level", f"found one, expected none in '{self.op}'")
        if self.op == "gate" and self.level is not None and self.by_at is not None:
            raise ParameterError("level", "found it beside 'by_at', expected one of the two")
        if self.op == "category" and self.operand.op != "raw":
            raise ParameterError("operand", f"is derived ({self.operand}), expected a parent")
        if self.by is not None and set(self.by.of) & set(self.operand.of):
            raise ParameterError("by", f"names '{self.by.of[0]}', which the operand names too, expected another parent")
        if (self.label is None) != (self.archetype is None):
            missing, present = ("label", "archetype") if self.label is None else ("archetype", "label")
            raise ParameterError(missing, f"is missing beside '{present}': a planted mechanism has both")
        if self.archetype is not None:
            if self.op not in OPS[self.archetype]:
                wanted = ", ".join(OPS[self.archetype])
                raise ParameterError(
                    "archetype", f"is '{self.archetype}', which the ops {wanted} show, found '{self.op}'"
                )
            if self.weight == 0.0:
                raise ParameterError("weight", "is 0, expected an effect: the term is planted to be found")
            if (self.archetype == "derived_feature") != (self.operand.op != "raw") and self.archetype in (
                "derived_feature", "simpsons_paradox", "mediation_chain",
            ):  # fmt: skip
                expected = "log, ratio or product" if self.archetype == "derived_feature" else "a parent itself"
                raise ParameterError("operand", f"is {self.operand}, expected {expected} for '{self.archetype}'")
        return self

    def factors(self) -> tuple["Factor", "Factor"]:
        """Its two factors."""
        first, second = FACTORS[self.op]
        if self.op == "gate" and self.level is not None:
            second = "level"
        own = self.level if first == "level" else self.at
        other = self.level if second == "level" else self.by_at
        return (
            Factor("", first, self.operand, own, self.quantile, self.scale),
            Factor("by_", second, self.by, other, self.by_quantile, self.by_scale),
        )

    def variables(self) -> tuple[str, ...]:
        """The parents that it is about, those of its operand first."""
        return (*self.operand.of, *(self.by.of if self.by else ()))


class Factor(NamedTuple):
    """A factor of a term, as a spec gives it.

    Attributes:
        prefix: Of its fields in the term: nothing, or `by_`.
        at, scale: None where calibration has to set them.
    """

    prefix: str
    shape: str
    operand: OperandSpec | None
    at: float | None
    quantile: float
    scale: float | None

    def unset(self) -> tuple[str, ...]:
        """The fields that calibration has to set."""
        needs = {"one": (), "level": (), "step": ("at",)}.get(self.shape, ("at", "scale"))
        return tuple(field for field in needs if getattr(self, field) is None)


class TermsParameters(Parameters, frozen=True):
    """A constant and a list of terms."""

    family: Literal["terms"]
    terms: Annotated[tuple[TermSpec, ...], Strict(False), Field(min_length=1, max_length=256), ONLY_LISTS]
    bias: Number = 0.0

    @model_validator(mode="after")
    def _check(self) -> "TermsParameters":
        labels = [term.label for term in self.terms if term.label is not None]
        for label in labels:
            if labels.count(label) > 1:
                raise ParameterError("terms", f"have the label '{label}' twice, expected different labels")
        return self


class Terms(Mechanism, family="terms"):
    """f(x) = bias + sum over terms of weight * factor * factor; see `TermSpec`.

    Numbers that are not calibrated yet are nan.
    """

    granularity = {"two": 2, "terms": 32}

    weight: Float[Array, "terms"] = param("effect of each term")
    shape: Int[Array, "terms two"] = param("shape of each factor")
    derivation: Int[Array, "terms two"] = param("derivation of each factor's operand")
    first: Int[Array, "terms two"] = param("position of the operand's first parent")
    second: Int[Array, "terms two"] = param("position of the operand's second parent")
    at: Float[Array, "terms two"] = param("where the operand is 0 for the shape")
    scale: Float[Array, "terms two"] = param("unit of the operand for the shape", pad=1.0)
    bias: Float[Array, ""] = param("constant term")

    @classmethod
    def parameters(cls):
        return TermsParameters

    @classmethod
    def arrays(cls, parameters, parents):
        n = len(parameters.terms)
        out: dict[str, Any] = {name: np.zeros((n, 2), np.int32) for name in ("shape", "derivation", "first", "second")}
        out |= {"at": np.zeros((n, 2)), "scale": np.ones((n, 2))}
        used: set[str] = set()
        for t, term in enumerate(parameters.terms):
            for f, factor in enumerate(term.factors()):
                if factor.operand is None:
                    continue
                field = f"terms.{t}.{factor.prefix.rstrip('_') or 'operand'}"
                out["shape"][t, f] = SHAPES.index(factor.shape)
                place = operands.places(factor.operand, parents, field)
                out["derivation"][t, f], out["first"][t, f], out["second"][t, f] = place
                unset = factor.unset()
                out["at"][t, f] = np.nan if "at" in unset else factor.at or 0.0
                out["scale"][t, f] = np.nan if "scale" in unset else factor.scale or 1.0
            used |= set(term.variables())
        for name in parents:
            if name not in used:
                raise ParameterError("terms", f"do not use the parent '{name}', expected each parent in a term")
        return {
            "weight": np.array([term.weight for term in parameters.terms]), **out, "bias": np.asarray(parameters.bias),
        }  # fmt: skip

    @classmethod
    def prior(cls, rng, parents):
        """A term of a random op for each parent; the paper has no prior for terms."""
        terms = []
        for parent, weight in zip(parents, signed_weights(rng, len(parents)), strict=True):
            others = [name for name in parents if name != parent]
            ops = [op for op in FACTORS if op != "category" and (others or FACTORS[op][1] == "one")]
            term: dict[str, Any] = {"op": ops[rng.integers(len(ops))], "operand": parent, "weight": weight}
            term |= {"at": rng.uniform(-0.6, 0.6), "scale": rng.uniform(0.5, 1.5)}
            if FACTORS[term["op"]][1] != "one":
                term |= {"by": others[rng.integers(len(others))], "by_at": rng.uniform(-0.6, 0.6), "by_scale": 1.0}
            terms.append(term)
        return {"terms": terms, "bias": rng.uniform(-0.5, 0.5)}

    def __call__(self, parents):
        return self.over(parents[:, None])[0]

    def over(self, x, rows=None):
        x, place = jnp.asarray(x), jnp.arange(x.shape[0]) if rows is None else jnp.asarray(rows)

        def branch(shape, derive):
            return lambda value, first, second, at, scale: value * shape(derive(x[first], x[second]), at, scale)

        # One fused loop over the units for each pair of a shape and a derivation.
        branches = [branch(shape, derive) for shape in _SHAPES for derive in operands.DERIVATIONS]

        def times(value, factor):
            shape, derivation, first, second, at, scale = factor
            chosen = (shape - 1) * len(operands.DERIVATIONS) + derivation
            apply = lambda: jax.lax.switch(chosen, branches, value, place[first], place[second], at, scale)  # noqa: E731
            return jax.lax.cond(shape > 0, apply, lambda: value), None

        def step(total, term):
            weight, *factors = term

            def added():
                # The first factor is never left out; the second may be.
                product, _ = jax.lax.scan(times, jnp.full_like(total, weight), tuple(factors))
                return total + product

            return jax.lax.cond(factors[0][0] > 0, added, lambda: total), None

        fields = (self.weight, self.shape, self.derivation, self.first, self.second, self.at, self.scale)
        start = jnp.full(x.shape[1], self.bias, x.dtype)
        total, _ = jax.lax.scan(step, start, jax.tree.map(jnp.asarray, fields))
        return total


def _linear(v, at, scale):
    return (v - at) / scale


def _hinge(v, at, scale):
    return jnp.maximum((v - at) / scale, 0.0)


def _step(v, at, scale):
    return jnp.where(v > at, 1.0, 0.0).astype(v.dtype)


def _bump(v, at, scale):
    return jnp.exp(-0.5 * ((v - at) / scale) ** 2)


def _level(v, at, scale):
    return jnp.where(jnp.abs(v - at) <= LEVEL_TOLERANCE * jnp.maximum(jnp.abs(at), 1.0), 1.0, 0.0).astype(v.dtype)


#: In the order of `SHAPES`, without the first.
_SHAPES = (_linear, _hinge, _step, _bump, _level)
