"""Arrow: the published layout, against a plain transcription in NumPy, and the official decoding."""

import jax
import numpy as np
import pytest
from published import Layout, publish, rename
from scipy.special import erf

from arena.dataset import Dataset
from arena.errors import MethodError
from methods.arrow import CHECKPOINT, Arrow, convert, decode
from methods.base import Status
from methods.fit import fit
from methods.orient import is_acyclic

torch = pytest.importorskip("torch")

KEY = jax.random.key(3)
DIM, TOKENS = 8, 3
CONFIG = {
    "d_model": DIM,
    "nhead_cols": 2,
    "nhead_rows": 4,
    "nhead_nodes": 2,
    "nlayer_cols": 2,
    "nlayer_rows": 1,
    "nlayer_nodes": 1,
    "ncls_rows": TOKENS,
    "dropout": 0.1,
}


def layout() -> Layout:
    """The state dict of src/arrowfm/architecture.py for the sizes above."""
    names = Layout()

    def attention(name):
        names[f"{name}.in_proj_weight"], names[f"{name}.in_proj_bias"] = (3 * DIM, DIM), (3 * DIM,)
        names.linear(f"{name}.out_proj", DIM, DIM)

    def layer(name, decoder=False):
        attention(f"{name}.self_attn")
        if decoder:
            attention(f"{name}.multihead_attn")
            names.norm(f"{name}.norm3", DIM)
        names.linear(f"{name}.linear1", DIM, 4 * DIM)
        names.linear(f"{name}.linear2", 4 * DIM, DIM)
        names.norm(f"{name}.norm1", DIM)
        names.norm(f"{name}.norm2", DIM)

    names["row_cls_tokens"] = (1, TOKENS, DIM)
    names.linear("value_project", 1, DIM)
    for k in range(CONFIG["nlayer_cols"]):
        layer(f"col_encoder.layers.{k}")
    layer("row_encoder.layers.0", decoder=True)
    layer("node_encoder.layers.0")
    names.linear("col_merge", TOKENS * DIM, DIM)
    names.linear("order_head", DIM, 1)
    names.linear("edge_head.0", 2 * DIM, 2 * DIM)
    names.linear("edge_head.2", 2 * DIM, 1)
    return names


def weights() -> dict:
    """Random, with a bias that makes some variables adjacent and others not."""
    found = layout().weights(seed=1)
    found["edge_head.2.bias"] -= 0.485
    return found


def published() -> dict:
    config = {"model": CONFIG, "optimizer": {"lr": 1e-4}}
    return {"model_state_dict": weights(), "config": config, "step": 10}


@pytest.fixture
def checkpoint(tmp_path, monkeypatch):
    return publish(CHECKPOINT, published(), tmp_path, monkeypatch)


def table(n: int, d: int, seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) * 3 + 1
    return Dataset(tuple(f"v{j}" for j in range(d)), values)


