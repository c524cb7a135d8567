"""Quality rules of tables (paper A.2): each measures something and says whether it is within its limit."""

from collections.abc import Callable, Iterable

import numpy as np

from arena.dataset import Dataset
from arena.errors import DataError
from arena.sortability import path_lengths

MAX_CATEGORY_SHARE = 0.99
MAX_CORRELATION = 0.99
# What a candidate's calibration sample may have, so that its other samples stay below the limit.
CANDIDATE_CORRELATION = 0.987
# A continuous column is near-constant when its SD is below this share of its largest magnitude.
MIN_RELATIVE_SD = 1e-6
# Largest share of rows at one end of a continuous column.
MAX_BOUNDARY_SHARE = 0.1
# A target that was set in fewer rows says nothing by itself: a discrete one may have had that value anyway.
MIN_TARGET_ROWS = 10
# A column is discrete when so large a share of its rows has one of its 20 most frequent values.
NEARLY_ALL = 0.9
# A column of integers with at most this many different values is taken to be discrete.
MAX_CATEGORIES = 20

#: What a rule returns: measured, limit, ok; None where it does not apply.
Verdict = tuple[str, str, bool] | None


def no_constant_continuous(dataset: Dataset) -> Verdict:
    """No continuous column, nor one that holds a single value, is constant or nearly so."""
    values = dataset.values.astype(np.float64)
    scale = np.abs(values).max(axis=0)
    relative = values.std(axis=0) / np.where(scale > 0, scale, 1.0)
    worst = int(np.argmin(relative))
    ok = bool(relative[worst] >= MIN_RELATIVE_SD)
    return f"'{dataset.names[worst]}' relative SD {relative[worst]:.2g}", f"at least {MIN_RELATIVE_SD:g}", ok


def no_dominant_category(dataset: Dataset) -> Verdict:
    """No discrete column has one category in more than 99 % of rows."""
    shares = {}
    for j in np.flatnonzero((dataset.values == np.round(dataset.values)).all(axis=0)):
        categories, counts = np.unique(dataset.values[:, j], return_counts=True)
        if 1 < len(categories) <= MAX_CATEGORIES:
            shares[dataset.names[j]] = counts.max() / dataset.n
    if not shares:
        return None
    worst = max(shares, key=lambda name: shares[name])
    measured = f"'{worst}' {100 * shares[worst]:.1f} % of rows in one category"
    return measured, f"at most {100 * MAX_CATEGORY_SHARE:g} %", bool(shares[worst] <= MAX_CATEGORY_SHARE)


def no_duplicate_pair(dataset: Dataset, limit: float = MAX_CORRELATION) -> Verdict:
    """No two columns correlate above 0.99 in magnitude."""
    values = dataset.values.astype(np.float64)
    varying = np.flatnonzero(np.ptp(values, axis=0) > 0)
    if len(varying) < 2:
        return None
    centred = values[:, varying] - values[:, varying].mean(axis=0)
    centred /= np.abs(centred).max(axis=0)
    covariance = centred.T @ centred
    deviation = np.sqrt(np.diag(covariance))
    correlation = np.abs(covariance / np.outer(deviation, deviation))
    np.fill_diagonal(correlation, 0.0)
    a, b = (int(varying[i]) for i in np.unravel_index(correlation.argmax(), correlation.shape))
    measured = f"'{dataset.names[a]}', '{dataset.names[b]}' correlation {correlation.max():.4f}"
    return measured, f"at most {limit}", bool(correlation.max() <= limit)


def no_boundary_mass(dataset: Dataset) -> Verdict:
    """No continuous column has more than 10 % of its rows at its least, or at its greatest, value.

    A column is discrete where a few values make up nearly all rows: the others may have been lost and filled. Rows in
    which something was set do not count.
    """
    values = dataset.values[~dataset.mask.any(axis=1)]
    if not len(values):
        return None
    low, high = (values == values.min(axis=0)).mean(axis=0), (values == values.max(axis=0)).mean(axis=0)
    share = np.maximum(low, high)
    for j in np.flatnonzero(share > MAX_BOUNDARY_SHARE):
        counts = np.unique(values[:, j], return_counts=True)[1]
        if np.sort(counts)[-MAX_CATEGORIES:].sum() >= NEARLY_ALL * len(values):
            share[j] = 0.0
    worst = int(np.argmax(share))
    measured = f"'{dataset.names[worst]}' {100 * share[worst]:.1f} % of rows at one end"
    return measured, f"at most {100 * MAX_BOUNDARY_SHARE:g} %", bool(share[worst] <= MAX_BOUNDARY_SHARE)


