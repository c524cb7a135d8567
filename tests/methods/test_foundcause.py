"""FoundCause: the published layout, its statistics, what comes out."""

import dataclasses
import math

import jax
import numpy as np
import pytest
from published import Layout, publish, rename

from arena.dataset import Dataset
from arena.errors import MethodError
from methods.base import Status, generator
from methods.fit import fit
from methods.foundcause import CHECKPOINT, FoundCause, averaged, convert

torch = pytest.importorskip("torch")

KEY = jax.random.key(7)
METHOD = FoundCause(n_runs=2)
DIM, LAYERS, HEADS, QUERIES, TOKENS, PAIR, ROUNDS = 16, 3, 2, 3, 5, 8, 2
SHARE, INNER = DIM // 4, int(DIM * 4 * 2 / 3)


def layout() -> Layout:
    """The state dict of foundcause.py for a ModelConfig with small numbers."""
    names = Layout()
    names.linear("encoder.input_proj", 2, DIM)
    for block in (f"encoder.blocks.{k}" for k in range(2 * LAYERS)):
        names[f"{block}.ln_attn.scale"] = names[f"{block}.ln_ffn.scale"] = (DIM,)
        for projection, size in (("q_proj", DIM), ("kv_proj", 2 * DIM), ("out_proj", DIM)):
            names.linear(f"{block}.{projection}", DIM, size, bias=False)
        for part, into, out in (("w1", DIM, INNER), ("w_gate", DIM, INNER), ("w2", INNER, DIM)):
            names.linear(f"{block}.ffn.{part}", into, out)
    names["encoder.intermediate_norms.0.scale"] = names["encoder.final_norm.scale"] = (DIM,)
    names["encoder.pma.queries"] = (1, QUERIES, DIM)
    names["encoder.pma.gate"] = ()
    for norm in ("query_norm", "ffn.0"):
        names.norm(f"encoder.pma.{norm}", DIM)
    for part, into, out in (
        ("q_proj", DIM, DIM),
        ("kv_proj", DIM, 2 * DIM),
        ("out_proj_attn", DIM, DIM),
        ("ffn.1", DIM, 2 * DIM),
        ("ffn.3", 2 * DIM, DIM),
        ("out_proj", QUERIES * DIM, DIM),
    ):
        names.linear(f"encoder.pma.{part}", into, out)
    for layer in (f"encoder.stat_bias.projs.{k}" for k in range(LAYERS)):
        names.linear(f"{layer}.0", 45, 48)
        names.linear(f"{layer}.2", 48, HEADS)
    names["encoder.layer_weights"] = (2,)
    names["encoder.global_tokens"] = (1, 1, 12, DIM)
    names["pair_stats.omega_rff"] = names["pair_stats.bias_rff"] = (32,)
    names.norm("edge_pred.ln", DIM)
    for part, into, out in (
        ("stat_proj_sym.0", 9, SHARE),
        ("stat_proj_asym.0", 20, SHARE),
        ("feature_gate.0", DIM + 45, 256),
        ("feature_gate.2", 256, 20),
        ("exist_mlp.0", 2 * DIM + SHARE + 1, DIM),
        ("dir_mlp.0", DIM + SHARE, DIM),
        ("fusion.0", 2 * DIM, DIM),
        ("fusion.2", DIM, 1),
    ):
        names.linear(f"edge_pred.{part}", into, out)
    names.linear("tri_proj_in", 2 * DIM, PAIR)
    for k in range(ROUNDS):
        for kind in ("out", "in", "col"):
            for part in ("gate", "val", "proj"):
                names.linear(f"tri_refine.rounds.{k}.{kind}_{part}", PAIR, PAIR)
            names.norm(f"tri_refine.rounds.{k}.{kind}_norm", PAIR)
        names.norm(f"tri_refine.round_norms.{k}", PAIR)
        names.norm(f"tri_refine.pair_attn_norms.{k}", PAIR)
        attention(names, f"tri_refine.pair_attns.{k}", PAIR)
    names.linear("tri_logit", PAIR, 1)
    names["tri_alpha_exist"] = names["tri_alpha_dir"] = names["skel_dir_scale"] = ()
    names.linear("skel_fn", 2, 1)
    names["confounder.tokens"] = (1, TOKENS, DIM)
    for k in range(2):
        attention(names, f"confounder.cross_layers.{k}", DIM)
        names.norm(f"confounder.cross_norms.{k}", DIM)
        names.linear(f"confounder.cross_ffns.{k}.0", DIM, 2 * DIM)
        names.linear(f"confounder.cross_ffns.{k}.2", 2 * DIM, DIM)
    names.linear("confounder.loading_net.0", 2 * DIM, DIM)
    names.linear("confounder.loading_net.2", DIM, 1)
    names.linear("confounder.conf_stat_proj.0", 29, 48)
    names.linear("confounder.conf_stat_proj.2", 48, 1)
    names.linear("parent_proj", DIM, SHARE)
    names.linear("child_proj", DIM, SHARE)
    return names


