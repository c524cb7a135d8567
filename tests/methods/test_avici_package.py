"""AVICI in its own environment, on a small random checkpoint of the published layout."""

import dataclasses
import json

import jax
import numpy as np
import pytest
from safetensors.numpy import save_file

from methods import axial, environments
from methods.avici import AVICI
from methods.avici_package import AVICIPackage
from methods.base import Status
from methods.fit import fit
from methods.registry import describe

KEY = jax.random.key(0)
SMALL = axial.Architecture(layers=1, dim=16, key_size=8, num_heads=2, widening_factor=2)

built = pytest.mark.skipif(
    not environments.get("avici").ready, reason="needs environment 'avici'; run: arena env build avici"
)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ARENA_CHECKPOINTS", str(tmp_path))
    return tmp_path


@pytest.fixture
def checkpoint(cache):
    """Random weights where the converted checkpoint is looked for."""
    rng, folder = np.random.default_rng(0), AVICI.capabilities.checkpoint
    assert folder is not None
    folder.folder.mkdir()
    weights = {name: rng.normal(0.5, 0.5, shape).astype(np.float32) for name, shape in SMALL.layout().items()}
    save_file(weights, folder.folder / "model.safetensors")
    config = {name: value for name, value in dataclasses.asdict(SMALL).items() if value is not None}
    (folder.folder / "config.json").write_text(json.dumps(config))


def status() -> str:
    return next(row["status"] for row in describe() if row["name"] == "avici_package")


def test_it_needs_both(cache, collider, monkeypatch):
    monkeypatch.setattr(environments.Environment, "ready", False)
    assert status() == "needs environment"
    monkeypatch.setattr(environments.Environment, "ready", True)
    assert status() == "needs checkpoint"
    outcome = fit(AVICIPackage(), collider, KEY)
    assert outcome.status is Status.unsupported and outcome.reason.endswith(
        "run: arena checkpoint fetch avici-scm-v0 --yes"
    )


@built
def test_the_native_network_says_the_same(checkpoint, collider, intervened_pair):
    assert status() == "ready"
    tables = [collider, intervened_pair]
    there = AVICIPackage().predict_batch(tables, [KEY, KEY])
    for table, answer in zip(tables, there, strict=True):
        here = fit(AVICI(), table, KEY).estimate
        assert here is not None and here.scores is not None and answer.scores is not None
        np.testing.assert_allclose(answer.scores, here.scores, atol=1e-4)
        assert np.ptp(answer.scores) > 1e-3
