"""Core equations of formula scenarios, against the laws as textbooks have them, written here a second time.

A law's positional arguments are the equation's inputs, by name and in the scenario's units. Its keywords are constants:
published ones have their value here, from `scipy.constants` where that has them; those without a value belong to the
instrument or the site, and are read from the scenario.
"""

import inspect
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from scipy import constants as si

from arena import authored
from arena.compiler import compile_on_host
from arena.keys import keys_of
from arena.pool import Edits, Pool
from arena.spec import SCMSpec

#: Rows as they come, and rows in which one of the inputs is set.
N, N_SET = 2000, 240
#: The scenario computes in float32: a few roundings of the value, and of the terms that make up its spread.
RELATIVE, OF_SPREAD = 1e-5, 2e-5
OFF = 1.01
FARADAY, MAGNETON = si.value("Faraday constant"), si.value("Bohr magneton")


class Law(NamedTuple):
    """A law, and the equation that should follow it."""

    scenario: str
    equation: str
    function: Callable[..., np.ndarray]


LAWS: list[Law] = []


def follows(scenario: str, equation: str):
    """Put the function below among the laws."""

    def keep(function):
        LAWS.append(Law(scenario, equation, function))
        return function

    return keep


# Einstein radius of a point lens: Schneider, Ehlers & Falco (1992), eq. 2.6. The Sun's G M is the IAU's (2015, B3).
@follows("bulge_microlensing_alert", "einstein_ring")
def einstein_radius(lens_mass, lens_fraction, source_distance, *, gm_sun=1.3271244e20, c=si.c):
    source = source_distance * 1e3 * si.parsec
    lens = lens_fraction * source
    angle = np.sqrt(4 * gm_sun * lens_mass / c**2 * (source - lens) / (lens * source))
    return angle / si.arcsecond * 1e3


# Underdense meteor trail, amplitude down to 1/e: McKinley, Meteor Science and Engineering, ch. 8.
@follows("meteor_radar_mesopause", "underdense_fading")
def underdense_fading(radar_wavelength, ambipolar_diffusivity):
    wavenumber = 2 * np.pi / radar_wavelength
    return 1e3 / (4 * wavenumber**2 * ambipolar_diffusivity)


# Goldman-Hodgkin-Katz voltage of two cations: Hille, Ion Channels of Excitable Membranes, ch. 14. Na_i in mmol/L.
@follows("channel_opener_dye_plate", "resting_potential")
def goldman_hodgkin_katz(outer_potassium, outer_sodium, inner_potassium, potassium_permeability, sodium_permeability,
    reader_temperature, *, volt_per_kelvin=si.R / FARADAY, Na_i):  # fmt: skip
    inward = potassium_permeability * outer_potassium + sodium_permeability * outer_sodium
    outward = potassium_permeability * inner_potassium + sodium_permeability * Na_i
    return 1e3 * volt_per_kelvin * (reader_temperature + si.zero_Celsius) * np.log(inward / outward)


# One compartment, first order, doses superposed one by one: Rowland & Tozer, Clinical Pharmacokinetics, ch. 11.
@follows("vancomycin_ward_monitoring", "infusion_trough")
def infusion_trough(dose, drug_clearance, distribution_volume, interval, infusion_time):
    rate = drug_clearance / distribution_volume
    after_one = dose / infusion_time / drug_clearance * -np.expm1(-rate * infusion_time)
    return sum(after_one * np.exp(-rate * (k * interval - infusion_time)) for k in range(1, 801))


# Nernst voltage of an oxygen concentration cell, four electrons a molecule: Atkins & de Paula, Physical Chemistry.
@follows("carburising_oxygen_probe", "oxygen_cell")
def nernst(reference_oxygen, oxygen_pressure, chamber_temperature, *, volt_per_kelvin=si.R / FARADAY):
    ratio = (reference_oxygen * 1e3) / (oxygen_pressure * 1e-15)
    return 1e3 * volt_per_kelvin * chamber_temperature / 4 * np.log(ratio)


# Langmuir isotherm with the balance dissolved + bound = total, its positive root: Stumm & Morgan, ch. 9. q in umol/mg.
@follows("household_arsenic_filter", "floc_uptake")
def langmuir(arsenate, iron_dose, floc_affinity, *, q):
    middle = 1 + floc_affinity * (q * iron_dose - arsenate)
    return (-middle + np.sqrt(middle**2 + 4 * floc_affinity * arsenate)) / (2 * floc_affinity)


