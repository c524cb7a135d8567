"""CauScale: the published layout, what goes in, what comes out."""

import argparse
import dataclasses

import jax
import numpy as np
import pytest
from published import Layout, publish, rename
from sklearn.covariance import ledoit_wolf

from arena.dataset import Dataset
from arena.errors import MethodError
from methods.base import Status
from methods.causcale import CHECKPOINT, CauScale, convert
from methods.fit import fit
from methods.pairs import edge_probabilities
from methods.precision import precision_matrix
from methods.preflight import preflight

torch = pytest.importorskip("torch")

KEY = jax.random.key(3)
METHOD = CauScale(feature_sample_size=30)
SETTINGS = {"n_heads": 2, "head_dim": -1, "scale_data_cols": True, "attn_shape": "hnij", "lr": 1e-4}
LAYERS, EMBED, INNER = 4, 8, 12


def layout() -> Layout:
    """The state dict of src/model/causcale.py, for 4 blocks of size 8."""
    names = Layout()
    names.linear("encoder.embed_data", 2, EMBED)
    names.linear("encoder.embed_graph", 1, EMBED)
    for stream in ("data", "graph"):
        for place in ("before", "after"):
            names.norm(f"encoder.{stream}_layer_norm_{place}", EMBED)
    for block in (f"encoder.layers.{k}" for k in range(LAYERS)):
        names.linear(f"{block}.linear", EMBED + 1, EMBED)
        for part, inner in (("graph_layer", INNER), ("data_layer", INNER), ("data2graph_layer.axial_layer", EMBED)):
            for attention in ("row_self_attention", "column_self_attention"):
                names.norm(f"{block}.{part}.{attention}.layer_norm", EMBED)
                for projection in ("q_proj", "k_proj", "v_proj", "out_proj"):
                    names.linear(f"{block}.{part}.{attention}.layer.{projection}", EMBED, EMBED)
            names.norm(f"{block}.{part}.feed_forward_layer.layer_norm", EMBED)
            names.linear(f"{block}.{part}.feed_forward_layer.layer.fc1", EMBED, inner)
            names.linear(f"{block}.{part}.feed_forward_layer.layer.fc2", inner, EMBED)
        for summary in ("proj_u", "proj_v"):
            names.linear(f"{block}.data2graph_layer.{summary}.linear", EMBED, EMBED)
            names.norm(f"{block}.data2graph_layer.{summary}.layer_norm", EMBED)
            names.linear(f"{block}.data2graph_layer.{summary}.linear2", EMBED, EMBED)
    names.linear("top_layer.linear", 2 * EMBED, 2 * EMBED)
    names.norm("top_layer.layer_norm", 2 * EMBED)
    names.linear("top_layer.linear2", 2 * EMBED, 3)
    return names


def published(**changed) -> dict:
    weights = layout().weights() | changed
    return {"state_dict": weights, "hyper_parameters": {"args": argparse.Namespace(**SETTINGS)}, "epoch": 3}


@pytest.fixture
def checkpoint(tmp_path, monkeypatch):
    return publish(CHECKPOINT, published(), tmp_path, monkeypatch)


