"""TabCausal: the published layout; its network is AVICI's, so that it is compared with ours in JAX."""

import dataclasses

import jax
import numpy as np
import pytest
from published import Layout, publish, rename

from arena.dataset import Dataset
from arena.errors import MethodError
from methods import axial
from methods.avici import probabilities
from methods.base import Status
from methods.fit import fit
from methods.tabcausal import CHECKPOINT, TabCausal, convert

torch = pytest.importorskip("torch")

KEY = jax.random.key(3)
DIM, INNER, OUT, BLOCKS = 8, 6, 5, 4
CONFIG = {
    "embed_dim": DIM,
    "out_dim": OUT,
    "col_num_blocks": BLOCKS // 2,
    "col_nhead": 2,
    "key_size": INNER // 2,
    "widening_factor": 2,
    "dropout": 0.1,
}


def layout() -> Layout:
    """The state dict of tabcausal/model for the sizes above."""
    names = Layout()
    names.linear("feature_encoder.input_proj", 2, DIM)
    for block in (f"feature_encoder.blocks.{k}" for k in range(BLOCKS)):
        for part in "qkv":
            names.norm(f"{block}.ln_{part}", DIM)
            names.linear(f"{block}.{part}_proj", DIM, INNER)
        names.linear(f"{block}.out_proj", INNER, DIM)
        names.norm(f"{block}.ln_ffn", DIM)
        names.linear(f"{block}.ffn.0", DIM, 2 * DIM)
        names.linear(f"{block}.ffn.2", 2 * DIM, DIM)
    names.norm("feature_encoder.final_ln", DIM)
    for side in "uv":
        names.norm(f"graph_head.{side}_proj.0", DIM)
        names.linear(f"graph_head.{side}_proj.1", DIM, OUT)
    names["graph_head.learned_temp"] = names["graph_head.final_bias"] = ()
    return names


def published(**changed) -> dict:
    # A high temperature and a bias against it, so that the probabilities differ.
    last = {"graph_head.learned_temp": torch.tensor(4.0), "graph_head.final_bias": torch.tensor(9.6)}
    weights = layout().weights() | last
    return {"ema": weights, "state_dict": layout().weights(seed=9), "model_config": CONFIG} | changed


@pytest.fixture
def checkpoint(tmp_path, monkeypatch):
    return publish(CHECKPOINT, published(), tmp_path, monkeypatch)


def table(n: int, d: int, seed: int = 0, intervened: bool = True) -> Dataset:
    rng = np.random.default_rng(seed)
    mask = np.zeros((n, d), bool)
    if intervened:
        mask[n // 2 :, 1] = True
    values = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) * 3 + 1
    return Dataset(tuple(f"v{j}" for j in range(d)), values, mask)


def in_jax(dataset: Dataset) -> np.ndarray:
    """The probabilities by AVICI's network, with the weights of `published` under AVICI's names."""
    w = {name: tensor.numpy() for name, tensor in published()["ema"].items()}
    architecture = axial.Architecture(
        layers=BLOCKS // 2, dim=DIM, key_size=INNER // 2, num_heads=2, widening_factor=2, out_dim=OUT
    )
    linears = ["feature_encoder.input_proj"]
    norms, attentions = [], {}
    for k in range(BLOCKS):
        block = f"feature_encoder.blocks.{k}"
        linears += [f"{block}.ffn.0", f"{block}.ffn.2"]
        norms += [f"{block}.ln_{part}" for part in ("q", "k", "v", "ffn")]
        ours = f"multi_head_attention_{k}" if k else "multi_head_attention"
        for name, part in (("query", "q_proj"), ("key", "k_proj"), ("value", "v_proj"), ("linear", "out_proj")):
            attentions[f"{ours}/{name}"] = f"{block}.{part}"
    linears += ["graph_head.u_proj.1", "graph_head.v_proj.1"]
    norms += ["feature_encoder.final_ln", "graph_head.u_proj.0", "graph_head.v_proj.0"]
    numbered = lambda kind, names: {f"{kind}_{k}" if k else kind: name for k, name in enumerate(names)}  # noqa: E731
    params = {}
    for name, theirs in (numbered("linear", linears) | attentions).items():
        params[f"BaseModel/{name}/w"], params[f"BaseModel/{name}/b"] = w[f"{theirs}.weight"].T, w[f"{theirs}.bias"]
    for name, theirs in numbered("layer_norm", norms).items():
        params[f"BaseModel/{name}/scale"] = w[f"{theirs}.weight"]
        params[f"BaseModel/{name}/offset"] = w[f"{theirs}.bias"]
    params["BaseModel/learned_temp"] = w["graph_head.learned_temp"].reshape(1, 1, 1)
    params["BaseModel/final_matrix_bias"] = w["graph_head.final_bias"].reshape(1, 1, 1)
    assert {name: array.shape for name, array in params.items()} == architecture.layout()
    return probabilities(axial.weights(architecture, params), [dataset])[0]


