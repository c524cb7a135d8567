"""The formula-grounded family (paper 4.3, A.5): one JSON a scenario, in a folder a domain, and its gates."""

#: The ten domains (paper A.5), as folders and as people write them.
DOMAINS = {
    "astronomy": "astronomy",
    "biology_ecology": "biology and ecology",
    "chemistry": "chemistry",
    "earth_systems": "earth systems",
    "electromagnetism": "electromagnetism",
    "energy_systems": "energy systems",
    "materials_structures": "materials and structures",
    "mechanics_fluids": "mechanics and fluids",
    "optics_waves": "optics and waves",
    "thermodynamics": "thermodynamics",
}