RULES: dict[str, Callable[[Dataset], Verdict]] = {
    "no_constant_continuous": no_constant_continuous,
    "no_dominant_category": no_dominant_category,
    "no_boundary_mass": no_boundary_mass,
    "no_duplicate_pair": no_duplicate_pair,
}


def plain_rows_agree(obs: Dataset, mixed: Dataset, stressed: bool) -> Verdict:
    """Rows of `obs_int` in which nothing was set are the rows of `obs` at the same places."""
    plain = ~mixed.mask.any(axis=1)
    differ = int((mixed.values[plain] != obs.values[plain]).any(axis=1).sum())
    return f"{differ} of {int(plain.sum())} rows differ", "all alike", differ == 0


def targets_change(obs: Dataset, mixed: Dataset, stressed: bool) -> Verdict:
    """Every target has other values where it was set than the same units have where it was not."""
    changed = (mixed.values != obs.values) & mixed.mask
    still = [mixed.names[j] for j in _telling(mixed) if not changed[:, j].any()]
    ok = not still and bool(changed.any() or not mixed.mask.any())
    return _quoted(still) or ("all change" if ok else "none changes"), "a changed row for each target", ok


def descendants_change(obs: Dataset, mixed: Dataset, stressed: bool) -> Verdict:
    """Where targets have descendants, some of these changed in some of the rows in which the targets were set.

    Not for each target: a small change may leave a descendant with few levels where it is.
    """
    reaches, changed = _reachability(mixed.truth), mixed.values != obs.values
    passed_on = {
        mixed.names[j]: bool(changed[np.ix_(mixed.mask[:, j], reaches[j])].any())
        for j in np.flatnonzero(mixed.mask.any(axis=0) & reaches.any(axis=1))
    }
    found = f"{sum(passed_on.values())} of {len(passed_on)} targets passed it on"
    return found, "at least one", any(passed_on.values()) or not passed_on


def others_stay(obs: Dataset, mixed: Dataset, stressed: bool) -> Verdict:
    """What is neither a target of a row nor a descendant of one has the value that the unit has without it.

    Not where what is measured is stressed at random.
    """
    if stressed:
        return None
    reached = mixed.mask | (mixed.mask.astype(np.float32) @ _reachability(mixed.truth).astype(np.float32) > 0)
    moved = np.flatnonzero(((mixed.values != obs.values) & ~reached).any(axis=0))
    return _quoted([mixed.names[j] for j in moved]) or "none moved", "unchanged", not len(moved)


#: Rules of two matched splits, whose rows are the same units. `stressed`: what is measured changes at random.
PAIR_RULES: dict[str, Callable[[Dataset, Dataset, bool], Verdict]] = {
    "plain_rows_agree": plain_rows_agree,
    "targets_change": targets_change,
    "descendants_change": descendants_change,
    "others_stay": others_stay,
}


def _telling(mixed: Dataset) -> np.ndarray:
    """Columns that were set in enough rows."""
    return np.flatnonzero(mixed.mask.sum(axis=0) >= MIN_TARGET_ROWS)


def _reachability(adjacency: np.ndarray) -> np.ndarray:
    """`[d, d]` bool, whether there is a directed path of one or more edges from i to j."""
    return path_lengths(adjacency) > 0


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def problem(values: np.ndarray) -> str | None:
    """The first rule that a candidate's table `[n, d]` fails, with what was measured; None if it passes all."""
    try:
        dataset = Dataset(tuple(f"#{j}" for j in range(values.shape[1])), values)
    except DataError as error:
        return str(error)
    return fault(dataset) or _told("no_duplicate_pair", no_duplicate_pair(dataset, CANDIDATE_CORRELATION))


def fault(dataset: Dataset) -> str | None:
    """The first rule that a table fails, with what was measured; None if it passes all."""
    return next(filter(None, (_told(name, rule(dataset)) for name, rule in RULES.items())), None)


def pair_fault(obs: Dataset, mixed: Dataset, stressed: bool) -> str | None:
    """The first rule that two matched splits fail; otherwise as `fault`."""
    told = (_told(name, rule(obs, mixed, stressed)) for name, rule in PAIR_RULES.items())
    return fault(obs) or fault(mixed) or next(filter(None, told), None)


def _told(name: str, verdict: Verdict) -> str | None:
    return None if verdict is None or verdict[2] else f"{name}: {verdict[0]}"
