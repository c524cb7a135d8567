"""Between JAX and PyTorch: no copies, nothing leaks, weights must fit."""

import json
import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from arena.dataset import Dataset
from arena.errors import MethodError
from methods import bridge, padding

torch = pytest.importorskip("torch")
safetensors_torch = pytest.importorskip("safetensors.torch")


def linear(config):
    return torch.nn.Linear(config["into"], config["out"])


@pytest.fixture
def folder(tmp_path):
    safetensors_torch.save_file(torch.nn.Linear(3, 2).state_dict(), tmp_path / bridge.WEIGHTS)
    (tmp_path / bridge.CONFIG).write_text(json.dumps({"into": 3, "out": 2}))
    return tmp_path


def test_a_batch_crosses_without_a_copy():
    batch = jnp.arange(2 * 100 * 5, dtype=jnp.float32).reshape(2, 100, 5)
    tensor = bridge.to_torch(batch)
    back = bridge.to_jax(tensor)
    assert batch.unsafe_buffer_pointer() == tensor.data_ptr() == back.unsafe_buffer_pointer()
    np.testing.assert_array_equal(back, batch)


def test_what_a_network_computed_crosses_without_a_copy():
    network = torch.nn.Linear(5, 4)
    with bridge.inference():
        answer = network(bridge.to_torch(jnp.ones((3, 5))))
        array = bridge.to_jax(answer)
    assert array.unsafe_buffer_pointer() == answer.data_ptr() and array.shape == (3, 4)


def test_trees_cross_and_what_is_not_contiguous_is_copied():
    dataset = Dataset(("a", "b"), np.arange(6.0).reshape(3, 2))
    batch = bridge.to_torch(padding.pad([dataset], n=4))
    assert isinstance(batch, padding.Batch) and batch.rows.dtype == torch.bool
    np.testing.assert_array_equal(bridge.to_jax(batch.values.mT)[0, :, :3], dataset.values.T)


def test_nothing_leaks_out_of_inference():
    threads = torch.get_num_threads()
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    try:
        with pytest.raises(RuntimeError, match="in there"), bridge.inference():
            assert torch.get_default_dtype() == torch.float32
            assert not (torch.ones(2, requires_grad=True) * 2).requires_grad
            torch.manual_seed(1)
            torch.rand(10)
            torch.set_num_threads(threads + 1)
            torch.set_default_dtype(torch.float16)
            torch.set_float32_matmul_precision("medium")
            raise RuntimeError("in there")
        assert torch.get_default_dtype() == torch.float64
        assert torch.get_num_threads() == threads
        assert torch.get_float32_matmul_precision() == "highest"
        assert not torch.is_inference_mode_enabled()
        torch.testing.assert_close(torch.rand(3), expected)
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_num_threads(threads)


def test_a_network_is_loaded_once_until_its_files_change(folder):
    first = bridge.pretrained(folder, linear)
    assert bridge.pretrained(folder, linear) is first and not first.training
    assert not any(parameter.requires_grad for parameter in first.parameters())
    safetensors_torch.save_file({"weight": torch.ones(2, 3), "bias": torch.zeros(2)}, folder / bridge.WEIGHTS)
    os.utime(folder / bridge.WEIGHTS, ns=(1, 1))
    second = bridge.pretrained(folder, linear)
    assert second is not first
    torch.testing.assert_close(second(torch.ones(1, 3)), torch.full((1, 2), 3.0))


def test_making_a_network_draws_nothing_from_the_callers_generator(folder):
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    bridge.pretrained(folder, linear)
    torch.testing.assert_close(torch.rand(2), expected)


@pytest.mark.parametrize(
    "weights, message",
    [
        ({"weight": (2, 3)}, r"'bias' \[2\] is missing"),
        ({"weight": (3, 2), "bias": (2,)}, r"'weight' has shape \[3, 2\], expected \[2, 3\]"),
        ({"weight": (2, 3), "bias": (2,), "more": (1,)}, r"'more' \[1\] is unexpected"),
    ],
)
def test_weights_must_be_exactly_those(folder, weights, message):
    tensors = {name: torch.zeros(shape) for name, shape in weights.items()}
    safetensors_torch.save_file(tensors, folder / bridge.WEIGHTS)
    with pytest.raises(MethodError, match=message):
        bridge.pretrained(folder, linear)


@pytest.mark.parametrize(
    "name, text, message",
    [
        (bridge.CONFIG, "{", "is not JSON"),
        (bridge.CONFIG, "[1]", "holds list"),
        (bridge.CONFIG, '{"into": 3}', "not the configuration of this network: 'out' is missing"),
        (bridge.WEIGHTS, "junk", "cannot be read as safetensors"),
    ],
)
def test_damaged_files_are_named(folder, name, text, message):
    (folder / name).write_text(text)
    with pytest.raises(MethodError, match=message):
        bridge.pretrained(folder, linear)


def test_a_missing_configuration_is_named(folder):
    (folder / bridge.CONFIG).unlink()
    with pytest.raises(MethodError, match="config.json cannot be read"):
        bridge.pretrained(folder, linear)


@pytest.mark.parametrize("size", [1, 2, 5, 7, 10, 20, 30, 50, 100, 1000, 5000])
def test_round_sizes_are_not_padded(size):
    assert padding.bucket(size) == size


def test_buckets_waste_at_most_an_eighth():
    for size in range(1, 3000):
        assert size <= padding.bucket(size) <= size * 9 / 8
    assert len({padding.bucket(size) for size in range(1, 3000)}) < 80


def test_padding_says_what_is_real():
    rng = np.random.default_rng(0)
    mask = np.array([[True, False], [False, False], [False, True]])
    tables = [Dataset(("a", "b"), rng.normal(size=(3, 2)), mask), Dataset(("a",), rng.normal(size=(4, 1)))]
    batch = padding.pad(tables, d=3)
    assert batch.values.shape == (2, 4, 3) and batch.values.dtype == jnp.float32
    np.testing.assert_allclose(batch.values[0, :3, :2], tables[0].values, rtol=1e-6)
    np.testing.assert_array_equal(batch.interventions[0, :3, :2], mask)
    np.testing.assert_array_equal(batch.rows, [[1, 1, 1, 0], [1, 1, 1, 1]])
    np.testing.assert_array_equal(batch.columns, [[1, 1, 0], [1, 0, 0]])
    assert not jax.device_get(batch.values)[~np.asarray(batch.rows[:, :, None] & batch.columns[:, None])].any()


def test_groups_hold_each_table_once_and_only_alike_ones():
    sizes = [(100, 5), (100, 30), (99, 5), (100, 5), (1000, 5)]
    tables = [Dataset(tuple(map(str, range(d))), np.zeros((n, d))) for n, d in sizes]
    assert list(padding.groups(tables, cells=1000)) == [[0, 2], [3], [1], [4]]
    assert list(padding.groups(tables, cells=1000, exact=True)) == [[0, 3], [1], [2], [4]]
