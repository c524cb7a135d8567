"""AVICI: the published layout, against a plain transcription in NumPy; scripts/check_avici.py compares the package."""

import dataclasses
import json
import pickle

import jax
import numpy as np
import pytest

from arena.dataset import Dataset
from arena.errors import MethodError
from methods import axial
from methods.avici import AVICI, CHECKPOINT, convert, network, probabilities
from methods.base import Status
from methods.convert import convert as convert_file
from methods.fit import fit

pytest.importorskip("safetensors")

KEY = jax.random.key(5)
TINY = axial.Architecture(layers=2, dim=8, key_size=3, num_heads=2, widening_factor=2)
KWARGS = {
    "neural_net_kwargs": {"layers": 2, "dim": 8, "key_size": 3, "num_heads": 2, "widening_factor": 2, "dropout": 0.1},
    "inference_model_kwargs": {"mask_diag": True},
}


def parameters(architecture: axial.Architecture = TINY, seed: int = 0) -> dict[str, dict[str, np.ndarray]]:
    """Random parameters as haiku keeps them: module -> name -> array."""
    rng, params = np.random.default_rng(seed), {}
    for path, shape in architecture.layout().items():
        module, _, name = path.rpartition("/")
        centre = {"scale": 1.0, "learned_temp": 1.0}.get(name, 0.0)
        spread = np.sqrt(1 / shape[0]) if name == "w" else 0.3
        params.setdefault(module, {})[name] = rng.normal(centre, spread, shape).astype(np.float32)
    return params


def publish(folder, monkeypatch, params=None, kwargs=None):
    """Save as its authors would, convert as a user would, in a cache of its own."""
    monkeypatch.setenv("ARENA_CHECKPOINTS", str(folder / "checkpoints"))
    (folder / "kwargs.json").write_text(json.dumps(KWARGS if kwargs is None else kwargs))
    path = folder / "checkpoint_0300000.pkl"
    path.write_bytes(pickle.dumps({"step": 3, "params": parameters() if params is None else params}))
    return convert_file(CHECKPOINT, path)


@pytest.fixture
def checkpoint(tmp_path, monkeypatch):
    return publish(tmp_path, monkeypatch)


def table(n: int, d: int, seed: int = 0, share: float = 0.1) -> Dataset:
    rng = np.random.default_rng(seed)
    values = (rng.normal(size=(n, d)) @ rng.normal(size=(d, d))) * 3 + 1
    return Dataset(tuple(f"v{j}" for j in range(d)), values, rng.random((n, d)) < share)


def transcribed(params, architecture: axial.Architecture, dataset: Dataset) -> np.ndarray:
    """The probabilities by the published recipe, float64, one module call after another as haiku numbers them."""
    counts: dict[str, int] = {}

    def module(kind):
        count = counts.get(kind, 0)
        counts[kind] = count + 1
        return f"BaseModel/{kind}_{count}" if count else f"BaseModel/{kind}"

    def linear(x, name=None):
        p = params[name or module("linear")]
        return x @ p["w"].astype(float) + p["b"]

    def norm(x):
        p = params[module("layer_norm")]
        return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * p["scale"] + p["offset"]

    def attention(q_in, k_in, v_in):
        name, heads, size = module("multi_head_attention"), architecture.num_heads, architecture.key_size
        split = lambda x: x.reshape(*x.shape[:-1], heads, size)  # noqa: E731
        q, k, v = (
            split(linear(x, f"{name}/{kind}"))
            for x, kind in zip((q_in, k_in, v_in), ("query", "key", "value"), strict=True)
        )
        logits = np.einsum("athk,aThk->ahtT", q, k) / np.sqrt(size)
        weight = np.exp(logits - logits.max(-1, keepdims=True))
        found = np.einsum("ahtT,aThk->athk", weight / weight.sum(-1, keepdims=True), v)
        return linear(found.reshape(*found.shape[:2], -1), f"{name}/linear")

    values = (dataset.values - dataset.values.mean(0)) / dataset.values.std(0)
    z = linear(np.stack([values, dataset.mask.astype(float)], -1))
    for _ in range(2 * architecture.layers):
        z = z + attention(norm(z), norm(z), norm(z))
        hidden = linear(norm(z))
        z = z + linear(np.maximum(hidden, 0))
        z = z.swapaxes(0, 1)
    z = norm(z).max(0)
    u, v = linear(norm(z)), linear(norm(z))
    cosine = u @ v.T / np.linalg.norm(u, axis=1)[:, None] / np.linalg.norm(v, axis=1)
    last = params["BaseModel"]
    logits = cosine * np.exp(last["learned_temp"].item()) + last["final_matrix_bias"].item()
    found = 1 / (1 + np.exp(-logits))
    np.fill_diagonal(found, 0.0)
    return found


@pytest.mark.parametrize("n, d, share", [(12, 4, 0.2), (43, 9, 0.0)])
def test_equals_a_plain_transcription(n, d, share):
    params, dataset = parameters(), table(n, d, share=share)
    flat = {f"{module}/{name}": array for module, arrays in params.items() for name, array in arrays.items()}
    (found,) = probabilities(axial.weights(TINY, flat), [dataset])
    expected = transcribed(params, TINY, dataset)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert expected[~np.eye(d, dtype=bool)].std() > 0.01


