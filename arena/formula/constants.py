"""Physical constants by the names that scenarios give them, from CODATA as scipy has it."""

from scipy import constants as codata

#: Name -> (value, unit).
KNOWN: dict[str, tuple[float, str]] = {
    "R_gas": (codata.R, "J/(mol*K)"),
    "k_B": (codata.k, "J/K"),
    "N_A": (codata.N_A, "1/mol"),
    "h_planck": (codata.h, "J*s"),
    "c_light": (codata.c, "m/s"),
    "e_charge": (codata.e, "C"),
    "m_electron": (codata.m_e, "kg"),
    "m_proton": (codata.m_p, "kg"),
    "eps_0": (codata.epsilon_0, "F/m"),
    "mu_0": (codata.mu_0, "N/A^2"),
    "sigma_SB": (codata.Stefan_Boltzmann, "W/(m^2*K^4)"),
    "G_newton": (codata.G, "m^3/(kg*s^2)"),
    "g_0": (codata.g, "m/s^2"),
    "F_faraday": (codata.value("Faraday constant"), "C/mol"),
    "b_wien": (codata.Wien, "m*K"),
    "R_rydberg": (codata.Rydberg, "1/m"),
    "mu_B": (codata.value("Bohr magneton"), "J/T"),
    "T_zero": (codata.zero_Celsius, "K"),
    "p_atm": (codata.atm, "Pa"),
}
#: Other names for them that would pass unchecked.
ALIASES = {
    "R": "R_gas", "kB": "k_B", "k_b": "k_B", "NA": "N_A", "sigma_sb": "sigma_SB", "g0": "g_0", "F": "F_faraday",
    "eps0": "eps_0", "mu0": "mu_0", "T0_K": "T_zero", "G": "G_newton",
}  # fmt: skip
