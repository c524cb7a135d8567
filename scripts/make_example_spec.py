"""Write the example spec: five mechanisms of different families among columns that only correlate with the outcome.

    python scripts/make_example_spec.py [--out specs/example.json]

The outcome is the renewal score of a customer. Sixteen columns are scores that a company might compute from the same
causes, and ten follow from the outcome: all of these correlate with it more than any cause does, and changing them does
nothing. Eight columns are independent of everything.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from arena.spec import SCMSpec

#: Weights are such that the five mechanisms have about the same share of the outcome.
PLANTS: list[dict[str, Any]] = [
    {"op": "threshold", "operand": "tenure_months", "quantile": 0.6, "weight": 1.6,
     "label": "loyalty starts late", "archetype": "monotone_threshold"},
    {"op": "bump", "operand": "discount_pct", "quantile": 0.5, "weight": -2.4,
     "label": "discounts help at the ends", "archetype": "non_monotone"},
    {"op": "interaction", "operand": "email_opens", "by": "is_mobile", "by_at": 0.5, "by_scale": 0.5, "weight": 0.9,
     "label": "emails annoy on desktops", "archetype": "interaction_reversal"},
    {"op": "gate", "operand": "support_tickets", "by": "is_premium", "level": 1.0, "weight": -1.5,
     "label": "tickets hurt premium customers", "archetype": "subpopulation_only"},
    {"op": "linear", "operand": {"op": "product", "of": ["logins", "session_len"]}, "weight": 0.8,
     "label": "time spent", "archetype": "derived_feature"},
]  # fmt: skip
ROOTS: dict[str, dict[str, Any]] = {
    "discount_pct": {"root": {"family": "uniform", "low": 0.0, "high": 40.0}, "unit": "%"},
    "is_mobile": {"root": {"family": "bernoulli", "probability": 0.45}, "kind": "binary"},
    "is_premium": {"root": {"family": "bernoulli", "probability": 0.5}, "kind": "binary"},
    "logins": {"root": {"family": "lognormal", "log_mean": 2.0, "log_scale": 0.5}, "unit": "a week"},
    "session_len": {"root": {"family": "lognormal", "log_mean": 2.5, "log_scale": 0.5}, "unit": "min"},
    "tenure_months": {"root": {"family": "gamma", "concentration": 3.0, "rate": 0.125}, "unit": "months"},
    "email_opens": {"root": {"family": "poisson", "rate": 6.0}, "kind": "count", "unit": "a month"},
    "support_tickets": {"root": {"family": "poisson", "rate": 4.0}, "kind": "count", "unit": "a year"},
    "seats": {"root": {"family": "poisson", "rate": 8.0}, "kind": "count"},
}
#: What a linear trend of the outcome is, roughly: the causes that scores are made of.
TRENDS = {"tenure_months": 1.0, "support_tickets": -0.55, "logins": 0.45, "session_len": 0.45, "seats": 0.4}
N_SCORES, N_CONSEQUENCES, N_NOISE = 16, 10, 8


def example() -> SCMSpec:
    """The example spec, not calibrated."""
    rng = np.random.default_rng(2)
    nodes = [{"name": name, **fields} for name, fields in ROOTS.items()]
    parents = list(dict.fromkeys(name for term in PLANTS for name in _variables(term)))
    background = {"op": "linear", "operand": "seats", "weight": 0.5}
    terms = [*PLANTS, background]
    nodes.append({
        "name": "renewal", "parents": [*parents, "seats"], "mechanism": {"family": "terms", "terms": terms},
        "noise": {"family": "gaussian", "scale": 1.0}, "description": "How likely the customer is to renew.",
    })  # fmt: skip
    for k in range(N_SCORES):
        terms = [{"op": "linear", "operand": name, "weight": float(weight * rng.uniform(0.7, 1.3))}
                 for name, weight in TRENDS.items()]  # fmt: skip
        nodes.append({"name": f"score_{k + 1}", "parents": [*TRENDS], "mechanism": {"family": "terms", "terms": terms},
                      "noise": {"family": "gaussian", "scale": float(rng.uniform(0.2, 0.6))}})  # fmt: skip
    for k in range(N_CONSEQUENCES):
        weight = float(rng.choice([-1.0, 1.0]) * rng.uniform(0.6, 1.2))
        nodes.append({"name": f"after_{k + 1}", "parents": ["renewal"],
                      "mechanism": {"family": "linear_additive", "weight": [weight], "bias": 0.0},
                      "noise": {"family": "gaussian", "scale": float(rng.uniform(0.5, 1.5))}})  # fmt: skip
    nodes += [{"name": f"noise_{k + 1}", "root": {"family": "gaussian", "mean": 0.0, "scale": 1.0}}
              for k in range(N_NOISE)]  # fmt: skip
    order = rng.permutation(len(nodes))
    return SCMSpec.from_dict({
        "schema_version": 1, "name": "example", "nodes": [nodes[j] for j in order], "outcome": "renewal",
        "description": "Five planted mechanisms of different families among columns that only correlate.",
    })  # fmt: skip


def _variables(term: dict[str, Any]) -> list[str]:
    operand = term["operand"]
    return [*(operand["of"] if isinstance(operand, dict) else [operand]), *([term["by"]] if "by" in term else [])]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("specs/example.json"))
    out = parser.parse_args().out
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(example().to_json() + "\n", encoding="utf-8")
    print(out)
