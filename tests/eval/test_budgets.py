"""Budgets by method, and reduced configurations: asked for, recorded, never mixed up with full ones."""

import dataclasses
import json
from typing import ClassVar

import pandas as pd
import pytest
from toys import InlineWorker, Toy, ToyScenario

from arena.errors import RunError
from eval import launch
from eval.aggregate import leaderboard
from eval.options import TIMEOUT, budgets, check_limits, parse_budgets
from eval.run import Run
from eval.runner import run
from eval.store import KEY
from methods.base import Outcome, Status


@dataclasses.dataclass(frozen=True)
class Slow(Toy):
    """Has a reduced configuration."""

    name: str = "slow"
    size: int = 100
    reduced: ClassVar[dict] = {"size": 3}


class OutOfBudget(InlineWorker):
    """Full configurations run out of time on obs, out of memory on obs_int; others do not."""

    limits: ClassVar[list] = []

    def fit(self, method, dataset, *, seed, timeout):
        self.limits.append((method.name, timeout))
        if isinstance(method, Slow) and method.size == 3:
            assert seed not in self.__dict__.setdefault("seeds", set())
        elif method.name != "toy":
            if dataset.split == "obs":
                return Outcome(Status.timed_out, "the fit took more than 1 s", detail="the end of what it printed")
            return Outcome(Status.failed, "out of memory: 5 GiB used")
        return super().fit(method, dataset, seed=seed, timeout=timeout)


METHODS = [Slow(), Toy(), Toy(name="stays")]


def go(out, methods=METHODS, **options):
    return run([ToyScenario()], methods, out=out, worker=OutOfBudget, **options)


def test_budgets_by_method(tmp_path):
    OutOfBudget.limits.clear()
    done = go(tmp_path, timeout={"slow": 5.0, "toy": None})
    assert set(OutOfBudget.limits) == {("slow", 5.0), ("toy", None), ("stays", TIMEOUT)}
    (start,) = done.provenance()["starts"]
    assert {name: about["timeout"] for name, about in start["methods"].items()} == {
        "slow": 5.0,
        "toy": None,
        "stays": 3600.0,
    }
    assert start["timeout"] == {"slow": 5.0, "toy": None}


def test_budgets_that_cannot_be(tmp_path):
    with pytest.raises(RunError, match="a budget is given for 'pc', which is not run; methods are slow, toy, stays"):
        go(tmp_path / "run", timeout={"pc": 5.0})
    with pytest.raises(RunError, match="timeout of 'toy' must be a positive number of seconds.*found -1"):
        go(tmp_path / "run", timeout={"toy": -1})
    with pytest.raises(RunError, match="a budget is given for 'pc'"):
        launch.run("mini", [Toy()], out=tmp_path / "run", timeout={"pc": 5.0})
    assert not (tmp_path / "run").exists()
    check_limits(timeout={"a": None, "b": 3})
    assert budgets(7.0, ["a", "b"]) == {"a": 7.0, "b": 7.0}


@pytest.mark.parametrize("text", ["pc", "pc=", "=5", "pc=5=x", "pc=ten"])
def test_what_is_no_budget(text):
    with pytest.raises(RunError, match="is not METHOD=SECONDS, as in pc=600,cdis=7200"):
        parse_budgets(text)


def test_budgets_as_they_are_typed():
    assert parse_budgets("pc=600, a=b=0.5,") == {"pc": 600.0, "a=b": 0.5} and parse_budgets(None) == {}


def test_reduced_fits_are_asked_for_and_marked(tmp_path):
    before = go(tmp_path).rows().set_index(list(KEY))
    assert (before.xs("slow", level="method")["status"] != "completed").all()
    events = []
    done = go(tmp_path, reduced=True, progress=events.append)
    assert [event.total for event in events] == [4] * 5 and events[-1].done == 4
    rows = done.rows().set_index(list(KEY))
    slow = rows.xs("slow", level="method")
    assert set(slow["status"]) == {"completed"} and set(slow["reduced"]) == {1} and slow["f1"].notna().all()
    assert set(slow["settings"].map(lambda text: json.loads(text)["size"])) == {3}
    assert set(slow.xs("obs", level="split")["detail"]) == {"timed_out: the fit took more than 1 s"}
    assert set(slow.xs("obs_int", level="split")["detail"]) == {"failed: out of memory: 5 GiB used"}
    assert (slow["seed"] == before.xs("slow", level="method")["seed"]).all()
    # Nothing else is touched: neither what completed, nor what has no reduced configuration.
    others = rows.index.get_level_values("method") != "slow"
    pd.testing.assert_frame_equal(rows[others], before[others])
    assert set(rows.loc[others, "reduced"]) == {0}
    assert done.provenance()["starts"][1]["reduced"] is True

    board = leaderboard(done.rows()).set_index(["family", "split", "method"])["reduced"]
    assert board[("toy", "obs", "slow")] == 2 and board[("all", "avg", "slow")] == 4
    assert board[("toy", "obs", "toy")] == 0

    # The run goes on without the flag, and does not reduce twice.
    after = go(tmp_path).rows().set_index(list(KEY))
    pd.testing.assert_frame_equal(after, rows)
    go(tmp_path, reduced=True, progress=events.append)
    assert (events[-1].done, events[-1].total) == (0, 0)
    pd.testing.assert_frame_equal(Run.open(tmp_path).rows().set_index(list(KEY)), rows)
    more = run([ToyScenario(), ToyScenario("toy/b")], METHODS, out=tmp_path, worker=OutOfBudget).rows()
    pd.testing.assert_frame_equal(more[more["scenario"] == "toy/a"].set_index(list(KEY)), rows)


def test_a_reduced_row_stands_only_for_what_reduces_to_it(tmp_path):
    go(tmp_path), go(tmp_path, reduced=True)

    @dataclasses.dataclass(frozen=True)
    class Other(Slow):
        reduced: ClassVar[dict] = {"size": 4}

    with pytest.raises(RunError, match="other settings for toy/a"):
        go(tmp_path, methods={"slow": Other()})
    with pytest.raises(RunError, match=r"other settings for toy/a .*now no reduced configuration\)"):
        go(tmp_path, methods={"slow": Slow(size=3)})
    with pytest.raises(RunError, match="ask for one of them"):
        go(tmp_path, retry=True, reduced=True)
    # What is tried again is tried in full.
    rows = Run.open(tmp_path).rows()
    assert (rows["reduced"] == 1).sum() == 4
    go(tmp_path, retry=True)
    pd.testing.assert_frame_equal(Run.open(tmp_path).rows().query("method == 'slow'"), rows.query("method == 'slow'"))


def test_what_a_method_is_reduced_to():
    assert Slow().as_reduced() == Slow(size=3) and Slow(mode="empty").as_reduced() == Slow(size=3, mode="empty")
    assert Slow(size=3).as_reduced() is None and Toy().as_reduced() is None
