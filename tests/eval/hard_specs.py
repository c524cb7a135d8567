"""Specs with plants at the ends of their variables, among rare levels, and with plants that nothing can confirm."""

from typing import Any

from arena.spec import SCMSpec

GAUSS = {"family": "gaussian", "mean": 0.0, "scale": 1.0}
ROOTS: dict[str, tuple[dict[str, Any], str]] = {
    **{name: (GAUSS, "continuous") for name in ("x1", "x2", "x3", "x4", "x5", "x6", "x7", "m1", "m2", "w", "a", "b")},
    "few": ({"family": "ordinal", "probability": [0.3, 0.3, 0.4]}, "ordinal"),
    "eight": ({"family": "ordinal", "probability": [0.125] * 8}, "categorical"),
    "twenty": ({"family": "ordinal", "probability": [0.05] * 20}, "categorical"),
    "rare": ({"family": "bernoulli", "probability": 0.9995}, "binary"),
    "half": ({"family": "bernoulli", "probability": 0.45}, "binary"),
    "count": ({"family": "poisson", "rate": 2.0}, "count"),
    "z": ({"family": "lognormal", "log_mean": 1.0, "log_scale": 0.4}, "continuous"),
}


def planted(archetype: str, op: str, operand: Any, label: str, weight: float = 3.0, **more: Any) -> dict[str, Any]:
    return {"op": op, "operand": operand, "weight": weight, "label": label, "archetype": archetype, **more}


def linear(operand: str, weight: float = 1.0) -> dict[str, Any]:
    return {"op": "linear", "operand": operand, "weight": weight, "at": 0.0, "scale": 1.0}


def caused(name: str, *terms: dict[str, Any], noise: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    operands = [one for term in terms for one in (term["operand"], term.get("by")) if one]
    names = [name for one in operands for name in (one["of"] if isinstance(one, dict) else [one])]
    mechanism = {"family": "terms", "terms": list(terms)}
    return {"name": name, "parents": list(dict.fromkeys(names)), "mechanism": mechanism,
            "noise": noise or {"family": "gaussian", "scale": 1.0}, **more}  # fmt: skip


def spec(name: str, *nodes: dict[str, Any]) -> SCMSpec:
    roots = [{"name": root, "root": data, "kind": kind} for root, (data, kind) in ROOTS.items()]
    return SCMSpec.from_dict({"name": name, "nodes": [*roots, *nodes], "outcome": "y"})


#: Each plant can be confirmed, if experiments see the ends of the variables and every level.
HARD = spec("hard", caused(
    "y",
    planted("subpopulation_only", "gate", "x1", "above 0.95", by="m1", by_quantile=0.95),
    planted("subpopulation_only", "gate", "x2", "below 0.05", by="m1", by_quantile=0.05),
    planted("subpopulation_only", "gate", "x3", "one of eight", by="eight", level=7.0),
    planted("subpopulation_only", "gate", "x4", "one in 2000", by="rare", level=0.0),
    planted("subpopulation_only", "conjunction", "x7", "far corner", quantile=0.96, by="m2", by_quantile=0.9),
    planted("monotone_threshold", "step", "x5", "last step", 6.0, quantile=0.98),
    planted("non_monotone", "bump", "x6", "late turn", 4.0, quantile=0.95),
    planted("interaction_reversal", "interaction", "w", "two levels", 1.0, by="half"),
    planted("derived_feature", "linear", {"op": "product", "of": ["count", "z"]}, "count may be 0", 1.0),
    planted("category_level", "category", "twenty", "last level", level=19.0),
))  # fmt: skip
#: None can: three values make no curve, two terms of one variable no threshold, and what is weak is not there.
HOPELESS = spec("hopeless", caused(
    "y",
    planted("monotone_threshold", "step", "few", "three values"),
    planted("monotone_threshold", "step", "x1", "two terms"),
    linear("x1"),
    planted("non_monotone", "bump", "x2", "beyond", 4.0, at=3.5, scale=1.0),
    planted("interaction_reversal", "interaction", "x3", "one side", by="m1", by_at=3.0),
    planted("monotone_threshold", "step", "x4", "weak", 0.1),
))  # fmt: skip
#: One variable in three plants, and a smooth curve through a binary mediator; read as log-odds, though scaled.
CROSSED = spec(
    "crossed",
    caused("on", {**linear("x5", 2.0), "at": 1.0}, noise={"family": "bernoulli_logit", "bias": 0.0}, kind="binary"),
    caused(
        "y",
        planted("subpopulation_only", "gate", "x1", "by half", 1.0, by="half", level=1.0),
        planted("interaction_reversal", "interaction", "x1", "by m1", 1.5, by="m1"),
        planted("interaction_reversal", "interaction", "x1", "by m2", 1.2, by="m2"),
        planted("category_level", "category", "few", "the lowest", 3.0, level=0.0),
        linear("on", 3.0), linear("a", 2.0), linear("b", 2.0),
        noise={"family": "bernoulli_logit", "bias": -2.0}, scaling=[0.3, 0.5],
    ),
)  # fmt: skip
