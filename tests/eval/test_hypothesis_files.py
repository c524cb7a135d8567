"""What `arena judge` and `arena simulate` write: whole files, through links, nothing else harmed or left behind."""

import json
import os

import pytest

from arena import SCMSpec, hypotheses_cli, outputs
from arena.errors import DataError
from eval.hypotheses import files
from eval.hypotheses.proposals import Variable, read_all
from eval.hypotheses.simulator import Simulator

ROOT = {"family": "gaussian", "mean": 0.0, "scale": 1.0}
ONE = SCMSpec.from_dict({"name": "one", "nodes": [{"name": "y", "root": ROOT}], "outcome": "y"})


def listing(folder):
    return sorted(path.name for path in folder.iterdir())


def test_links_are_followed_and_modes_are_kept(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "old.json").write_text("old")
    os.chmod(tmp_path / "real" / "old.json", 0o600)
    (tmp_path / "link.json").symlink_to("real/old.json")
    (tmp_path / "new.json").symlink_to("real/new.json")
    outputs.write(tmp_path, {"link.json": b"1", "new.json": b"2", "plain.json": b"3"})
    assert (tmp_path / "link.json").is_symlink() and (tmp_path / "real" / "old.json").read_bytes() == b"1"
    assert (tmp_path / "real" / "old.json").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "new.json").is_symlink() and (tmp_path / "real" / "new.json").read_bytes() == b"2"
    assert listing(tmp_path) == ["link.json", "new.json", "plain.json", "real"]
    assert listing(tmp_path / "real") == ["new.json", "old.json"]


def fifo(path):
    os.mkfifo(path)


def folder(path):
    path.mkdir()


def link_to_a_fifo(path):
    os.mkfifo(path.with_name("fifo"))
    path.symlink_to("fifo")


def link_to_itself(path):
    path.symlink_to(path.name)


def below_a_file(path):
    path.parent.rmdir()
    path.parent.write_text("a file")


def long_name(path):
    return path.with_name(300 * "x")


WRONG = {
    fifo: "no regular file", folder: "is a folder", link_to_a_fifo: "no regular file",
    link_to_itself: "link that leads to itself", below_a_file: "is no folder", long_name: "name too long",
}  # fmt: skip


@pytest.mark.parametrize("make", WRONG)
def test_what_cannot_be_written_is_refused_before_anything_runs(make, tmp_path, monkeypatch):
    ran = []
    monkeypatch.setattr(hypotheses_cli, "_simulator", lambda spec, seed: ran.append(spec))
    (tmp_path / "claims.json").write_text("[]")
    (tmp_path / "out").mkdir()
    out = make(tmp_path / "out" / "report.json") or tmp_path / "out" / "report.json"
    before = {path: path.lstat().st_ino for path in tmp_path.rglob("*")}
    with pytest.raises(DataError, match=f"(?i)cannot write to .*{WRONG[make]}"):
        hypotheses_cli.judge(tmp_path / "spec.json", tmp_path / "claims.json", out)
    assert not ran and {path: path.lstat().st_ino for path in tmp_path.rglob("*")} == before


@pytest.mark.parametrize("units", [999, 1_000_001, 10**12])
def test_units_have_limits_that_are_checked_first(units, tmp_path):
    with pytest.raises(DataError, match=rf"{units} units .* expected 1000 to 1000000"):
        hypotheses_cli.judge(tmp_path / "no spec", tmp_path / "no claims", None, units=units)


def test_a_failed_write_leaves_nothing_behind(tmp_path, monkeypatch):
    (tmp_path / "a").write_text("old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(outputs.os, "chmod", full)
    with pytest.raises(DataError, match="No space left"):
        outputs.write(tmp_path, {"a": b"1", "b": b"2"})
    assert listing(tmp_path) == ["a"] and (tmp_path / "a").read_text() == "old"


def test_a_simulation_is_refused_before_it_is_made(tmp_path):
    (tmp_path / "meta.json").mkdir()
    with pytest.raises(DataError, match="meta.json: it is a folder"):
        files.write_simulation(Simulator(ONE), 10, tmp_path)
    assert listing(tmp_path) == ["meta.json"]


@pytest.mark.parametrize("number", ["9" * 5000, "-" + "9" * 5000, "1e400", "9" * 400])
def test_a_number_beyond_all_limits_is_the_fault_of_its_proposal(number, tmp_path):
    good = {"variable": "o", "form": "categorical_level", "level": 1}
    text = json.dumps([good, good]).replace('"level": 1', f'"level": {number}', 1)
    (tmp_path / "claims.json").write_text(text)
    bad, kept = read_all(files.read_proposals(tmp_path / "claims.json"), {"o": Variable("ordinal", (0.0, 1.0))}, "y")
    assert "field 'level'" in bad.reason and len(bad.reason) < 300 and kept.level == 1.0
