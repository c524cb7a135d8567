"""Rows of runs and whole toy runs, written by hand."""

import json

import numpy as np
import pandas as pd

from eval.run import Run
from eval.store import FILENAME, Store

NEEDED = ("seed", "data_hash", "settings", "versions", "started", "finished")


def row(method, scenario, f1, *, family="synthetic", split="obs", replicate=0, shd=None, factors=None, **more):
    """One row; `f1` None is a fit that timed out."""
    done = f1 is not None
    shd = (1 - f1) * 10 if done and shd is None else shd
    status = "completed" if done else "timed_out"
    factors = json.dumps(factors or {})
    cells = {"f1": f1, "shd": shd, "precision": f1, "recall": f1} if done else {}
    return {
        "family": family, "scenario": scenario, "split": split, "replicate": replicate, "method": method, "control": 0,
        "status": status, "factors": factors, "d": 3, "data_hash": f"{scenario}-{split}-{replicate}",
        "f1": np.nan, "shd": np.nan, "precision": np.nan, "recall": np.nan,
        "seconds_load": 0.0, "seconds_fit": 1.0 if done else np.nan, **cells, **more,
    }  # fmt: skip


def table(*rows):
    return pd.DataFrame(list(rows))


def line(frame, **where):
    """The one line of a table with these values."""
    for name, value in where.items():
        frame = frame[frame[name].isna()] if value is pd.NA else frame[frame[name] == value]
    assert len(frame) == 1, frame
    return frame.iloc[0]


def store_run(folder, scenarios, answers, rows=()):
    """A run directory with these scenarios and graphs.

    Args:
        scenarios: id -> (about, truth `[d, d]`).
        answers: (scenario, method, replicate) -> adjacency `[d, d]`.
        rows: Further columns of the rows of `answers`, in their order.
    """
    from eval.metrics import score

    folder.mkdir(parents=True, exist_ok=True)
    with Store(folder / FILENAME, write=True) as store:
        for name, (about, truth) in scenarios.items():
            store.add_scenario(name, "synthetic", {**about, "truth": truth.tolist()})
        for (name, method, replicate), adjacency in answers.items():
            about, truth = scenarios[name]
            filled = {"family": "synthetic", "scenario": name, "split": "obs", "replicate": replicate, "method": method,
                      "control": int(method == "floor"), "status": "completed", "reason": "", "detail": "",
                      "d": len(truth), "n": 100, "factors": json.dumps(about["factors"]), "seconds_load": 0.5,
                      "seconds_fit": 1.0, **dict.fromkeys(NEEDED, "0"), "seed": 0}  # fmt: skip
            filled |= {key: value.item() for key, value in score(truth, adjacency).items()}
            store.add(filled, {"truth": truth, "adjacency": adjacency, "native": None, "scores": None})
    return Run.open(folder)


def edges(d, *pairs):
    graph = np.zeros((d, d), np.int8)
    for i, j in pairs:
        graph[i, j] = 1
    return graph