def transcribed(dataset: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Adjacency probabilities and order scores by the published recipe, float64."""
    w = {name: tensor.double().numpy() for name, tensor in weights().items()}
    linear = lambda x, name: x @ w[f"{name}.weight"].T + w[f"{name}.bias"]  # noqa: E731
    gelu = lambda x: x * (1 + erf(x / np.sqrt(2))) / 2  # noqa: E731
    unit = lambda x: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)  # noqa: E731
    norm = lambda x, name: unit(x) * w[f"{name}.weight"] + w[f"{name}.bias"]  # noqa: E731

    def attention(query, memory, name, heads):
        weight, bias = (np.split(w[f"{name}.in_proj_{kind}"], 3) for kind in ("weight", "bias"))
        split = lambda x, k: (x @ weight[k].T + bias[k]).reshape(*x.shape[:2], heads, -1)  # noqa: E731
        q, k, v = split(query, 0), split(memory, 1), split(memory, 2)
        logits = np.einsum("athk,aThk->ahtT", q, k) / np.sqrt(DIM / heads)
        weight = np.exp(logits - logits.max(-1, keepdims=True))
        found = np.einsum("ahtT,aThk->athk", weight / weight.sum(-1, keepdims=True), v)
        return linear(found.reshape(*query.shape), f"{name}.out_proj")

    def feed(x, name, norm_name):
        return x + linear(gelu(linear(norm(x, f"{name}.{norm_name}"), f"{name}.linear1")), f"{name}.linear2")

    def encode(x, name, heads):
        inside = norm(x, f"{name}.norm1")
        return feed(x + attention(inside, inside, f"{name}.self_attn", heads), name, "norm2")

    values = (dataset.values - dataset.values.mean(0)) / dataset.values.std(0, ddof=1)
    x = linear(values[..., None], "value_project")
    for k in range(CONFIG["nlayer_cols"]):
        x = encode(x, f"col_encoder.layers.{k}", CONFIG["nhead_cols"])
    memory, name, heads = x.swapaxes(0, 1), "row_encoder.layers.0", CONFIG["nhead_rows"]
    y = np.repeat(w["row_cls_tokens"], dataset.d, 0)
    inside = norm(y, f"{name}.norm1")
    y = y + attention(inside, inside, f"{name}.self_attn", heads)
    y = y + attention(norm(y, f"{name}.norm2"), memory, f"{name}.multihead_attn", heads)
    y = feed(y, name, "norm3")
    h = linear(y.reshape(1, dataset.d, -1), "col_merge")
    h = unit(encode(h, "node_encoder.layers.0", CONFIG["nhead_nodes"]))[0]
    logits = np.array([[linear(gelu(linear(np.r_[a, b], "edge_head.0")), "edge_head.2")[0] for b in h] for a in h])
    return 1 / (1 + np.exp(-(logits + logits.T) / 2)), linear(h, "order_head")[:, 0]


def test_the_published_layout_equals_a_plain_transcription(checkpoint):
    dataset = table(40, 5)
    outcome = fit(Arrow(), dataset, KEY)
    assert outcome.estimate is not None and outcome.estimate.scores is not None, (outcome.reason, outcome.detail)
    adjacent, order = transcribed(dataset)
    expected = adjacent / (1 + np.exp(order[None, :] - order[:, None]))
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_allclose(outcome.estimate.scores, expected, atol=1e-5)
    np.testing.assert_array_equal(outcome.estimate.adjacency, (adjacent > 0.5) & (order[:, None] > order[None, :]))
    assert 0 < outcome.estimate.adjacency.sum() < 10 and is_acyclic(outcome.estimate.adjacency)


def test_a_batch_of_different_sizes_equals_one_after_the_other(checkpoint):
    """17 and 18 variables, 59 and 60 rows share a padded batch."""
    tables = [table(n, d, seed) for seed, (n, d) in enumerate([(60, 3), (59, 17), (60, 18), (61, 3)])]
    ready = [Dataset(t.names, (t.values - t.values.mean(0)) / t.values.std(0)) for t in tables]
    together = Arrow().predict_batch(ready, [KEY] * 4)
    for dataset, estimate in zip(ready, together, strict=True):
        alone = Arrow().fit(dataset, KEY)
        assert estimate.scores is not None and alone.scores is not None
        np.testing.assert_allclose(estimate.scores, alone.scores, atol=1e-5)
        np.testing.assert_array_equal(estimate.adjacency, alone.adjacency)


def test_edges_point_along_the_order_and_only_where_more_likely_than_not():
    adjacent = np.array([[0.9, 0.7, 0.5], [0.7, 0.9, 0.6], [0.5, 0.6, 0.9]])
    found = decode(adjacent, np.array([-1.0, 3.0, 1.0]))
    np.testing.assert_array_equal(found.adjacency, [[0, 0, 0], [1, 0, 1], [0, 0, 0]])
    assert found.scores is not None
    np.testing.assert_allclose(found.scores[1, 0], 0.7 / (1 + np.exp(-4)))
    np.testing.assert_allclose(found.scores[0, 1] + found.scores[1, 0], 0.7)
    assert decode(np.ones((3, 3)), np.zeros(3)).adjacency.sum() == 3
    sure = decode(np.ones((2, 2)), np.array([-1000.0, 1000.0])).scores
    assert sure is not None and sure.tolist() == [[0, 0], [1, 0]]


def test_interventions_are_not_taken(checkpoint):
    dataset = table(40, 5)
    mask = np.zeros((40, 5), bool)
    mask[0, 0] = True
    outcome = fit(Arrow(), Dataset(dataset.names, dataset.values, mask), KEY)
    assert outcome.status is Status.unsupported and "obs" in outcome.reason


def test_a_wrong_name_among_the_weights_is_named(checkpoint):
    rename(checkpoint, "edge_head.2.bias", "edge_head.3.bias")
    outcome = fit(Arrow(), table(40, 5), KEY)
    assert outcome.status is Status.unsupported and "'edge_head.2.bias' [1] is missing" in outcome.reason


def test_other_checkpoints_are_refused():
    with pytest.raises(MethodError, match="expected 'model_state_dict' and 'config' with 'model', found state_dict"):
        convert({"state_dict": {}})
