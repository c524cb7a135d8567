"""All families that ship with the package: importing this module registers them. A new family is one line here."""

from mechanisms import (  # noqa: F401
    activation_additive,
    aggregation_nonlinearity,
    discrete_assignment,
    exp_log,
    formula,
    linear_additive,
    linear_interaction,
    lookup_table,
    mixture_regime,
    multiplicative_product,
    piecewise_threshold,
    polynomial_power,
    random_function_product,
    random_neural,
    rational_ratio,
    rff_gp,
    saturation_clip,
    terms,
    tree_based,
    trig_periodic,
)
from mechanisms.base import REGISTRY, Component, Kind, is_shipped
from mechanisms.noise import (  # noqa: F401
    bernoulli_logit,
    beta,
    binomial,
    censored,
    exponential,
    gaussian,
    gumbel,
    heteroskedastic,
    laplace,
    mixture_outlier,
    multiplicative_lognormal,
    none,
    poisson_count,
    poisson_log,
    quantized,
    rff_heteroskedastic,
    student_t,
    target_r2_gaussian,
    uniform,
)
from mechanisms.roots import (  # noqa: F401
    bernoulli,
    gamma,
    grid,
    lognormal,
    mixture_gaussian,
    multinomial,
    ordinal,
    poisson,
    scaled_beta,
    truncated_gaussian,
    zipf,
)
from mechanisms.roots import exponential as exponential_root  # noqa: F401
from mechanisms.roots import gaussian as gaussian_root  # noqa: F401
from mechanisms.roots import gumbel as gumbel_root  # noqa: F401
from mechanisms.roots import uniform as uniform_root  # noqa: F401

KINDS: tuple[Kind, ...] = ("mechanism", "noise", "root")
#: Families that authors write and random specs do not draw: the paper's synthetic pool has none of them.
AUTHORED = ("formula", "lookup_table", "terms", "bernoulli_logit", "binomial", "grid", "poisson_count",
            "poisson_log")  # fmt: skip


def families(kind: Kind) -> dict[str, type[Component]]:
    """The registered families of one kind, by name."""
    return dict(REGISTRY[kind])


def shipped(kind: Kind) -> tuple[str, ...]:
    """The families of one kind that are this package's own, and no user's, sorted."""
    return tuple(sorted(family for family, cls in REGISTRY[kind].items() if is_shipped(cls)))


def drawn(kind: Kind) -> tuple[str, ...]:
    """The shipped families that random specs are made of, unless told otherwise."""
    return tuple(family for family in shipped(kind) if family not in AUTHORED)