def scores(dataset: Dataset, method: TabCausal | None = None) -> np.ndarray:
    method = method or TabCausal()
    outcome = fit(method, dataset, KEY)
    assert outcome.estimate is not None and outcome.estimate.scores is not None, (outcome.reason, outcome.detail)
    np.testing.assert_array_equal(
        outcome.estimate.adjacency, (outcome.estimate.scores >= method.threshold) & ~np.eye(dataset.d, dtype=bool)
    )
    return outcome.estimate.scores


@pytest.mark.parametrize("intervened", [True, False])
def test_the_published_layout_equals_the_same_network_in_jax(checkpoint, intervened):
    dataset = table(40, 5, intervened=intervened)
    found = scores(dataset)
    np.testing.assert_allclose(found, in_jax(dataset), atol=1e-5)
    assert found[~np.eye(5, dtype=bool)].std() > 0.01


def test_interventions_change_the_answer(checkpoint):
    assert abs(scores(table(40, 5)) - scores(table(40, 5, intervened=False))).max() > 1e-3


def test_a_batch_of_different_sizes_equals_one_after_the_other(checkpoint):
    """17 and 18 variables, 59 and 60 rows share a padded batch."""
    tables = [table(n, d, seed) for seed, (n, d) in enumerate([(60, 3), (59, 17), (60, 18), (61, 3)])]
    ready = [dataclasses.replace(t, values=(t.values - t.values.mean(0)) / t.values.std(0)) for t in tables]
    for dataset, estimate in zip(ready, TabCausal().predict_batch(ready, [KEY] * 4), strict=True):
        alone = TabCausal().fit(dataset, KEY)
        assert estimate.scores is not None and alone.scores is not None
        np.testing.assert_allclose(estimate.scores, alone.scores, atol=1e-5)


def test_outliers_are_cut(checkpoint):
    dataset = table(400, 3, intervened=False)
    far, farther = dataset.values.copy(), dataset.values.copy()
    far[0, 0], farther[0, 0] = 1e4, 2e4
    np.testing.assert_allclose(scores(Dataset(dataset.names, far)), scores(Dataset(dataset.names, farther)), atol=1e-3)
    centred = (far - far.mean(0)) / far.std(0)
    assert centred.max() > 19
    direct = TabCausal().fit(Dataset(dataset.names, centred.clip(max=10)), KEY).scores
    np.testing.assert_array_equal(scores(Dataset(dataset.names, far)), direct)


def test_the_threshold_is_a_setting(checkpoint):
    assert scores(table(40, 5), TabCausal(threshold=1e-6)).shape == (5, 5)
    with pytest.raises(MethodError, match="threshold is 0"):
        TabCausal(threshold=0)


def test_a_wrong_name_among_the_weights_is_named(checkpoint):
    rename(checkpoint, "feature_encoder.blocks.1.ln_k.bias", "feature_encoder.blocks.1.ln_key.bias")
    outcome = fit(TabCausal(), table(40, 5), KEY)
    assert outcome.status is Status.unsupported
    assert "'feature_encoder.blocks.1.ln_k.bias' [8] is missing" in outcome.reason


def test_what_wrappers_put_before_the_names_is_taken_off(tmp_path, monkeypatch, checkpoint):
    expected = scores(table(40, 5))
    wrapped = {f"module._orig_mod.{name}": tensor for name, tensor in published()["ema"].items()}
    content = {"state_dict": wrapped, "hyper_parameters": CONFIG}
    publish(CHECKPOINT, content, tmp_path / "..", monkeypatch)
    np.testing.assert_array_equal(scores(table(40, 5)), expected)


def test_the_configuration_may_be_the_published_default():
    tensors, config = convert({"model_state_dict": published()["ema"], "hyper_parameters": {"lr": 1e-4}})
    assert config == {} and set(tensors) == set(layout())


def test_other_checkpoints_are_refused():
    with pytest.raises(MethodError, match="expected one of 'ema', 'state_dict', 'model_state_dict', found weights"):
        convert({"weights": {}})