# Faraday's law of electrolysis, one electron an atom of Au(I): Paunovic & Schlesinger. L_cell in m, rho in g/cm^3.
@follows("reel_gold_plating", "electrolytic_growth")
def faraday_plating(current_efficiency, current_density, line_speed, *, faraday=FARADAY, molar=0.19696657, L_cell, rho):
    seconds = L_cell / (line_speed / 60)
    moles = current_efficiency * (current_density / 0.1**2) * seconds / faraday
    return 1e6 * moles * molar / (rho * 1e3)


# Hypsometric equation: Wallace & Hobbs, Atmospheric Science, eq. 3.24. Dry air weighs 28.9647 g/mol.
@follows("barometric_reduction", "hypsometric_reduction")
def hypsometric(station_pressure, fused_height, effective_gravity, virtual_temperature, *, molar=28.9647e-3, gas=si.R):
    scale_height = gas / molar * virtual_temperature / effective_gravity
    return station_pressure * np.exp(fused_height / scale_height)


# Infinite slope, Mohr-Coulomb over the slip plane: Selby, Hillslope Materials, ch. 13. gam, gam_w in kPa/m.
@follows("roadside_landslide_watch", "infinite_slope")
def infinite_slope(soil_cohesion, root_cohesion, soil_depth, slope_angle, perched_water, friction_angle, *, gam, gam_w):
    slope, friction = np.deg2rad(slope_angle), np.deg2rad(friction_angle)
    normal = (gam * soil_depth - gam_w * perched_water) * np.cos(slope) ** 2
    shear = gam * soil_depth * np.sin(slope) * np.cos(slope)
    return (soil_cohesion + root_cohesion + normal * np.tan(friction)) / shear


# Geostrophic balance of a sloping sea surface on the rotating Earth (IERS's rotation rate): Gill (1982), ch. 7.
@follows("drifter_boundary_current", "geostrophy")
def geostrophy(sea_level_step, front_width, latitude, *, gravity=si.g, rotation=7.292115e-5):
    coriolis = 2 * rotation * np.sin(np.deg2rad(latitude))
    return gravity / coriolis * sea_level_step / (front_width * 1e3)


# Skin depth of a good conductor that is not magnetic: Griffiths, Electrodynamics, section 9.4.
@follows("shaft_induction_hardening", "skin")
def skin_depth(hot_resistivity, ringing_frequency, *, permeability=si.mu_0):
    angular = 2 * np.pi * ringing_frequency * 1e3
    return 1e3 * np.sqrt(2 * hot_resistivity * 1e-6 / (angular * permeability))


# Friis transmission equation: Balanis, Antenna Theory, eq. 2-119.
@follows("rfid_dock_gate", "friis")
def friis(eirp, label_gain, lane_distance, carrier_frequency, *, c=si.c):
    wavelength = c / (carrier_frequency * 1e6)
    spreading = (wavelength / (4 * np.pi * lane_distance)) ** 2
    return 10 * np.log10(10 ** ((eirp + label_gain) / 10) * spreading)


# Tafel equation: Larminie & Dicks, Fuel Cell Systems, section 3.4. al is the transfer coefficient.
@follows("ferry_fuel_cell", "tafel")
def tafel(current_density, exchange_current, stack_temperature, *, volt_per_kelvin=si.R / FARADAY, al):
    slope = volt_per_kelvin * (stack_temperature + si.zero_Celsius) / al
    return 1e3 * slope * np.log(current_density / (exchange_current * 1e-6))


# Isotropic sky model of Liu and Jordan: Duffie & Beckman, Solar Engineering, eq. 2.15.1. rho_g is the albedo.
@follows("dust_storm_pv_rack", "transposition")
def isotropic_sky(beam_normal, cos_incidence, sky_diffuse, sun_zenith, rack_tilt, *, rho_g):
    sky = np.cos(np.deg2rad(rack_tilt) / 2) ** 2  # view factors of sky and ground, half-angle form
    level = beam_normal * np.cos(np.deg2rad(sun_zenith)) + sky_diffuse
    return beam_normal * cos_incidence + sky_diffuse * sky + rho_g * level * (1 - sky)


