"""Published weights: fetched once, verified, converted without running what is in them."""

import argparse
import hashlib
import io
import json
import os
import pickle
import sys
import types
from collections import namedtuple
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
from typer.testing import CliRunner

from arena.cli import app
from arena.errors import MethodError
from methods import checkpoints, fetch
from methods.base import Capabilities
from methods.checkpoints import Checkpoint
from methods.convert import convert, converter
from methods.fetch import fetch as bring
from methods.needs import needs
from methods.registry import checkpoints as registered
from methods.unpickle import Refused, load

PUBLISHED = Checkpoint(
    "toy",
    files=(("settings.json", "https://example.org/settings.json"), ("toy.pkl", "https://example.org/toy.pkl")),
    size="1 kB",
    licence="MIT",
)
WEIGHTS = {"layer": np.arange(6.0, dtype=np.float32).reshape(2, 3)}


def read(loaded):
    """The converter of `toy`."""
    return {"layer": loaded["layer"].T}, {"width": loaded["settings.json"]["width"]}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ARENA_CHECKPOINTS", str(tmp_path / "cache"))
    monkeypatch.setitem(checkpoints.CONVERTERS, "toy", f"{__name__}:read")
    monkeypatch.setitem(sys.modules, __name__, sys.modules[read.__module__])
    return tmp_path / "cache"


@pytest.fixture
def web(monkeypatch):
    """What is found under each address."""
    pages = {
        "https://example.org/settings.json": b'{"width": 3}',
        "https://example.org/toy.pkl": pickle.dumps(WEIGHTS),
    }

    def opened(url):
        fetch._must_be_https(url)
        if url not in pages:
            raise OSError("connection refused")
        return io.BytesIO(pages[url])

    monkeypatch.setattr(fetch, "_open", opened)
    return pages


class Malicious:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"echo run > {self.path}",)


def test_fetch_then_convert(web, cache):
    assert PUBLISHED.folder == cache / "toy" and PUBLISHED.command == "arena checkpoint fetch toy --yes"
    with pytest.raises(MethodError, match="checkpoint 'toy' not found .*run: arena checkpoint fetch toy"):
        PUBLISHED.require()
    bring(PUBLISHED)
    assert PUBLISHED.fetched and not PUBLISHED.ready and PUBLISHED.command == "arena checkpoint convert toy"
    convert(PUBLISHED)
    folder = PUBLISHED.require()
    np.testing.assert_array_equal(load_file(folder / "model.safetensors")["layer"], WEIGHTS["layer"].T)
    assert json.loads((folder / "config.json").read_text()) == {"width": 3}
    with safe_open(folder / "model.safetensors", "numpy") as file:
        digest = hashlib.sha256(web["https://example.org/toy.pkl"]).hexdigest()
        assert file.metadata() == {"source": "toy.pkl", "sha256": digest}
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "model.safetensors", "published"]


def test_what_was_seen_once_must_come_again(web):
    bring(PUBLISHED)
    first = PUBLISHED.hashes()
    assert first["toy.pkl"] == hashlib.sha256(web["https://example.org/toy.pkl"]).hexdigest()
    (PUBLISHED.published / "toy.pkl").unlink()
    web["https://example.org/toy.pkl"] += b"!"
    with pytest.raises(MethodError, match=f"toy.pkl has SHA-256 .*, expected {first['toy.pkl']}; .*lock.json"):
        bring(PUBLISHED)
    assert not PUBLISHED.fetched and PUBLISHED.hashes() == first
    assert sorted(path.name for path in PUBLISHED.published.iterdir()) == ["lock.json", "settings.json"]


def test_a_pinned_hash_is_verified_at_fetch_and_at_conversion(web, tmp_path):
    digest = hashlib.sha256(web["https://example.org/toy.pkl"]).hexdigest()
    pinned = Checkpoint("toy", PUBLISHED.files, "1 kB", "MIT", sha256=(("toy.pkl", digest),))
    web["https://example.org/toy.pkl"] += b"!"
    with pytest.raises(MethodError, match=f"expected {digest}"):
        bring(pinned)
    assert not (pinned.published / "toy.pkl").exists()
    other = tmp_path / "renamed.pkl"
    other.write_bytes(web["https://example.org/toy.pkl"])
    with pytest.raises(MethodError, match=f"expected {digest}"):
        convert(pinned, other)


def test_a_published_file_that_was_changed_on_disk(web):
    bring(PUBLISHED)
    with (PUBLISHED.published / "toy.pkl").open("ab") as file:
        file.write(b"!")
    for again in (bring, convert):
        with pytest.raises(MethodError, match="toy.pkl has SHA-256"):
            again(PUBLISHED)