def table(d: int, n: int = 60, seed: int = 0, intervened: bool = True) -> Dataset:
    rng = np.random.default_rng(seed)
    mask = np.zeros((n, d), bool)
    if intervened:
        mask[n // 2 :, 1] = True
    return Dataset(tuple(f"v{j}" for j in range(d)), rng.normal(size=(n, d)) @ rng.normal(size=(d, d)), mask)


def scores(dataset: Dataset, method: CauScale = METHOD) -> np.ndarray:
    outcome = fit(method, dataset, KEY)
    assert outcome.estimate is not None and outcome.estimate.scores is not None, (outcome.reason, outcome.detail)
    np.testing.assert_array_equal(outcome.estimate.adjacency, outcome.estimate.scores > method.threshold)
    return outcome.estimate.scores


def test_the_published_layout_runs_to_the_end(checkpoint):
    found = scores(table(5))
    assert found.shape == (5, 5) and not np.diagonal(found).any()
    assert found[~np.eye(5, dtype=bool)].std() > 0.01
    assert (found + found.T).max() <= 1  # "no edge" is a class of its own
    np.testing.assert_array_equal(found, scores(table(5)))


def test_interventions_reach_the_network(checkpoint):
    assert abs(scores(table(5)) - scores(table(5, intervened=False))).max() > 1e-3


def test_the_first_class_is_no_edge_the_second_points_to_the_later_column(tmp_path, monkeypatch):
    hand_set = torch.tensor([0.1, 0.7, 0.2]).log()
    changed = {"top_layer.linear2.weight": torch.zeros(3, 2 * EMBED), "top_layer.linear2.bias": hand_set}
    publish(CHECKPOINT, published(**changed), tmp_path, monkeypatch)
    outcome = fit(METHOD, table(4), KEY)
    assert outcome.estimate is not None and outcome.estimate.scores is not None
    seen = preflight(table(4), positional=True)
    np.testing.assert_array_equal(outcome.estimate.adjacency, seen.restore(np.triu(np.ones((4, 4)), 1)))
    expected = np.triu(np.full((4, 4), 0.7), 1) + np.tril(np.full((4, 4), 0.2), -1)
    np.testing.assert_allclose(outcome.estimate.scores, seen.restore(expected), atol=1e-6)
    loose = fit(dataclasses.replace(METHOD, threshold=0.15), table(4), KEY)
    assert loose.estimate is not None and loose.estimate.adjacency.sum() == 12


def test_pairs_of_embeddings_are_read_row_by_row(checkpoint):
    """The pair head sees i -> j before j -> i: equal to a loop over pairs with the same weights."""
    from methods.tied_attention import PairHead

    torch.manual_seed(0)
    head, edges = PairHead(EMBED), torch.randn(1, 4, 4, EMBED)
    with torch.no_grad():
        found = edge_probabilities(head(edges)[0].numpy(), 4)
        for i in range(4):
            for j in range(i + 1, 4):
                hidden = torch.nn.functional.gelu(head.linear(torch.cat([edges[0, i, j], edges[0, j, i]])))
                p = torch.softmax(head.linear2(head.layer_norm(hidden)), 0).numpy()
                np.testing.assert_allclose([found[i, j], found[j, i]], p[1:], atol=1e-6)


def test_probabilities_are_those_of_the_published_list():
    """The published program writes P(i -> j) for all i < j, then P(j -> i); its reader fills triangles from that."""
    d = 5
    logits = np.random.default_rng(1).normal(size=(d * (d - 1) // 2, 3))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    flat = [*p[:, 1], *p[:, 2]]
    expected, place = np.zeros((d, d)), 0
    for i in range(d):
        for j in range(i + 1, d):
            expected[i, j], expected[j, i] = flat[place], flat[place + len(p)]
            place += 1
    np.testing.assert_allclose(edge_probabilities(logits, d), expected, atol=1e-12)


def test_a_batch_of_different_sizes_equals_one_after_the_other(checkpoint):
    """17 and 18 variables share a padded batch; scales and masks must not know of the padding."""
    tables = [table(d, n, seed) for seed, (d, n) in enumerate([(3, 60), (17, 60), (18, 60), (4, 61), (17, 61)])]
    keys = list(jax.random.split(KEY, len(tables)))
    together = METHOD.predict_batch(tables, keys)
    for dataset, key, estimate in zip(tables, keys, together, strict=True):
        alone = METHOD.fit(dataset, key)
        assert estimate.scores is not None and alone.scores is not None
        np.testing.assert_allclose(estimate.scores, alone.scores, atol=2e-5)
        np.testing.assert_array_equal(estimate.adjacency, alone.adjacency)


def test_tied_attention_is_one_map_for_all_rows():
    """Against loops: logits summed over rows, scaled by the size of a head and what is summed over, cells masked."""
    from methods.tied_attention import TiedAttention

    torch.manual_seed(1)
    b, r, c, e, heads = 2, 3, 4, 6, 2
    x, hidden = torch.randn(b, r, c, e), torch.zeros(b, r, c, dtype=torch.bool)
    hidden[1, :, 3] = hidden[0, 1, 2] = True
    attention = TiedAttention(e, heads, None, across="columns", scaled=True)
    lengths = torch.tensor([3, 2]), torch.tensor([4, 4])
    with torch.no_grad():
        found = attention(x, hidden, *lengths)
        q, k, v = (project(x) for project in (attention.q_proj, attention.k_proj, attention.v_proj))
        context = torch.zeros_like(x)
        for n in range(b):
            for h in range(heads):
                part = slice(3 * h, 3 * h + 3)
                for i in range(c):
                    logits = torch.zeros(c)
                    for j in range(c):
                        for row in range(r):
                            if not hidden[n, row, i]:
                                logits[j] += q[n, row, i, part] @ k[n, row, j, part]
                        logits[j] /= float(3 * lengths[0][n]) ** 0.5
                        if hidden[n, 0, j]:
                            logits[j] = -10000
                    for row in range(r):
                        context[n, row, i, part] = torch.softmax(logits, 0) @ v[n, row, :, part]
        torch.testing.assert_close(found, attention.out_proj(context), atol=1e-5, rtol=1e-5)
        across_rows = TiedAttention(e, heads, None, across="rows", scaled=True)
        across_rows.load_state_dict(attention.state_dict())
        turned = across_rows(x.transpose(1, 2), hidden.transpose(1, 2), lengths[1], lengths[0])
        torch.testing.assert_close(turned.transpose(1, 2), found)


def test_prior_is_the_inverse_covariance_shrunken_for_wide_tables():
    rng = np.random.default_rng(0)
    narrow, wide = rng.normal(size=(500, 6)), rng.normal(size=(300, 100))
    np.testing.assert_allclose(precision_matrix(narrow), np.linalg.inv(np.cov(narrow.T)), rtol=1e-8)
    np.testing.assert_allclose(precision_matrix(wide), np.linalg.inv(ledoit_wolf(wide)[0]), rtol=1e-6, atol=1e-8)


def test_long_tables_are_thinned_out(checkpoint):
    dataset = table(4, n=150)
    method = dataclasses.replace(METHOD, sample_size=50)
    kept = method._thinned(dataset)
    np.testing.assert_array_equal(kept.mask, dataset.mask[::3])
    raw = dataset.values[::3]
    np.testing.assert_allclose(kept.values, (raw - raw.mean(0)) / raw.std(0))
    assert METHOD._thinned(dataset).n == 150


def test_too_few_rows_are_refused(checkpoint):
    outcome = fit(CauScale(), table(4, n=499), KEY)
    assert outcome.status is Status.unsupported
    assert "at least 500 rows" in outcome.reason and "found 499" in outcome.reason


def test_a_wrong_name_is_one_clear_error(checkpoint):
    rename(checkpoint, "encoder.embed_data.bias", "encoder.embed_date.bias")
    outcome = fit(METHOD, table(4), KEY)
    assert outcome.status is Status.unsupported
    assert "'encoder.embed_data.bias' [8] is missing" in outcome.reason and "\n" not in outcome.reason


def test_configuration_is_read_from_weights_and_settings():
    tensors, config = convert(published())
    assert set(tensors) == set(layout())
    assert config == {
        "transformer_num_layers": 4,
        "embed_dim": 8,
        "ffn_embed_dim": 12,
        "n_heads": 2,
        "head_dim": -1,
        "scale_graph_rows": False,
        "scale_graph_cols": False,
        "scale_data_cols": True,
        "disable_reduction_unit": False,
    }
    assert convert({"state_dict": layout().weights()})[1]["n_heads"] == 16  # the published program's


@pytest.mark.parametrize(
    "content, says",
    [
        ({"model": {}}, "'state_dict' is missing"),
        ({"state_dict": {"other": torch.zeros(1)}}, "'encoder.embed_data.weight' is missing"),
        ({**published(), "hyper_parameters": {"attn_shape": "rhnij"}}, "attn_shape = 'rhnij'"),
    ],
)
def test_other_checkpoints_are_refused(content, says):
    with pytest.raises(MethodError, match=says):
        convert(content)


@pytest.mark.parametrize("setting", [{"threshold": 1.0}, {"feature_sample_size": 1}, {"sample_size": 0}])
def test_settings_out_of_range(setting):
    with pytest.raises(MethodError, match=next(iter(setting))):
        CauScale(**setting)
