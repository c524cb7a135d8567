"""CDFM: on a tiny random checkpoint of the published layout, against the package's own predictor."""

import json
from pathlib import Path

import jax
import numpy as np
import pytest
from published import rename

from arena.dataset import Dataset
from arena.errors import MethodError
from methods.base import Status
from methods.cdfm import CDFM, CHECKPOINT, build
from methods.fit import fit

torch = pytest.importorskip("torch")
pytest.importorskip("cdfm")

KEY = jax.random.key(3)
FEATURES = ["mean", "std", "p25", "p50", "p75", "p90", "logD", "median_gap", "max_gap", "knee_T"]
CONFIG = {
    "embed_dim": 8,
    "p_dim": 4,
    "nhead": 2,
    "dim_feedforward": 16,
    "num_inds": 4,
    "num_of_experts": 2,
    "num_layers": 1,
    "num_blocks_of_embedding": 1,
    "calibration_config": {"type": "linear", "coefficients": [-2.5, *[0.5] * 10], "feature_names": FEATURES},
}


@pytest.fixture
def checkpoint(tmp_path, monkeypatch):
    monkeypatch.setenv("ARENA_CHECKPOINTS", str(tmp_path))
    return write()


def write() -> Path:
    """A random checkpoint where it is looked for."""
    from safetensors.torch import save_file

    folder = CHECKPOINT.folder
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    rng = np.random.default_rng(0)
    layout = {name: tensor.shape for name, tensor in build(CONFIG).state_dict().items()}
    weights = {name: torch.tensor(rng.normal(size=shape) * 0.5, dtype=torch.float32) for name, shape in layout.items()}
    # Far apart and around 0.5, so that there are edges and others.
    weights["inference.linear_cause.weight"] *= 4
    weights["inference.final_bias"] = torch.tensor(13.65)
    save_file(weights, folder / "model.safetensors")
    return folder


def table(n: int, d: int, seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) * 3 + 1
    return Dataset(tuple(f"v{j}" for j in range(d)), values)


@pytest.mark.parametrize("threshold", [None, 0.7])
def test_equals_the_packages_own_predictor(checkpoint, threshold):
    from cdfm import CDFM as Predictor

    dataset = table(40, 6)
    expected = Predictor.from_pretrained(str(checkpoint), device="cpu").predict(dataset.values, threshold=threshold)
    outcome = fit(CDFM(threshold=threshold), dataset, KEY)
    assert outcome.estimate is not None and outcome.estimate.scores is not None, (outcome.reason, outcome.detail)
    off = ~np.eye(6, dtype=bool)
    np.testing.assert_allclose(outcome.estimate.scores[off], expected.probabilities[off], atol=5e-5)
    np.testing.assert_array_equal(outcome.estimate.adjacency, expected.adjacency)
    np.testing.assert_allclose(outcome.estimate.info["threshold"], expected.threshold, atol=5e-5)
    assert 0 < outcome.estimate.adjacency.sum() < 30 and expected.probabilities[off].std() > 0.01


def test_a_batch_of_different_sizes_equals_one_after_the_other(checkpoint):
    sizes = [(60, 3), (60, 7), (60, 8), (61, 8), (60, 8), (60, 3)]
    tables = [table(n, d, seed) for seed, (n, d) in enumerate(sizes)]
    ready = [Dataset(t.names, (t.values - t.values.mean(0)) / t.values.std(0)) for t in tables]
    for dataset, estimate in zip(ready, CDFM().predict_batch(ready, [KEY] * 6), strict=True):
        alone = CDFM().fit(dataset, KEY)
        assert estimate.scores is not None and alone.scores is not None
        np.testing.assert_allclose(estimate.scores, alone.scores, atol=5e-5)
        np.testing.assert_allclose(estimate.info["threshold"], alone.info["threshold"], atol=5e-5)


def test_interventions_are_not_taken(checkpoint):
    dataset = table(40, 5)
    mask = np.zeros((40, 5), bool)
    mask[0, 0] = True
    outcome = fit(CDFM(), Dataset(dataset.names, dataset.values, mask), KEY)
    assert outcome.status is Status.unsupported and "obs" in outcome.reason


def test_without_a_calibration_the_threshold_must_be_set(checkpoint):
    config = {name: value for name, value in CONFIG.items() if name != "calibration_config"}
    (checkpoint / "config.json").write_text(json.dumps(config))
    outcome = fit(CDFM(), table(40, 5), KEY)
    assert outcome.status is Status.unsupported and "no 'calibration_config'" in outcome.reason
    assert fit(CDFM(threshold=0.5), table(40, 5), KEY).status is Status.completed
    with pytest.raises(MethodError, match="threshold is 2"):
        CDFM(threshold=2)


def test_a_wrong_name_among_the_weights_is_named(checkpoint):
    """The package itself would warn and go on with random weights."""
    rename(checkpoint, "inference.final_bias", "inference.bias")
    outcome = fit(CDFM(), table(40, 5), KEY)
    assert outcome.status is Status.unsupported and "'inference.final_bias' [] is missing" in outcome.reason