def attention(names: Layout, name: str, size: int) -> None:
    names[f"{name}.in_proj_weight"], names[f"{name}.in_proj_bias"] = (3 * size, size), (3 * size,)
    names.linear(f"{name}.out_proj", size, size)


def published(**changed) -> dict:
    weights = {f"_orig_mod.{name}": tensor for name, tensor in layout().weights(scale=0.3).items()}
    return {"model_state_dict": weights | changed, "step": 100}


@pytest.fixture
def checkpoint(tmp_path, monkeypatch):
    return publish(CHECKPOINT, published(), tmp_path, monkeypatch)


def table(d: int, n: int = 60, seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    values = rng.laplace(size=(n, d))
    for j in range(1, d):
        values[:, j] += 2 * np.tanh(values[:, j - 1])
    return Dataset(tuple(f"v{j}" for j in range(d)), values)


def test_the_published_layout_runs_to_the_end(checkpoint):
    outcome = fit(METHOD, table(5), KEY)
    assert outcome.status is Status.completed, (outcome.reason, outcome.detail)
    estimate = outcome.estimate
    assert estimate is not None and estimate.scores is not None
    np.testing.assert_array_equal(estimate.adjacency, estimate.scores > 0.5)
    assert not np.diagonal(estimate.scores).any() and estimate.scores[~np.eye(5, dtype=bool)].std() > 0.01
    again = fit(METHOD, table(5), KEY)
    assert again.estimate is not None and again.estimate.scores is not None
    np.testing.assert_array_equal(again.estimate.scores, estimate.scores)


def test_permuted_columns_permute_the_answer(checkpoint):
    """Nothing in the network knows the place of a column, so shuffles change rounding only."""
    order = [2, 0, 3, 1]
    dataset = table(4)
    direct, permuted = METHOD.fit(dataset, KEY), METHOD.fit(dataset.select([dataset.names[j] for j in order]), KEY)
    assert direct.scores is not None and permuted.scores is not None
    np.testing.assert_allclose(direct.scores[np.ix_(order, order)], permuted.scores, atol=1e-4)
    assert abs(direct.scores - direct.scores.T).max() > 0.01


def test_logits_of_row_to_column_are_cut_at_one_half(checkpoint, monkeypatch):
    """A network whose logits say which column it is about: of i to j, 2 first(i) - first(j)."""
    first = lambda values, jitter: 2 * values[0][:, None] - values[0][None, :]  # noqa: E731
    monkeypatch.setattr(FoundCause, "_network", lambda self: first)
    dataset = table(5)
    outcome = fit(METHOD, dataset, KEY)
    assert outcome.estimate is not None and outcome.estimate.scores is not None
    row = (dataset.values[0] - dataset.values.mean(0)) / dataset.values.std(0)
    expected = 1 / (1 + np.exp(row[None, :] - 2 * row[:, None]))
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(outcome.estimate.scores, expected, atol=1e-5)
    np.testing.assert_array_equal(outcome.estimate.adjacency, expected > 0.5)
    assert (outcome.estimate.adjacency != outcome.estimate.adjacency.T).any()
    strict = fit(dataclasses.replace(METHOD, threshold=0.9), dataset, KEY)
    assert strict.estimate is not None
    np.testing.assert_array_equal(strict.estimate.adjacency, expected > 0.9)


def test_runs_are_put_back_in_order_and_averaged_as_probabilities():
    logits = np.random.default_rng(0).normal(size=(3, 4, 4)) * 3
    orders = []

    def run(order):
        orders.append(order)
        return logits[len(orders) - 1]

    found = averaged(run, 4, generator(KEY), 3, 0.65)
    expected = np.zeros((4, 4))
    for order, answer in zip(orders, logits, strict=True):
        for a in range(4):
            for b in range(4):
                if a != b:
                    expected[order[a], order[b]] += 1 / (1 + math.exp(-answer[a, b] / 0.65)) / 3
    np.testing.assert_allclose(found, expected)
    assert len({tuple(order) for order in orders}) > 1


def statistics(values: np.ndarray) -> np.ndarray:
    from methods.foundcause_stats import pair_statistics

    omega, phase = np.random.default_rng(5).normal(size=(2, 32))
    x, omega, phase = (torch.tensor(array, dtype=torch.float64) for array in (values, omega, phase))
    return pair_statistics(x, omega, phase, torch.Generator().manual_seed(0)).numpy()


@pytest.fixture(scope="module")
def example():
    values = table(4, n=80, seed=3).values
    x = (values - values.mean(0)) / values.std(0, ddof=1)
    assert abs(x).max() < 8  # nothing that would be drawn in
    return values, x, statistics(values)


def test_correlations_and_ranks(example):
    from scipy.stats import rankdata

    values, x, found = example
    np.testing.assert_allclose(found[..., 0], np.corrcoef(values.T), atol=1e-9)
    n, ranks = len(values), rankdata(values, axis=0)
    np.testing.assert_allclose(found[..., 3], np.corrcoef(ranks.T), atol=1e-9)
    for i in range(4):
        for j in range(4):
            along = ranks[np.argsort(values[:, i]), j]
            xi = 1 - 3 * abs(np.diff(along)).sum() / (n * (n - 1))
            np.testing.assert_allclose([found[i, j, 30], found[j, i, 31]], max(xi, -0.5), atol=1e-9)
            np.testing.assert_allclose(found[i, j, 11], (x[:, i] ** 2 * x[:, j]).mean(), atol=1e-9)
            np.testing.assert_allclose(found[j, i, 12], found[i, j, 11])


def test_partial_correlation_with_oracle_shrinkage(example):
    from sklearn.covariance import OAS

    values, x, found = example
    correlation, n, d = np.corrcoef(values.T), len(values), 4
    # Chen et al. (2010), equation 23; scikit-learn leaves out terms that vanish for large d.
    trace, squared = np.trace(correlation), (correlation**2).sum()
    amount = ((1 - 2 / d) * squared + trace**2) / ((n + 1 - 2 / d) * (squared - trace**2 / d))
    assert abs(amount - OAS().fit(x).shrinkage_) < 0.05 and 0.01 < amount < 1
    precision = np.linalg.inv((1 - amount) * correlation + (amount + 1e-6) * np.eye(d))
    for i in range(d):
        for j in range(d):
            expected = -precision[i, j] / math.sqrt(precision[i, i] * precision[j, j])
            np.testing.assert_allclose(found[i, j, 2], expected, atol=1e-8)
            np.testing.assert_allclose(found[i, j, 38], abs(expected) - abs(correlation[i, j]), atol=1e-8)
            slope = -precision[i, j] / precision[j, j]  # of j on i, given all others
            np.testing.assert_allclose([found[i, j, 20], found[j, i, 21]], slope, atol=1e-7)
            np.testing.assert_allclose(found[i, j, 28], math.log(precision[i, i] / precision[j, j]), atol=1e-8)


def test_kernel_regression_of_the_effect_on_the_cause(example):
    _, x, found = example
    n = len(x)
    for i in range(4):
        apart = (x[:, i, None] - x[None, :, i]) ** 2
        others = apart[~np.eye(n, dtype=bool)]
        # The published median is the lower one of all n^2 distances, those of rows to themselves counted as largest.
        width = np.sort(np.concatenate([others, np.full(n, np.inf)]))[(n * n - 1) // 2]
        for j in range(4):
            residual, fit_ = np.zeros(n), np.zeros(n)
            for m in range(n):
                weight = np.exp(-apart[m] / (2 * width + 1e-8))
                weight[m] = 0
                fit_[m] = weight @ x[:, j] / weight.sum()
                residual[m] = x[m, j] - fit_[m]
            variance = (residual**2).sum() / (n - 1)
            np.testing.assert_allclose([found[i, j, 7], found[j, i, 8]], variance, rtol=1e-6)
            np.testing.assert_allclose([found[i, j, 32], found[j, i, 33]], fit_.var(), rtol=1e-6, atol=1e-9)
            scaled = residual / math.sqrt(variance)
            kurtosis = (scaled**4).mean() - 3
            np.testing.assert_allclose([found[i, j, 16], found[j, i, 17]], kurtosis, rtol=1e-5, atol=1e-6)
            ratio = min((1 - found[i, j, 0] ** 2) / max(variance, 0.01), 10)
            np.testing.assert_allclose([found[i, j, 22], found[j, i, 23]], ratio, rtol=1e-6, atol=1e-9)


def test_conditional_entropy_and_slopes_along_the_cause(example):
    values, _, found = example
    n = len(values)
    entropy, slope = np.zeros((4, 4)), np.zeros((4, 4))
    for i in range(4):
        order = np.argsort(values[:, i])
        cuts = np.sort(values[:, i])[np.round(np.linspace(0, 1, 21, dtype=np.float32) * (n - 1)).astype(int)][1:-1]
        member = np.array([sum(value > cut for cut in cuts) for value in values[:, i]])
        for j in range(4):
            for k in range(20):
                part = values[member == k, j]
                if len(part) >= 2:
                    entropy[i, j] += len(part) / n * 0.5 * math.log(max(part.var(), 1e-8))
            u = np.argsort(np.argsort(values, axis=0), axis=0)[order] / (n - 1)
            slope[i, j] = np.log(abs(np.diff(u[:, j])) / abs(np.diff(u[:, i]))).mean()
    np.testing.assert_allclose(found[..., 18], entropy - entropy.T, atol=1e-6)
    np.testing.assert_allclose(found[..., 19], slope - slope.T, atol=1e-6)


def test_signs_of_colliders(example):
    c = abs(example[2][..., 0])
    found = example[2]
    for i in range(4):
        for j in range(4):
            third = [k for k in range(4) if k not in (i, j)]
            common = max(min(c[i, k], c[j, k]) for k in third) * (1 - c[i, j])
            child = max(min(c[i, j], c[k, j]) * (1 - c[i, k]) for k in third)
            np.testing.assert_allclose(found[i, j, 37], common, atol=1e-9)
            np.testing.assert_allclose([found[i, j, 39], found[j, i, 40]], child, atol=1e-9)


def test_ties_two_columns_and_outliers_give_finite_statistics():
    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 3, size=(50, 2)).astype(float)
    coarse[0, 0] = 1e9
    found = statistics(coarse)
    assert found.shape == (2, 2, 45) and np.isfinite(found).all()


def test_rows_are_sampled_down_and_few_refused(checkpoint, monkeypatch):
    seen = []
    spy = lambda values, jitter: seen.append(tuple(values.shape)) or torch.zeros(4, 4)  # noqa: E731
    monkeypatch.setattr(FoundCause, "_network", lambda self: spy)
    fit(dataclasses.replace(METHOD, max_samples=30), table(4), KEY)
    fit(METHOD, table(4), KEY)
    assert seen == [(30, 4), (30, 4), (60, 4), (60, 4)]
    outcome = fit(METHOD, table(4, n=2), KEY)
    assert outcome.status is Status.unsupported and "at least 3 rows, found 2" in outcome.reason


def test_a_wrong_name_is_one_clear_error(checkpoint):
    rename(checkpoint, "skel_fn.bias", "skel_fn.offset")
    outcome = fit(METHOD, table(4), KEY)
    assert outcome.status is Status.unsupported
    assert "'skel_fn.bias' [1] is missing" in outcome.reason and "\n" not in outcome.reason


def test_configuration_is_read_from_weights():
    tensors, config = convert(published(**{"_orig_mod.value_head.weight": torch.zeros(2)}))
    assert set(tensors) == set(layout())  # what only training used is left out
    assert config == {
        "hidden_dim": 16,
        "num_encoder_layers": 3,
        "num_heads": 2,
        "num_global_tokens": 12,
        "num_confounder_tokens": 5,
        "num_tri_refine_rounds": 2,
        "tri_pair_dim": 8,
        "pma_num_queries": 3,
        "pma_num_heads": 4,
        "num_features": 32,
    }


@pytest.mark.parametrize(
    "content, says",
    [
        ({"model": {}}, "'model_state_dict' is missing"),
        ({"model_state_dict": {"other": torch.zeros(1)}}, "'encoder.input_proj.weight' is missing"),
    ],
)
def test_other_checkpoints_are_refused(content, says):
    with pytest.raises(MethodError, match=says):
        convert(content)


@pytest.mark.parametrize("setting", [{"threshold": 1.0}, {"n_runs": 0}, {"temperature": 0.0}, {"max_samples": 2}])
def test_settings_out_of_range(setting):
    with pytest.raises(MethodError, match=next(iter(setting))):
        FoundCause(**setting)
