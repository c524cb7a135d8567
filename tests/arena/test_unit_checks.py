"""Units of expressions: an equation is right if its plain number is the number of its quantities."""

import numpy as np
import pytest

from arena.units import UnitError, check, unit

VALUES = {
    "p": np.array([101300.0, 99000.0]), "z": np.array([120.0, 700.0]), "T": np.array([288.0, 300.0]),
    "t": np.array([10.0, 20.0]), "rh": np.array([40.0, 70.0]),
}  # fmt: skip
GAS = {"g": (9.80665, "m/s^2"), "R": (287.05, "J/(kg*K)")}


def off(expression, parents, result, constants=()):
    constants = dict(constants)
    plain = {name: value for name, (value, _) in constants.items()}
    units = {name: text for name, (_, text) in constants.items() if text}
    return check(expression, parents, plain, units, result, VALUES)


RIGHT = [
    ("p * exp(g * z / (R * T))", {"p": "Pa", "z": "m", "T": "K"}, "Pa", GAS),
    ("p * exp(g * z / (R * T))", {"p": "hPa", "z": "m", "T": "K"}, "hPa", GAS),
    ("T_zero + k * t", {"t": "degC"}, "K", {"T_zero": (273.15, "K"), "k": (1.0, "K/degC")}),
    ("rh / hundred", {"rh": "percent"}, "1", {"hundred": (100.0, "percent")}),
    ("max(p - low, 0)", {"p": "Pa"}, "Pa", {"low": (1e5, "Pa")}),
    ("where(p > low, z, 0)", {"p": "Pa", "z": "m"}, "m", {"low": (1e5, "Pa")}),
    ("z > low", {"z": "m"}, "1", {"low": (200.0, "m")}),
    ("p ** 0.75", {"p": "kg"}, "kg^0.75", {}),
    ("step * floor(z / step)", {"z": "m"}, "m", {"step": (10.0, "m")}),
    ("sin(z * one)", {"z": "deg"}, "1", {"one": (np.pi / 180, "rad/deg")}),
    ("log(z / z_0) * a", {"z": "m"}, "dB", {"z_0": (1.0, "m"), "a": (4.0, "dB")}),
    ("p * yield_", {"p": "photon"}, "electron", {"yield_": (0.6, "electron/photon")}),
]


@pytest.mark.parametrize("expression, parents, result, constants", RIGHT)
def test_a_right_equation_gives_the_same_number(expression, parents, result, constants):
    assert off(expression, parents, result, constants) < 1e-12


WRONG = [
    # (units do not fit, what is said) or (they do, and the number is another one)
    ("p * exp(g * z / (R * T))", {"p": "Pa", "z": "km", "T": "K"}, "Pa", GAS, None),
    ("p * exp(g * z / (R * T))", {"p": "Pa", "z": "m", "T": "K"}, "hPa", GAS, None),
    ("rh / hundred", {"rh": "percent"}, "1", {"hundred": (100.0, "")}, None),
    ("sin(z)", {"z": "deg"}, "1", {}, None),
    ("p * exp(g * z / (R * T))", {"p": "Pa", "z": "m", "T": "degC"}, "Pa", GAS, "'exp' of"),
    ("p + z", {"p": "Pa", "z": "m"}, "Pa", {}, "'add' of Pa and m"),
    ("p * z", {"p": "Pa", "z": "m"}, "Pa", {}, "expected Pa"),
    ("z > p", {"p": "Pa", "z": "m"}, "1", {}, "'lt' of Pa and m"),
    ("min(z, p)", {"p": "Pa", "z": "m"}, "m", {}, "'min' of m and Pa"),
    ("max(z, 3)", {"z": "m"}, "m", {}, "'max' of m and a plain number"),
    ("log(z)", {"z": "m"}, "1", {}, "'log' of m"),
    ("t + T", {"t": "degC", "T": "K"}, "K", {}, "'add' of"),
    ("p * 1", {"p": "photon"}, "electron", {}, "expected electron"),
]


@pytest.mark.parametrize("expression, parents, result, constants, said", WRONG)
def test_a_wrong_equation_is_found(expression, parents, result, constants, said):
    if said is None:
        assert off(expression, parents, result, constants) > 1e-3
        return
    with pytest.raises(UnitError) as error:
        off(expression, parents, result, constants)
    assert said in str(error.value)


def test_an_equation_that_gives_no_number_is_not_right():
    assert np.isnan(off("log((z - far) / far)", {"z": "m"}, "1", {"far": (1e6, "m")}))


@pytest.mark.parametrize("text", ["furlongs/fortnite", "K +", "m**", "W/(m*", "3", ""])
def test_what_is_no_unit_is_refused(text):
    if text == "":
        assert str(unit(text)) == "dimensionless"
        return
    with pytest.raises(UnitError, match="unit "):
        unit(text)


@pytest.mark.parametrize(
    "text", ["dB/km", "mag/arcsec^2", "individual/km^2", "J/(kg*degC)", "dBm", "L_sun/M_sun", "Jy", "1"]
)
def test_units_of_scenarios_are_known(text):
    unit(text)