def test_only_https(monkeypatch):
    plain = Checkpoint("toy", (("toy.pkl", "http://example.org/toy.pkl"),), "1 kB", "MIT")
    with pytest.raises(MethodError, match="http://example.org/toy.pkl is not fetched: only https is"):
        bring(plain)
    with pytest.raises(MethodError, match="only https"):
        fetch._HttpsOnly().redirect_request(None, None, 302, "", {}, "http://example.org/toy.pkl")


def test_an_address_that_does_not_answer(web):
    del web["https://example.org/toy.pkl"]
    with pytest.raises(MethodError, match="https://example.org/toy.pkl cannot be fetched: connection refused"):
        bring(PUBLISHED)
    assert not PUBLISHED.fetched


def test_the_folder_is_whole_or_as_before(web, monkeypatch):
    bring(PUBLISHED)
    convert(PUBLISHED)
    before = (PUBLISHED.folder / "model.safetensors").read_bytes()
    monkeypatch.setattr("safetensors.numpy.save_file", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        convert(PUBLISHED)
    assert (PUBLISHED.folder / "model.safetensors").read_bytes() == before
    assert sorted(path.name for path in PUBLISHED.folder.iterdir()) == ["config.json", "model.safetensors", "published"]


def test_a_companion_that_is_missing(tmp_path):
    path = tmp_path / "toy.pkl"
    path.write_bytes(pickle.dumps(WEIGHTS))
    with pytest.raises(MethodError, match="settings.json: there is no such file; it is published with the weights"):
        convert(PUBLISHED, path)
    (tmp_path / "settings.json").write_text('{"width": 5}')
    convert(PUBLISHED, path)
    assert json.loads((PUBLISHED.folder / "config.json").read_text()) == {"width": 5}


def test_what_is_published_as_safetensors_is_kept(web):
    plain = Checkpoint(
        "plain",
        files=(
            ("config.json", "https://example.org/settings.json"),
            ("model.safetensors", "https://example.org/model"),
        ),
        size="1 kB",
        licence="MIT",
        pickled=False,
    )
    path = Path(os.environ["ARENA_CHECKPOINTS"]) / "here.safetensors"
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(WEIGHTS, path)
    web["https://example.org/model"] = path.read_bytes()
    bring(plain)
    convert(plain)
    np.testing.assert_array_equal(load_file(plain.require() / "model.safetensors")["layer"], WEIGHTS["layer"])
    assert json.loads((plain.folder / "config.json").read_text()) == {"width": 3}


def malicious(kind: str, folder: Path) -> Path:
    """A file with arrays and a call of `os.system`, as pickle or as PyTorch writes it."""
    content = {"layer": WEIGHTS["layer"], "x": Malicious(folder / "proof")}
    if kind == "pickle":
        (folder / "toy.pkl").write_bytes(pickle.dumps(content))
        return folder / "toy.pkl"
    torch = pytest.importorskip("torch")
    torch.save(content, folder / "toy.pt", _use_new_zipfile_serialization=kind == "torch")
    return folder / "toy.pt"


@pytest.mark.parametrize("kind", ["pickle", "torch", "torch before 1.6"])
def test_a_malicious_pickle_is_not_executed(kind, tmp_path):
    path, proof = malicious(kind, tmp_path), tmp_path / "proof"
    with pytest.raises(
        MethodError, match=r"it holds \w+.system. If you trust .*: arena checkpoint convert toy .*--trust"
    ):
        convert(PUBLISHED, path)
    assert not proof.exists() and not PUBLISHED.ready

    (tmp_path / "settings.json").write_text('{"width": 3}')
    convert(PUBLISHED, path, trust=True)
    assert proof.exists() and PUBLISHED.ready, "with trust it is unpickled whatever it is"


def test_a_plain_pickle_that_is_called_a_file_of_torch(tmp_path):
    path = tmp_path / "toy.ckpt"
    path.write_bytes(pickle.dumps({"x": Malicious(tmp_path / "proof")}))
    with pytest.raises(Refused, match="was not unpickled, since that may run code: Unsupported operand"):
        load(path)
    assert not (tmp_path / "proof").exists()


@pytest.mark.parametrize(
    "payload",
    [
        b"cbuiltins\neval\n(S'1'\ntR.",
        b"cbuiltins\ngetattr\n(cbuiltins\ndict\nS'fromkeys'\ntR.",
        b"cnumpy\nload\n(S'x'\ntR.",
        b"cnumpy.testing._private.utils\nrunstring\n(S'1'\ntR.",
        b"cjax\njit\n(S'x'\ntR.",
        b"csubprocess\nPopen\n(S'true'\ntR.",
        b"cnumpy\ndtype\n(S'O8'\nI00\nI01\ntR.",
        b"cnumpy\ndtype\n(S'V8'\nI00\nI01\ntR.",
        b"cnumpy\ndtype\n(S'f8'\nI00\nI01\ntR(I3\nS'|'\nN(S'a'\nt(dI-1\nI-1\nI0\ntb.",
        b"cnumpy\nndarray\n((I9\ntS'O'\ntR.",
    ],
)
def test_what_else_a_pickle_may_not_call(payload, tmp_path):
    path = tmp_path / "model.pkl"
    path.write_bytes(payload)
    with pytest.raises(Refused, match="was not unpickled, since that may run code"):
        load(path)


class Reduced:
    """Pickled as a call and a state."""

    def __init__(self, *parts):
        self.parts = parts

    def __reduce__(self):
        return self.parts


@pytest.mark.parametrize("suffix", [".pkl", ".pt"])
@pytest.mark.parametrize("flags", [0, 63])
def test_bytes_do_not_become_pointers(suffix, flags, tmp_path):
    """An array of objects whose dtype says that it holds none: NumPy would take the bytes for addresses."""
    dtype = Reduced(np.dtype, ("O8", False, True), (3, "|", None, None, None, -1, -1, flags))
    make = np.zeros(1).__reduce__()[0]
    array = Reduced(make, (np.ndarray, (0,), b"b"), (1, (1,), dtype, False, b"A" * 8))
    path = tmp_path / f"model{suffix}"
    path.write_bytes(pickle.dumps({"params": {"w": array}}, protocol=2))
    if suffix == ".pt":
        pytest.importorskip("torch")
    with pytest.raises(MethodError, match="was not unpickled|cannot be read"):
        load(path)


def test_arrays_and_containers_are_unpickled(tmp_path):
    content = {
        "float": np.arange(3.0),
        "fortran": np.asfortranarray(np.arange(6, dtype=np.int8).reshape(2, 3)),
        "scalar": np.float32(2.5),
        "jax": jnp.arange(4),
        "list": [1, "two", None, (3.0, {4})],
    }
    path = tmp_path / "model.pkl"
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        path.write_bytes(pickle.dumps(content, protocol))
        found = load(path)
        for name in ("float", "fortran", "scalar", "jax"):
            assert isinstance(found[name], np.ndarray | np.generic)
            np.testing.assert_array_equal(found[name], np.asarray(content[name]))
        assert found["list"] == content["list"]


def test_the_training_state_of_avici_is_read_without_its_package(tmp_path, monkeypatch):
    """The pickle names `amortibs.backbone.ModelState`, Haiku's mapping and Optax's states; none of them is imported."""
    fields = ["step", "rng", "opt_state", "params", "dual", "dual_penalty_polyak", "ave_params"]
    state, adam = namedtuple("ModelState", fields), namedtuple("ScaleByAdamState", ["count", "mu"])  # noqa: PYI024
    flat = type("FlatMapping", (dict,), {"__reduce__": lambda self: (flat, (dict(self),))})
    params = {"BaseModel/linear": {"w": np.ones((2, 3), np.float32), "b": np.zeros(3, np.float32)}}
    places = {state: "amortibs.backbone", adam: "optax._src.transform", flat: "haiku._src.data_structures"}
    content = state(
        np.int32(7), np.zeros(2, np.uint32), (adam(np.int32(1), flat(params)),), flat(params), 0.0, 0.0, None
    )
    path = tmp_path / "checkpoint_0300000.pkl"
    with monkeypatch.context() as patch:
        for kind, place in places.items():
            kind.__module__, kind.__qualname__ = place, kind.__name__
            for end in range(1, place.count(".") + 2):
                module = ".".join(place.split(".")[:end])
                patch.setitem(sys.modules, module, types.ModuleType(module))
            setattr(sys.modules[place], kind.__name__, kind)
        path.write_bytes(pickle.dumps(content))
    found = load(path)
    assert list(found) == fields and found["step"] == 7
    np.testing.assert_array_equal(found["params"]["BaseModel/linear"]["w"], np.ones((2, 3)))
    assert type(found["params"]).__module__ == "methods.unpickle" and "amortibs.backbone" not in sys.modules


def test_lightning_checkpoints_need_no_trust(tmp_path):
    torch = pytest.importorskip("torch")
    path = tmp_path / "model.ckpt"
    saved = {"args": argparse.Namespace(embed_dim=4, rate=np.float64(0.5))}
    torch.save(
        {"state_dict": {"w": torch.ones(2)}, "hyper_parameters": saved, "callbacks": {"best": np.float32(1.5)}}, path
    )
    found = load(path)
    assert found["hyper_parameters"]["args"].embed_dim == 4 and found["callbacks"]["best"] == 1.5


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("model.pkl", b"not a pickle", "cannot be read"),
        ("model.pt", b"not a pickle", "cannot be read"),
        ("model.pt", b"<!DOCTYPE html>", "cannot be read"),
        ("model.ckpt", b"version https://git-lfs.github.com/spec/v1", "cannot be read"),
        ("model.safetensors", b"nothing", "cannot be read"),
        ("model.pkl", pickle.dumps([1, 2]), "holds list, expected a mapping"),
    ],
)
def test_damaged_files(name, content, message, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(MethodError, match=message):
        load(path)
    with pytest.raises(MethodError, match="no such file"):
        load(tmp_path / "absent.pkl")


def test_nothing_to_convert():
    with pytest.raises(MethodError, match="no such file; run: arena checkpoint fetch toy"):
        convert(PUBLISHED)
    unknown = Checkpoint("unheard_of", PUBLISHED.files, "1 kB", "MIT")
    with pytest.raises(MethodError, match="no method here knows its layout"):
        converter(unknown)


def test_what_a_method_needs():
    found = needs(Capabilities(environment="no_such", checkpoint=PUBLISHED))
    assert [need.kind for need in found] == ["environment", "checkpoint"]
    assert str(found[1]) == "needs checkpoint 'toy' (1 kB, MIT); run: arena checkpoint fetch toy --yes"


def test_every_checkpoint_of_a_method_can_be_converted():
    known = registered()
    for checkpoint, _ in known.values():
        assert callable(converter(checkpoint)) and checkpoint.size and checkpoint.licence
        assert all(url.startswith("https://") for _, url in checkpoint.files)


def test_the_commands():
    def arena(*arguments: str):
        return CliRunner().invoke(app, ["checkpoint", *arguments])

    listed = {row["name"]: row for row in json.loads(arena("list", "--json").stdout)}
    assert listed["avici-scm-v0"]["state"] == "absent" and "avici_package" in listed["avici-scm-v0"]["methods"]
    assert "arena checkpoint fetch avici-scm-v0 --yes" in arena("list").stdout
    asked = arena("fetch", "avici-scm-v0")
    assert asked.exit_code == 1 and "arena checkpoint fetch avici-scm-v0 --yes" in asked.stderr
    assert all(text in asked.stderr for text in ("https://", "60 MB", "MIT", "SHA-256"))
    assert not Path(os.environ["ARENA_CHECKPOINTS"]).exists()
    unknown = arena("convert", "x").exception
    assert isinstance(unknown, MethodError) and "unknown checkpoint 'x'" in str(unknown)


def test_fetching_by_command_converts_where_that_needs_no_trust(web, tmp_path, monkeypatch):
    monkeypatch.setattr("methods.registry.checkpoints", lambda: {"toy": (PUBLISHED, ["nobody"])})
    done = CliRunner().invoke(app, ["checkpoint", "fetch", "toy", "--yes"])
    assert done.exit_code == 0 and PUBLISHED.ready and "ready" in done.stderr
    again = CliRunner().invoke(app, ["checkpoint", "fetch", "toy"])
    assert again.exit_code == 0 and "is there" in again.stderr


def test_converting_by_command_asks_for_trust(tmp_path, monkeypatch):
    monkeypatch.setattr("methods.registry.checkpoints", lambda: {"toy": (PUBLISHED, ["nobody"])})
    path = tmp_path / "toy.pkl"
    path.write_bytes(pickle.dumps(WEIGHTS | {"x": Malicious(tmp_path / "proof")}))
    (tmp_path / "settings.json").write_text('{"width": 3}')
    refused = CliRunner().invoke(app, ["checkpoint", "convert", "toy", str(path)])
    assert isinstance(refused.exception, MethodError) and not (tmp_path / "proof").exists()
    assert CliRunner().invoke(app, ["checkpoint", "convert", "toy", str(path), "--trust"]).exit_code == 0
    assert (tmp_path / "proof").exists()