# Larson-Miller parameter, T (20 + log10 t), of low-alloy steel in kelvin and hours: Larson & Miller (1952).
@follows("steam_main_creep", "larson_miller")
def larson_miller(rupture_parameter, steam_temperature, *, C=20.0):
    hours = 10 ** (rupture_parameter * 1e3 / (steam_temperature + si.zero_Celsius) - C)
    return hours / 1e3


# First bending frequency of a pinned Euler-Bernoulli beam, a thin tube: Den Hartog, ch. 6. rho_m, rho_d in kg/m^3.
@follows("carbon_jet_shaft", "whirling")
def whirling(axial_modulus, fibre_fraction, mandrel, effective_span, *, rho_m, rho_d):
    inertia_per_area = (mandrel / 1e3) ** 2 / 8
    stiffness_per_mass = axial_modulus * 1e9 * inertia_per_area / (rho_m + rho_d * fibre_fraction)
    angular = (np.pi / effective_span) ** 2 * np.sqrt(stiffness_per_mass)
    return angular / (2 * np.pi) * 60


# Vibration transmitted by a damped spring, as a complex ratio: Inman, Engineering Vibration, section 2.4.
@follows("microscope_air_table", "transmissibility")
def transmissibility(fan_frequency, natural_frequency, damping_ratio):
    ratio = fan_frequency / natural_frequency
    damping = 2j * damping_ratio * ratio
    return np.abs((1 + damping) / (1 - ratio**2 + damping))


# Darcy-Weisbach equation: White, Fluid Mechanics, eq. 6.10.
@follows("hydrant_main_friction", "darcy_weisbach")
def darcy_weisbach(friction_factor, gauge_spacing, bore, main_flow, *, gravity=si.g):
    diameter = bore / 1e3
    speed = main_flow / 1e3 / (np.pi * diameter**2 / 4)
    return friction_factor * gauge_spacing / diameter * speed**2 / (2 * gravity)


# Thin lens equation, 1/f = 1/u + 1/v: Hecht, Optics, eq. 5.17.
@follows("thin_lens_inspection", "lens_for_sensor")
def thin_lens(focal_length, object_distance):
    return 1 / (1 / focal_length - 1 / object_distance)


# Snell's law, and the way down and up at the speed in water: Guenther (1985). n is the index of the water.
@follows("estuary_bathymetric_lidar", "depth_by_refraction")
def snell_depth(bottom_delay, incidence_angle, tide_gauge, *, c=si.c, n):
    slant = c / n * bottom_delay * 1e-9 / 2
    refracted = np.arcsin(np.sin(np.deg2rad(incidence_angle)) / n)
    return slant * np.cos(refracted) - tide_gauge


# Straight fin with an adiabatic tip: Incropera et al., Heat and Mass Transfer, section 3.6.
@follows("luminaire_heat_sink", "fin_efficiency")
def fin_efficiency(film_coefficient, fin_conductivity, fin_thickness, fin_height):
    decay = np.sqrt(2 * film_coefficient / (fin_conductivity * fin_thickness / 1e3)) * fin_height / 1e3
    return np.tanh(decay) / decay


# Entropy of spins 5/2 from the populations of their six levels, -R sum p ln p: Pobell, section 9.2. g is iron's.
@follows("adiabatic_demagnetisation_cryostat", "spin_entropy")
def spin_entropy(stage_temperature, salt_amount, internal_field, magnetised_entropy, *, g=2.0, gas=si.R,
    magneton=MAGNETON, boltzmann=si.k):  # fmt: skip
    kelvin, levels = stage_temperature / 1e3, np.arange(-2.5, 3.0)[:, None]
    weight = np.exp(-levels * g * magneton * internal_field / (boltzmann * kelvin))
    share = weight / weight.sum(axis=0)
    entropy = -gas * (share * np.log(share)).sum(axis=0)
    return 1e3 * kelvin * salt_amount * (entropy - magnetised_entropy)


class Case(NamedTuple):
    """What a law needs, and what it should give, on some rows.

    Attributes:
        inputs: Each column, float64.
        constants: All constants of the law.
        found: The scenario's column.
        before: The same for these units when nothing is set.
    """

    inputs: dict[str, np.ndarray]
    constants: dict[str, float]
    found: np.ndarray
    before: np.ndarray


