"""Units of variables and constants, and whether an expression is right in them (paper A.3, stage 5), by pint.

An SCM computes with plain numbers. So an equation is right only if the plain number that it gives is the number that
its quantities give in the unit of its variable: a check of dimensions and of every factor between units.
"""

import functools
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from arena.errors import SpecError
from mechanisms.expression import OPERATIONS, parse

#: What scenarios count or read off scales and pint has no unit for, or has another one. A reading in degrees Celsius is
#: a dimension of its own: an equation turns it into kelvin by constants of 1 K/degC and 273.15 K, or it is wrong.
DEFINITIONS = {
    "degC": "celsius_reading = [celsius_reading]",
    "dB": "level_in_decibels = []",
    "dBm": "level_in_decibel_milliwatts = []",
    "mag": "astronomical_magnitude = []",
    "pH": "acidity = []",
    "psu": "practical_salinity = []",
    "NTU": "turbidity_reading = [turbidity]",
    "individual": "individual = [population]",
    "cell": "biological_cell = [cells]",
    "cfu": "colony = [colonies]",
    "electron": "electron_count = [electrons]",
    "photon": "photon_count = [photons]",
    "ADU": "converter_unit = [converter_units]",
    "dpt": "lens_power = 1 / meter",
    "M_sun": "mass_of_the_sun = 1.98841e30 kilogram",
    "L_sun": "luminosity_of_the_sun = 3.828e26 watt",
    "R_sun": "radius_of_the_sun = 6.957e8 meter",
    "var": "reactive_watt = watt",
    "Jy": "jansky = 1e-26 watt / meter ** 2 / hertz",
}
_WORD = re.compile(r"(?<![A-Za-z_])(" + "|".join(DEFINITIONS) + r")(?![A-Za-z_])")
#: Magnitudes agree to this, relatively; the plain number has no more digits than its constants.
TOLERANCE = 1e-6
#: Least share of points at which an expression is a number.
KNOWN_SHARE = 0.25


class UnitError(SpecError):
    """A unit that is none, or an expression that is wrong in its units."""


def unit(text: str | None) -> Any:
    """The pint unit of a text such as `W/(m^2*K)`; dimensionless for `1` and None.

    Raises:
        UnitError: If there is no such unit.
    """
    registry = _registry()
    plain = _WORD.sub(lambda found: DEFINITIONS[found[0]].partition(" ")[0], (text or "1").strip())
    try:
        return registry.Unit("dimensionless" if plain == "1" else plain.replace("^", "**"))
    except Exception as error:  # pint raises many kinds
        raise UnitError(f"unit '{text}': {str(error).partition(chr(10))[0]}") from None


def check(
    expression: str,
    parents: Mapping[str, str | None],
    constants: Mapping[str, float],
    units: Mapping[str, str],
    result: str | None,
    values: Mapping[str, np.ndarray],
) -> float:
    """The largest relative difference between an expression in plain numbers and in quantities.

    Args:
        expression: As in a formula.
        parents: The unit of each parent.
        constants, units: Values of the constants, and units of those that have one.
        result: The unit of the variable that it gives.
        values: Values of each parent, arrays of one length.

    Raises:
        UnitError: If units do not fit together; it says which.
    """
    program = parse(expression, [*parents, *constants], {})
    plain = {**{name: np.asarray(values[name], np.float64) for name in parents},
             **{name: np.float64(value) for name, value in constants.items()}}  # fmt: skip
    of = {**parents, **{name: units.get(name) for name in constants}}
    quantity = _registry().Quantity
    registers = [
        *map(np.float64, program.constants),
        *(quantity(plain[name], unit(of[name])) for name in program.parents),
    ]
    for name, *places in program.operations:
        a, b, c = (registers[place] for place in places)
        try:
            with np.errstate(all="ignore"):
                registers.append(OPERATIONS[name](_Quantities, a, b, c))
        except Exception as error:  # pint raises many kinds
            reason = str(error).partition("\n")[0]
            raise UnitError(
                f"'{name}' of {_named(a)}" + (f" and {_named(b)}: " if b is not a else ": ") + reason
            ) from None
    found, wanted = registers[program.output], unit(result)
    try:
        found = (
            found.to(wanted).magnitude
            if hasattr(found, "to")
            else quantity(found, "dimensionless").to(wanted).magnitude
        )
    except Exception:
        raise UnitError(f"gives {_named(found)}, expected {result or '1'}") from None
    with np.errstate(all="ignore"):
        expected = program.evaluate(plain)
    known = np.isfinite(np.broadcast_to(expected, np.shape(found)))
    if known.mean() < KNOWN_SHARE:  # nothing was compared
        return float("nan")
    off = np.abs(found - expected) / np.maximum(np.abs(expected), 1e-300)
    return float(np.max(np.where(known, off, 0.0)))


class _Quantities:
    """numpy, where a number 0 has any unit, and conditions have none."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def minimum(self, a: Any, b: Any) -> Any:
        return np.minimum(*_alike(a, b))

    def maximum(self, a: Any, b: Any) -> Any:
        return np.maximum(*_alike(a, b))

    def where(self, condition: Any, a: Any, b: Any) -> Any:
        return np.where(getattr(condition, "magnitude", condition), *_alike(a, b))


_Quantities = _Quantities()  # type: ignore[misc, assignment]


def _alike(a: Any, b: Any) -> tuple[Any, Any]:
    """Both with units, if one has one; only a 0 takes another's."""
    for one, other in ((a, b), (b, a)):
        if hasattr(one, "units") and not hasattr(other, "units") and np.all(other == 0.0):
            other = _registry().Quantity(other, one.units)
            return (one, other) if one is a else (other, one)
    return a, b


def _named(value: Any) -> str:
    return f"{value.units:~}" if hasattr(value, "units") and str(value.units) != "dimensionless" else "a plain number"


@functools.cache
def _registry() -> Any:
    import pint

    registry = pint.UnitRegistry(autoconvert_offset_to_baseunit=False, cache_folder=None)
    for definition in DEFINITIONS.values():
        registry.define(definition)
    return registry