@pytest.mark.parametrize("cells", [1, 5000, 10**7])
def test_in_pieces_of_any_size(cells):
    """However few attention scores are computed at once, what comes out is the same."""
    from methods.padding import pad

    params, tables = parameters(seed=1), [table(130, 6, seed) for seed in range(3)]
    flat = {f"{module}/{name}": array for module, arrays in params.items() for name, array in arrays.items()}
    logits = axial.edge_logits(axial.weights(TINY, flat), pad(tables), cells)
    for b, dataset in enumerate(tables):
        found = 1 / (1 + np.exp(-np.asarray(logits[b], float)))
        np.fill_diagonal(found, 0.0)
        np.testing.assert_allclose(found, transcribed(params, TINY, dataset), atol=1e-5)


def test_the_published_sizes_have_as_many_parameters_as_published():
    assert sum(int(np.prod(shape)) for shape in axial.Architecture().layout().values()) == 4_269_442


def test_the_published_layout_runs_to_the_end(checkpoint):
    dataset = table(60, 5)
    outcome = fit(AVICI(), dataset, KEY)
    assert outcome.estimate is not None and outcome.estimate.scores is not None, outcome.reason
    np.testing.assert_allclose(outcome.estimate.scores, transcribed(parameters(), TINY, dataset), atol=1e-5)
    np.testing.assert_array_equal(outcome.estimate.adjacency, outcome.estimate.scores > 0.5)
    assert 0 < outcome.estimate.adjacency.sum() < 20


def test_the_threshold_is_a_setting(checkpoint):
    loose = fit(AVICI(threshold=1e-9), table(60, 5), KEY)
    assert loose.estimate is not None and loose.estimate.adjacency.sum() == 20
    with pytest.raises(MethodError, match="threshold is 1"):
        AVICI(threshold=1)


def test_interventions_change_the_answer(checkpoint):
    marked = table(60, 5)
    unmarked = dataclasses.replace(marked, intervention_mask=None, split=None)
    first, second = (fit(AVICI(), dataset, KEY).estimate for dataset in (marked, unmarked))
    assert first is not None and second is not None
    assert abs(first.scores - second.scores).max() > 1e-3


def test_a_batch_of_different_sizes_equals_one_after_the_other(checkpoint):
    tables = [table(n, d, seed) for seed, (n, d) in enumerate([(60, 5), (59, 17), (60, 18)])]
    weights = network(CHECKPOINT.require())
    for dataset, estimate in zip(tables, AVICI().predict_batch(tables, [KEY] * 3), strict=True):
        np.testing.assert_allclose(estimate.scores, transcribed(parameters(), TINY, dataset), atol=1e-5)
    assert network(CHECKPOINT.require()) is weights


def test_columns_in_another_order(checkpoint):
    dataset, order = table(60, 5), [3, 0, 4, 1, 2]
    direct, permuted = AVICI().predict_batch([dataset, dataset.select([dataset.names[j] for j in order])], [KEY] * 2)
    assert direct.scores is not None and permuted.scores is not None
    np.testing.assert_allclose(direct.scores[np.ix_(order, order)], permuted.scores, atol=1e-5)


def test_a_wrong_name_among_the_weights_is_named(tmp_path, monkeypatch):
    params = parameters()
    params["BaseModel/linear_99"] = params.pop("BaseModel/linear_3")
    publish(tmp_path, monkeypatch, params)
    outcome = fit(AVICI(), table(60, 5), KEY)
    assert outcome.status is Status.unsupported
    assert "'BaseModel/linear_3/w' [8, 16] is missing" in outcome.reason


def test_another_size_than_configured_is_named(tmp_path, monkeypatch):
    publish(tmp_path, monkeypatch, kwargs={"neural_net_kwargs": {**KWARGS["neural_net_kwargs"], "dim": 16}})
    outcome = fit(AVICI(), table(60, 5), KEY)
    assert outcome.status is Status.unsupported
    assert "'BaseModel/linear/w' has shape [2, 8], expected [2, 16]" in outcome.reason


def test_older_configurations_are_read():
    older = {"neural_net_kwargs": {"model_kwargs": KWARGS["neural_net_kwargs"], "model_class": "BaseModel"}}
    tensors, config = convert({"params": parameters(), "kwargs.json": older})
    assert axial.Architecture(**config) == TINY and set(tensors) == set(TINY.layout())


@pytest.mark.parametrize(
    "content, message",
    [
        ({"weights": {}, "kwargs.json": KWARGS}, "expected 'params' and 'kwargs.json', found weights, kwargs.json"),
        ({"params": {}, "kwargs.json": {}}, "no 'neural_net_kwargs'"),
        ({"params": {}, "kwargs.json": {"neural_net_kwargs": {"ln_axis": -2}}}, "ln_axis = -2"),
        ({"params": {}, "kwargs.json": {**KWARGS, "inference_model_kwargs": {"mask_diag": False}}}, "self-loops"),
    ],
)
def test_other_checkpoints_are_refused(content, message):
    with pytest.raises(MethodError, match=message):
        convert(content)
