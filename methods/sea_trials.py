"""SEA's trials: FCI on random rows of a few variables, many times, each written down as one token a pair.

Sampling follows the published program. Half of the trials draw variables uniformly, half by the size of their entry in
the precision matrix of a fresh sample of rows; both shun pairs that earlier trials looked at.
"""

import contextlib
import dataclasses
import io
import warnings

import numpy as np

from methods.precision import precision_matrix

# Token of a pair by causal-learn's marks at i and j: -1 tail, 0 no edge, 1 arrowhead, 2 circle. Token 0 is "not looked
# at". Other combinations do not occur in the published vocabulary.
TOKENS = {(0, 0): 1, (-1, 1): 2, (1, -1): 3, (1, 1): 4, (1, 2): 5, (2, 1): 6, (2, 2): 7}


@dataclasses.dataclass(frozen=True)
class Trials:
    """What SEA's network reads.

    Attributes:
        tokens: `[t, p]` int64, one row a trial, 0 where a trial did not look at a pair.
        pairs: `[p, 2]` int64, the ordered pairs of variables that any trial looked at, sorted.
        statistics: `[d, d]`, the precision matrix of the rows of one trial.
        failed: Trials that gave no graph and were left out.
        reason: Why the first of them failed, None if none did.
    """

    tokens: np.ndarray
    pairs: np.ndarray
    statistics: np.ndarray
    failed: int
    reason: str | None


def run_trials(values: np.ndarray, rng: np.random.Generator, *, batches: int, rows: int, variables: int) -> Trials:
    """Draw and run the trials on a table `[n, d]` with at least `rows` rows and `variables` columns.

    Raises:
        RuntimeError: If FCI gave no graph in any trial.
    """
    chosen, statistics = _draw(values, rng, batches, rows, variables)
    outcomes = [_marks(values[np.ix_(units, nodes)]) for units, nodes in chosen]
    reasons = [outcome for outcome in outcomes if isinstance(outcome, str)]
    found = [(nodes, out) for (_, nodes), out in zip(chosen, outcomes, strict=True) if not isinstance(out, str)]
    if not found:
        raise RuntimeError(f"FCI gave no graph in any of {batches} trials; the first: {reasons[0]}")
    tokens, pairs = _side_by_side(found)
    return Trials(tokens, pairs, statistics, len(reasons), reasons[0] if reasons else None)


def _draw(
    values: np.ndarray, rng: np.random.Generator, batches: int, rows: int, variables: int
) -> tuple[list[tuple[np.ndarray, np.ndarray]], np.ndarray]:
    """The rows and variables of each trial, and the precision matrix of the last one that was drawn uniformly."""
    n, d = values.shape
    visits = np.zeros((d, d))
    others = 1.0 - np.eye(d)
    chosen = []
    statistics = np.zeros((d, d))
    for by_precision in (False, True):
        for _ in range(batches // 2):
            units = rng.choice(n, rows, replace=False)
            weights = others
            if by_precision:
                weights = others * np.abs(precision_matrix(values[rng.choice(n, rows, replace=False)]))
            nodes = _draw_variables(weights / np.sqrt(1 + visits), variables, rng)
            visits[np.ix_(nodes, nodes)] += 1
            chosen.append((units, nodes))
        if not by_precision:
            statistics = precision_matrix(values[chosen[-1][0]])
    return chosen, statistics


def _draw_variables(weights: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Distinct variables one after the other, each in proportion to its weights with those already drawn."""
    drawn: list[int] = []
    for _ in range(size):
        p = weights[drawn].sum(axis=0) if drawn else weights.sum(axis=0)
        p[drawn] = 0.0
        drawn.append(int(rng.choice(len(p), p=p / p.sum())))
    return np.array(drawn)


def _marks(table: np.ndarray) -> np.ndarray | str:
    """FCI's endpoint marks `[k, k]` on a table `[n, k]`, or why there are none."""
    from causallearn.search.ConstraintBased.FCI import fci

    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            graph, _ = fci(table, "fisherz", 0.05, depth=-1, max_path_length=-1, verbose=False, show_progress=False)
        except Exception as error:  # the library fails on some tables, in no documented way
            return " ".join(f"{type(error).__name__}: {error}".split())
    marks = np.asarray(graph.graph).astype(int)  # pyright: ignore[reportAttributeAccessIssue]
    for i, j in zip(*np.nonzero(~np.eye(len(marks), dtype=bool)), strict=True):
        if (marks[i, j], marks[j, i]) not in TOKENS:
            return f"marks {marks[i, j]} and {marks[j, i]} on one edge, which SEA's network does not know"
    return marks


def _side_by_side(found: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """The tokens `[t, p]` and pairs `[p, 2]` from the variables `[k]` and marks `[k, k]` of each trial."""
    i, j = np.nonzero(~np.eye(len(found[0][0]), dtype=bool))
    looked_at = np.stack([np.stack([nodes[i], nodes[j]], axis=1) for nodes, _ in found])
    pairs, place = np.unique(looked_at.reshape(-1, 2), axis=0, return_inverse=True)
    tokens = np.zeros((len(found), len(pairs)), np.int64)
    for trial, (columns, (_, marks)) in enumerate(zip(place.reshape(len(found), -1), found, strict=True)):
        tokens[trial, columns] = [TOKENS[m] for m in zip(marks[i, j].tolist(), marks[j, i].tolist(), strict=True)]
    return tokens, pairs.astype(np.int64)