@pytest.fixture(scope="module")
def tables():
    """Of each law its plain rows, and rows in which its inputs are set in turn, all from one program."""
    specs = [_upstream(authored.spec("formula", law.scenario), law) for law in LAWS]
    frame = authored.frame_of(specs)
    pool = Pool([compile_on_host(spec, widths=frame.parents) for spec in specs], frame)
    edits = [_edits(spec, law) for spec, law in zip(specs, LAWS, strict=True)]
    keys = keys_of(("equations", law.scenario) for law in LAWS)
    drawn = pool.draw(range(len(specs)), keys, N, edits)
    found = {}
    for law, spec, values in zip(LAWS, specs, drawn, strict=True):
        columns = dict(zip(spec.names, values.astype(np.float64), strict=True))
        found[law.scenario] = (_case(law, spec, columns, slice(N)), _case(law, spec, columns, slice(N, None)))
    return found


def _upstream(spec: SCMSpec, law: Law) -> SCMSpec:
    """The scenario without what is not a cause of the equation's variable, for a smaller program."""
    equation, kept = _equation(spec, law), set()
    parents, waiting = {node.name: node.parents for node in spec.nodes}, [equation.solve_for]
    while waiting:
        kept.add(name := waiting.pop())
        waiting += parents[name]
    nodes = tuple(node for node in spec.nodes if node.name in kept)
    return SCMSpec(name=spec.name, nodes=nodes, equations=(equation,))


def _edits(spec: SCMSpec, law: Law) -> Edits:
    """Row by row one of the inputs is set, somewhere in the middle half of its range."""
    shape, rng = (N_SET, len(spec.nodes)), np.random.default_rng(5)
    gain, offset = np.ones(shape, np.float32), np.zeros(shape, np.float32)
    inputs = [spec.names.index(name) for name in _equation(spec, law).inputs]
    for row in range(N_SET):
        j = inputs[row % len(inputs)]
        low, high = spec.nodes[j].range or (0.0, 1.0)
        gain[row, j], offset[row, j] = 0.0, low + (high - low) * rng.uniform(0.25, 0.75)
    return Edits(np.arange(N_SET, dtype=np.int32), gain, offset, np.ones(shape, np.float32))


def _case(law: Law, spec: SCMSpec, columns: dict[str, np.ndarray], rows: slice) -> Case:
    equation, parameters = _equation(spec, law), inspect.signature(law.function).parameters.values()
    mechanism = next(node for node in spec.nodes if node.name == equation.solve_for).mechanism
    own = getattr(mechanism, "constants", {})
    assert {p.name for p in parameters if p.kind is not p.KEYWORD_ONLY} == set(equation.inputs)
    fixed = {p.name: own[p.name] if p.default is p.empty else p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    out = columns[equation.solve_for]
    return Case({name: columns[name][rows] for name in equation.inputs}, fixed, out[rows], out[:N_SET])


def _equation(spec: SCMSpec, law: Law):
    (found,) = [one for one in spec.equations if one.id == law.equation and one.core]
    return found


def agrees(law: Law, case: Case, spread: float, **wrong: float) -> None:
    """The law gives the scenario's column; `wrong` are inputs and constants to be multiplied."""
    right = {**case.inputs, **case.constants}
    expected = law.function(**{name: value * wrong.get(name, 1.0) for name, value in right.items()})
    np.testing.assert_allclose(case.found, expected, rtol=RELATIVE, atol=OF_SPREAD * spread)


each_law = pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law.scenario}-{law.equation}")


@each_law
def test_the_law_holds(law, tables):
    plain, _ = tables[law.scenario]
    agrees(law, plain, plain.found.std())


@each_law
def test_the_law_holds_where_an_input_is_set(law, tables):
    plain, changed = tables[law.scenario]
    agrees(law, changed, plain.found.std())
    moved = np.abs(changed.found - changed.before)
    for k in range(len(plain.inputs)):
        assert np.median(moved[k :: len(plain.inputs)]) > 10 * OF_SPREAD * plain.found.std()


@each_law
def test_one_percent_would_be_seen(law, tables):
    plain, _ = tables[law.scenario]
    for name in (*plain.inputs, *plain.constants):
        with pytest.raises(AssertionError, match="Not equal to tolerance"):
            agrees(law, plain, plain.found.std(), **{name: OFF})
