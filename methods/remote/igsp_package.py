"""IGSP of the package graphical-model-learning; what our own is compared to, not a method of the arena."""

import random

import numpy as np
from conditional_independence import (
    MemoizedCI_Tester,
    MemoizedInvarianceTester,
    gauss_invariance_suffstat,
    gauss_invariance_test,
    partial_correlation_suffstat,
    partial_correlation_test,
)
from graphical_model_learning import gsp, igsp


def run(arrays, settings, seed):
    """The DAG of each problem: `<name>.values` [n, d] and `<name>.mask` [n, d] -> `<name>` [d, d]."""
    names = sorted({key.rpartition(".")[0] for key in arrays})
    answers = {}
    for name in names:
        random.seed(seed)
        np.random.seed(seed)
        answers[name] = _dag(arrays[f"{name}.values"], arrays[f"{name}.mask"], settings)
    return answers, {}


def _dag(values, mask, settings):
    groups, group = np.unique(mask, axis=0, return_inverse=True)
    tables = [values[group.ravel() == e] for e in range(len(groups))]
    targets = [np.flatnonzero(row).tolist() for row in groups]
    assert not targets[0], "rows without a target come first"
    nodes = set(range(values.shape[1]))
    ci = MemoizedCI_Tester(partial_correlation_test, partial_correlation_suffstat(tables[0]), alpha=settings["alpha"])
    search = {"depth": settings["depth"], "nruns": settings["runs"]}
    if len(tables) == 1:
        return gsp(nodes, ci, **search).to_amat()[0].astype(np.int8)
    moments = gauss_invariance_suffstat(tables[0], tables[1:])
    invariance = MemoizedInvarianceTester(gauss_invariance_test, moments, alpha=settings["alpha_inv"])
    setting_list = [{"interventions": target} for target in targets[1:]]
    return igsp(setting_list, nodes, ci, invariance, **search).to_amat()[0].astype(np.int8)
