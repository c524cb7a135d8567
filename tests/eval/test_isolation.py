"""Runs with real worker processes, and runs that are killed."""

import contextlib
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from toys import InlineWorker, Toy, ToyScenario

from eval.run import Run
from eval.runner import run
from eval.store import FILENAME, KEY

TIMES = ["seconds_load", "seconds_fit", "seconds_score", "started", "finished"]
HERE = Path(__file__).parent


def correlate(values):
    """A method as a user would write one."""
    return np.triu(np.corrcoef(values.T), 1)


def hang(values):
    time.sleep(60)


def test_methods_in_real_workers(tmp_path):
    scenario = ToyScenario(replicates=1)
    methods = ["random_regress", "gies", correlate, hang]
    rows = run([scenario], methods, out=tmp_path, timeout=1.5, jobs=2).rows().set_index(["method", "split"])
    status = rows["status"].to_dict()
    assert status[("random_regress", "obs")] == status[("correlate", "obs")] == "completed"
    assert status[("gies", "obs")] in ("completed", "unsupported")  # an optional package
    assert status[("hang", "obs")] == "timed_out" and "1.5 s" in rows.loc[("hang", "obs"), "reason"]
    assert status[("correlate", "obs_int")] == status[("hang", "obs_int")] == "unsupported"
    assert 1.5 <= rows.loc[("hang", "obs"), "seconds_fit"] < 5
    if status[("gies", "obs_int")] == "completed":
        assert rows.loc["gies"]["cpdag_shd"].notna().all()


def spoils(values):
    """A method that leaves everything in another state than it found it."""
    import os

    os.environ["OMP_NUM_THREADS"] = "7"
    np.corrcoef = lambda *_: 1 / 0
    np.seterr(all="raise")
    return np.zeros((values.shape[1],) * 2)


def innocent(values):
    import os

    assert os.environ["OMP_NUM_THREADS"] == "1" and np.geterr()["invalid"] == "warn"
    return correlate(values)


def test_a_method_does_not_suffer_from_another(tmp_path):
    rows = run([ToyScenario(splits=("obs",))], [spoils, innocent, correlate], out=tmp_path).rows()
    assert set(rows["status"]) == {"completed"}, rows["detail"].tolist()


def test_an_interrupt_ends_a_fit_in_progress(tmp_path):
    def interrupt(event):
        if event.row is not None:
            raise KeyboardInterrupt

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run([ToyScenario(replicates=1)], [hang, correlate], out=tmp_path, progress=interrupt, jobs=2)
    assert time.monotonic() - start < 20
    assert set(Run.open(tmp_path).rows()["method"]) <= {"hang", "correlate"}


SCRIPT = textwrap.dedent(
    """
    import sys
    sys.path.insert(0, {here!r})
    from toys import Toy, ToyScenario
    from eval.runner import run
    scenarios = [ToyScenario("toy/" + name, replicates=8) for name in "abc"]
    run(scenarios, [Toy(sleep=0.08), Toy(name="fails", mode="raise", sleep=0.08)], out={out!r}, jobs=2)
    """
)


def count(path):
    """Rows as another process sees them."""
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=0.05)) as db:
            return db.execute("SELECT count(*) FROM rows").fetchone()[0]
    except sqlite3.OperationalError:  # not created yet, or locked
        return 0


def test_a_killed_run_loses_and_repeats_no_finished_row(tmp_path):
    """SIGKILL at five seeded moments; the run is then finished and equals one that was never stopped."""
    out, rng = tmp_path / "killed", np.random.default_rng(0)
    total, before = 3 * 2 * 8 * 2, None
    script = SCRIPT.format(here=str(HERE), out=str(out))
    for kill in range(5):
        process = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE)
        aim = (0 if before is None else len(before)) + int(rng.integers(1, 8))
        deadline = time.monotonic() + 60
        while count(out / FILENAME) < aim and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(float(rng.uniform(0, 0.05)))
        process.send_signal(signal.SIGKILL)
        _, errors = process.communicate()
        assert process.returncode == -signal.SIGKILL, errors.decode()

        after = Run.open(out).rows()
        assert aim <= len(after) < total, f"kill {kill}"
        # Equal to the last microsecond of their time stamps: kept, not done again.
        if before is not None:
            pd.testing.assert_frame_equal(after.merge(before[list(KEY)], on=list(KEY)), before)
        before = after

    subprocess.run([sys.executable, "-c", script], check=True)
    final = Run.open(out).rows()
    assert len(final) == total and not final.duplicated(list(KEY)).any()
    assert before is not None
    pd.testing.assert_frame_equal(final.merge(before[list(KEY)], on=list(KEY)), before)

    scenarios = [ToyScenario("toy/" + name, replicates=8) for name in "abc"]
    methods = [Toy(sleep=0.08), Toy(name="fails", mode="raise", sleep=0.08)]
    straight = run(scenarios, methods, out=tmp_path / "straight", worker=InlineWorker).rows()
    ignored = [*TIMES, "detail"]  # a traceback names where it was called from
    pd.testing.assert_frame_equal(final.drop(columns=ignored), straight.drop(columns=ignored))
