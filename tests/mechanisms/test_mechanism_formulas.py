"""Mechanism families of A.1 against independent numpy equations, their priors' ranges, and heavy tails."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special

from mechanisms import registry
from mechanisms.base import Blueprint, ParameterError, stack
from mechanisms.tails import compress

NAMES = ["a", "b", "c", "d", "e", "f"]
N_DRAWS, N_ROWS, WIDTH = 150, 200, 8


def compressed(x, limit):
    return np.where(np.abs(x) <= limit, x, np.sign(x) * (limit + np.log(np.maximum(1 + np.abs(x) - limit, 1e-9))))


def polynomial_power(p, x):
    z = compressed(x, 3)
    powers = z**2 * p["quadratic"] + z**3 * p["cubic"] + z**4 * p["quartic"]
    return x @ p["weight"] + powers.sum(1) + p["bias"]


def multiplicative_product(p, x):
    z, product = compressed(x, 3), 1.0
    for k, (w, b) in enumerate(zip(p["weight"], p["bias"], strict=True)):
        product = product * (1 + b + w * z[:, k])
    return compressed(product, 5)


def random_function_product(p, x):
    functions = {"tanh": np.tanh, "sine": np.sin, "softsign": lambda z: z / (1 + abs(z)),
                 "bump": lambda z: 2 / (1 + z**2) - 1}  # fmt: skip
    out = np.full(len(x), p["scale"])
    for k, name in enumerate(p["response"]):
        out *= 1 + p["weight"][k] * functions[name](p["frequency"][k] * x[:, k] + p["shift"][k])
    return out


def linear_interaction(p, x):
    out, z = x @ p["weight"] + p["bias"], compressed(x, 3)
    for (first, second), w in zip(p["pairs"], p["interaction"], strict=True):
        out += w * z[:, NAMES.index(first)] * z[:, NAMES.index(second)]
    return out


def rational_ratio(p, x):
    ratio = (x @ p["weight"] + p["bias"]) / (p["offset"] + np.abs(x @ p["divisor"]))
    return np.clip(ratio, -10, 10)


def exp_log(p, x):
    out = np.full(len(x), p["bias"])
    for k, name in enumerate(p["response"]):
        logarithm = np.log1p(p["gain"][k] * np.abs(x[:, k]))
        responses = {
            "exp": np.exp(np.clip(p["rate"][k] * x[:, k], -3, 3)),
            "log": logarithm,
            "signed_log": np.copysign(logarithm, x[:, k]),
        }
        out += p["weight"][k] * responses[name]
    return out


def trig_periodic(p, x):
    return np.sin(x * p["frequency"] + p["phase"]) @ p["weight"] + p["bias"]


def saturation_clip(p, x):
    shapes = {"tanh": np.tanh, "softsign": lambda z: z / (1 + abs(z)), "algebraic": lambda z: z / np.hypot(1, z),
              "clip": lambda z: np.clip(z, -1, 1)}  # fmt: skip
    scale = np.array(p["scale"])
    return (scale * shapes[p["shape"]](x / scale)) @ p["weight"] + p["bias"]


def mixture_regime(p, x):
    gate = special.expit(p["gate_scale"] * (x @ p["gate"] - p["cutoff"]))
    alternate = p["alternate_scale"] * (x @ p["alternate"])
    return (1 - gate) * (x @ p["weight"]) + gate * alternate + p["bias"]


def activation_additive(p, x):
    z, below = x + p["shift"], np.expm1(np.minimum(x + p["shift"], 0))
    responses = {
        "relu": lambda: z * (z > 0),
        "leaky_relu": lambda: np.where(z > 0, z, 0.1 * z),
        "softplus": lambda: np.logaddexp(0, z),
        "sigmoid": lambda: special.expit(z),
        "absolute_value": lambda: np.abs(z),
        "sign": lambda: np.sign(z),
        "step": lambda: np.heaviside(z, 0),
        "hard_tanh": lambda: np.clip(z, -1, 1),
        "relu6": lambda: np.clip(z, 0, 6),
        "elu": lambda: np.where(z > 0, z, below),
        "selu": lambda: 1.0507009873554805 * np.where(z > 0, z, 1.6732632423543772 * below),
        "silu": lambda: z * special.expit(z),
        "modulo": lambda: np.mod(z, p["period"]),
        "round": lambda: np.round(z / p["step"]) * p["step"],
        "rank": lambda: special.ndtr(z),
    }
    return responses[p["activation"]]() @ p["weight"] + p["bias"]


def tree_based(p, x):
    out = np.zeros(len(x))
    for parent, threshold, leaf in zip(p["parent"], p["threshold"], p["leaf"], strict=True):
        for i, row in enumerate(x):
            place = 0
            while place < len(parent):
                above = row[NAMES.index(parent[place])] > threshold[place]
                place = 2 * place + (2 if above else 1)
            out[i] += leaf[place - len(parent)]
    return out


def discrete_assignment(p, x):
    if p["assignment"] == "bins":
        level = np.searchsorted(p["cutoff"], x @ p["weight"])
    else:
        level = ((x[:, None] - np.array(p["center"])) ** 2).sum(-1).argmin(1)
    return np.array(p["value"])[level]


def aggregation_nonlinearity(p, x):
    values = np.column_stack([x * p["weight"] + p["shift"], np.full(len(x), p["floor"])])
    if p["aggregation"] == "max":
        return values.max(1)
    return p["temperature"] * special.logsumexp(values / p["temperature"], axis=1)


EQUATIONS = [
    polynomial_power, multiplicative_product, random_function_product, linear_interaction, rational_ratio, exp_log,
    trig_periodic, saturation_clip, mixture_regime, activation_additive, tree_based, discrete_assignment,
    aggregation_nonlinearity,
]  # fmt: skip
FAMILIES = [equation.__name__ for equation in EQUATIONS]
JUMPS = {"activation_additive", "tree_based", "discrete_assignment"}  # a float32 input may fall on the other side


def draws(family, n, parents=None):
    """`n` draws of the prior, of 1 to 6 parents in turn unless their names are given."""
    cls = registry.families("mechanism")[family]
    return [cls.prior(np.random.default_rng(i), parents or NAMES[: 1 + i % 6]) for i in range(n)]


def blueprint(family, drawn, parents):
    cls = registry.families("mechanism")[family]
    return Blueprint(cls, cls.arrays(cls.parameters().model_validate({"family": family, **drawn}), parents))


@jax.jit
def run(bank, slot, columns):
    """One slot of a bank on rows that are columns, as an SCM runs it."""
    return jax.vmap(jax.tree.map(lambda leaf: leaf[slot], bank), in_axes=1)(columns)


@jax.jit
def slopes(bank, slot, columns):
    module = jax.tree.map(lambda leaf: leaf[slot], bank)
    return jax.vmap(eqx.filter_grad(lambda both: both[0](both[1])), in_axes=((None, 1),))((module, columns))


def bank_of(family, drawn):
    blueprints = [blueprint(family, p, NAMES[: 1 + i % 6]) for i, p in enumerate(drawn)]
    assert len({b.bucket() for b in blueprints}) == 1, "up to 6 parents, every draw of a family shares a bank"
    return jax.tree.map(jnp.asarray, stack(blueprints, WIDTH, np.float32))


def padded(x):
    return jnp.asarray(np.pad(x, ((0, 0), (0, WIDTH - x.shape[1]))).T, jnp.float32)


@pytest.mark.parametrize("equation", EQUATIONS, ids=lambda equation: equation.__name__)
def test_equation(equation):
    family = equation.__name__
    drawn = draws(family, N_DRAWS)
    bank = bank_of(family, drawn)
    for i, p in enumerate(drawn):
        scale = (0.5, 1.0, 4.0)[i % 3]
        x = (scale * np.random.default_rng(1000 + i).normal(size=(N_ROWS, 1 + i % 6))).astype(np.float32)
        found, expected = np.asarray(run(bank, i, padded(x))), equation(p, x.astype(np.float64))
        close = np.isclose(found, expected, rtol=2e-4, atol=5e-5)
        assert close.mean() >= (0.99 if family in JUMPS else 1.0), (p, x[~close], found[~close], expected[~close])


@pytest.mark.parametrize("family", FAMILIES)
def test_extreme_inputs_stay_finite_and_grow_about_linearly(family):
    rng = np.random.default_rng(3)
    bank = bank_of(family, draws(family, 60))
    for i in range(60):
        size = np.array([0.0, 1.0, 30.0, 100.0, 1000.0])[rng.integers(5, size=(N_ROWS, 1 + i % 6))]
        x = size * rng.choice([-1.0, 1.0], size=size.shape)
        columns = padded(x)
        values = np.asarray(run(bank, i, columns))
        assert np.isfinite(values).all()
        assert (np.abs(values) <= 20 * (1 + np.abs(x).max(1))).all()
        gradients = jax.tree.leaves(slopes(bank, i, columns))
        assert all(np.isfinite(np.asarray(leaf)).all() for leaf in gradients)


def of(family, field):
    """All values of a field over many priors of three parents, flat."""
    drawn = [np.ravel(p[field]) for p in draws(family, 300, NAMES[:3]) if field in p]
    return np.concatenate(drawn)


#: What A.1 states, and what is drawn.
STATED = {
    "quadratic": (-0.5, 0.5, lambda: of("polynomial_power", "quadratic")),
    "cubic": (-0.15, 0.15, lambda: of("polynomial_power", "cubic")),
    "product bias": (-0.4, 0.4, lambda: of("multiplicative_product", "bias")),
    "product weight": (0.5, 1.5, lambda: np.abs(of("multiplicative_product", "weight")) * math.sqrt(3) / 0.8),
    "function product": (0.4, 1.6, lambda: of("random_function_product", "scale")),
    "saturation": (0.8, 2.5, lambda: of("saturation_clip", "scale")),
    "gate": (1.0, 4.0, lambda: of("mixture_regime", "gate_scale")),
    "gate cutoff": (-0.5, 0.5, lambda: of("mixture_regime", "cutoff")),
    "alternate": (0.5, 1.8, lambda: of("mixture_regime", "alternate_scale")),
    "tree threshold": (
        -0.8,
        0.8,
        lambda: np.concatenate([t for p in draws("tree_based", 300) for t in p["threshold"]]),
    ),
    "temperature": (0.3, 1.5, lambda: of("aggregation_nonlinearity", "temperature")),
}


@pytest.mark.parametrize("name", STATED)
def test_prior_fills_the_range_that_the_paper_states(name):
    low, high, drawn = STATED[name]
    values = drawn()
    margin = 0.1 * (high - low)
    assert low <= values.min() < low + margin and high - margin < values.max() <= high


def test_periods_and_steps_are_drawn_for_their_activations_in_the_stated_ranges():
    drawn = draws("activation_additive", 900)
    for activation, field, low, high in (("modulo", "period", 0.75, 3.0), ("round", "step", 0.2, 1.0)):
        values = np.array([p[field] for p in drawn if p["activation"] == activation])
        assert len(values) == sum(field in p for p in drawn) > 30
        margin = 0.15 * (high - low)
        assert low <= values.min() < low + margin and high - margin < values.max() <= high


def test_stated_counts_all_occur():
    levels = {(p["assignment"], len(p["value"])) for p in draws("discrete_assignment", 300)}
    assert levels == {(assignment, n) for assignment in ("bins", "clusters") for n in range(3, 8)}
    polynomials = draws("polynomial_power", 300)
    highest = {2 + (c != 0) + (q != 0) for p in polynomials for c, q in zip(p["cubic"], p["quartic"], strict=True)}
    assert highest == {2, 3, 4}
    assert {len(leaf) for p in draws("tree_based", 300) for leaf in p["leaf"]} == {4, 8, 16}
    assert {len(p["pairs"]) for p in draws("linear_interaction", 300, NAMES)} == {1, 2, 3}


def test_interactions_are_scaled_by_their_number():
    for p in draws("linear_interaction", 100, NAMES):
        relative = np.abs(p["interaction"]) * math.sqrt(len(p["pairs"])) / 0.5
        assert (relative >= 0.5).all() and (relative <= 1.5).all()
        assert len({frozenset(pair) for pair in p["pairs"]}) == len(p["pairs"])


def test_a_single_parent_interacts_with_itself():
    assert draws("linear_interaction", 1, ["a"])[0]["pairs"] == [("a", "a")]


@pytest.mark.parametrize("family, field", [
    ("activation_additive", "activation"), ("saturation_clip", "shape"), ("aggregation_nonlinearity", "aggregation"),
    ("exp_log", "response"), ("random_function_product", "response"),
])  # fmt: skip
def test_every_variant_is_drawn_and_an_unknown_one_refused(family, field):
    cls = registry.families("mechanism")[family]
    choices = next(f for f in cls.__dataclass_fields__.values() if f.name == field).metadata["choices"]
    drawn = draws(family, N_DRAWS)
    assert {name for p in drawn for name in np.ravel(p[field])} == set(choices)
    wrong = ["nope"] if isinstance(drawn[0][field], list) else "nope"
    with pytest.raises(ValueError, match="nope"):
        blueprint(family, {**drawn[0], field: wrong}, ["a"])


def test_there_are_fifteen_activations():
    assert len({p["activation"] for p in draws("activation_additive", N_DRAWS)}) == 15


def test_each_path_of_a_tree_looks_at_each_of_its_parents():
    for k in (1, 2, 3, 4, 7, 19):
        parents = [f"X{i}" for i in range(k)]
        for p in draws("tree_based", 20, parents):
            assert {name for tree in p["parent"] for name in tree} == set(parents)
            for tree in p["parent"]:
                n = len(tree)
                for place in range(n, 2 * n + 1):
                    seen = set()
                    while place:
                        place = (place - 1) // 2
                        seen.add(tree[place])
                    assert seen == set(tree)


def test_tags_are_the_sixteen_of_the_paper():
    tags = {registry.families("mechanism")[family].tag for family in registry.drawn("mechanism")}
    assert tags == {
        "activation_additive", "aggregation_nonlinearity", "discrete_assignment", "exp_log", "linear_additive",
        "linear_interaction", "mixture_regime", "multiplicative", "neural_random", "piecewise_threshold",
        "polynomial_power", "rational_ratio", "rff_gp", "saturation_clip", "tree_based", "trig_periodic",
    }  # fmt: skip


TREE = {"parent": [["a", "b", "b"]], "threshold": [[0.0, 0.1, 0.2]], "leaf": [[1.0, 2.0, 3.0, 4.0]]}
BINS = {"assignment": "bins", "weight": [1.0, -1.0], "cutoff": [-0.5, 0.5], "value": [1.0, 2.0, 3.0]}
CLUSTERS = {"assignment": "clusters", "center": [[1.0, 2.0], [3.0, 4.0]], "value": [1.0, 2.0]}
PAIRED = {"weight": [1.0, 1.0], "pairs": [["a", "b"]], "interaction": [0.5], "bias": 0.0}


@pytest.mark.parametrize(
    "family, drawn, field, word",
    [
        ("tree_based", {**TREE, "leaf": [[1.0, 2.0, 3.0]]}, "leaf", "2, 4, 8 or 16"),
        ("tree_based", {**TREE, "leaf": []}, "leaf", "expected 1"),
        ("tree_based", {**TREE, "threshold": [[0.0]]}, "threshold", "expected 3"),
        ("tree_based", {**TREE, "parent": [["a", "b", "z"]]}, "parent", "'z'"),
        ("tree_based", {**TREE, "parent": [["a", "a", "a"]]}, "parent", "does not name 'b'"),
        ("discrete_assignment", {**BINS, "value": [1.0, 2.0]}, "cutoff", "expected 1"),
        ("discrete_assignment", {**BINS, "cutoff": [1.0, 0.5]}, "cutoff", "ascending"),
        ("discrete_assignment", {**BINS, "weight": [1.0]}, "weight", "expected 2"),
        ("discrete_assignment", {**BINS, "center": [[1.0, 2.0]]}, "center", "bins have none"),
        ("discrete_assignment", {**CLUSTERS, "center": [[1.0], [2.0]]}, "center", "expected 2"),
        ("discrete_assignment", {**CLUSTERS, "value": [1.0]}, "center", "expected 1"),
        ("discrete_assignment", {**CLUSTERS, "weight": [1.0, 1.0]}, "weight", "clusters have none"),
        ("linear_interaction", {**PAIRED, "pairs": [["a", "z"]]}, "pairs", "'z'"),
        ("linear_interaction", {**PAIRED, "interaction": []}, "interaction", "expected 1"),
        ("linear_interaction", {**PAIRED, "weight": [1.0]}, "weight", "expected 2"),
    ],
)  # fmt: skip
def test_parameters_that_do_not_fit_are_refused(family, drawn, field, word):
    with pytest.raises(ParameterError, match=word) as caught:
        blueprint(family, drawn, ["a", "b"])
    assert caught.value.field == field


def test_an_interaction_without_pairs_is_linear():
    plain = blueprint("linear_interaction", {**PAIRED, "pairs": [], "interaction": []}, ["a", "b"])
    bank = jax.tree.map(jnp.asarray, stack([plain], WIDTH, np.float32))
    np.testing.assert_allclose(run(bank, 0, padded(np.array([[1.5, 2.0]]))), [3.5])


def test_compression_is_smooth_and_monotone():
    x = jnp.linspace(-20.0, 20.0, 4001)
    slope = jax.vmap(jax.grad(lambda v: compress(v, 3.0)))(x)
    assert (np.asarray(slope) > 0).all() and np.abs(np.diff(np.asarray(slope))).max() < 0.02
    np.testing.assert_allclose(compress(x, 3.0)[np.abs(x) < 2.9], x[np.abs(x) < 2.9])


def lookup_table(levels, value, n_parents=None):
    cls = registry.families("mechanism")["lookup_table"]
    parameters = cls.parameters().model_validate({"family": "lookup_table", "levels": levels, "value": value})
    return cls.from_parameters(parameters, NAMES[: len(levels) if n_parents is None else n_parents])


def test_a_lookup_table_is_numpy_indexing():
    """Levels are rounded to the nearest, and there is nothing beyond the last."""
    table = np.random.default_rng(0).normal(size=(2, 4, 3)).astype(np.float32)
    module = lookup_table(table.shape, table.ravel().tolist())
    x = np.random.default_rng(1).uniform(-1.5, 4.5, size=(500, 3)).astype(np.float32)
    place = np.clip(np.round(x), 0, np.array(table.shape) - 1).astype(int)
    np.testing.assert_array_equal(jax.vmap(module)(x), table[tuple(place.T)])


@pytest.mark.parametrize(
    "levels, value, n_parents, message",
    [
        ([2, 3], [0.0] * 6, 1, "has 2 entries, expected 1 \\(one per parent: a\\)"),
        ([2, 3], [0.0] * 5, 2, "has 5 entries, expected 6 \\(2 x 3 levels\\)"),
    ],
)
def test_a_lookup_table_of_another_shape_is_refused(levels, value, n_parents, message):
    with pytest.raises(ParameterError, match=message):
        lookup_table(levels, value, n_parents)
