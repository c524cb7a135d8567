"""Quality rules of one table (paper A.2): each measures something and says whether it is within its limit."""

from collections.abc import Callable

import numpy as np

from arena.dataset import Dataset
from arena.errors import DataError

MAX_CATEGORY_SHARE = 0.99
MAX_CORRELATION = 0.99
# What a candidate's calibration sample may have, so that its other samples stay below the limit.
CANDIDATE_CORRELATION = 0.975
# A continuous column is near-constant when its SD is below this share of its largest magnitude.
MIN_RELATIVE_SD = 1e-6
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
    for name, column in zip(dataset.names, dataset.values.T, strict=True):
        categories, counts = np.unique(column, return_counts=True)
        if 1 < len(categories) <= MAX_CATEGORIES and (categories == np.round(categories)).all():
            shares[name] = counts.max() / len(column)
    if not shares:
        return None
    worst = max(shares, key=lambda name: shares[name])
    measured = f"'{worst}' {100 * shares[worst]:.1f} % of rows in one category"
    return measured, f"at most {100 * MAX_CATEGORY_SHARE:g} %", bool(shares[worst] <= MAX_CATEGORY_SHARE)


def no_duplicate_pair(dataset: Dataset, limit: float = MAX_CORRELATION) -> Verdict:
    """No two columns correlate above 0.99 in magnitude."""
    values = dataset.values.astype(np.float64)
    varying = np.flatnonzero(values.std(axis=0) > 0)
    if len(varying) < 2:
        return None
    correlation = np.abs(np.corrcoef(values[:, varying], rowvar=False))
    np.fill_diagonal(correlation, 0.0)
    a, b = (int(varying[i]) for i in np.unravel_index(correlation.argmax(), correlation.shape))
    measured = f"'{dataset.names[a]}', '{dataset.names[b]}' correlation {correlation.max():.4f}"
    return measured, f"at most {limit}", bool(correlation.max() <= limit)


RULES: dict[str, Callable[[Dataset], Verdict]] = {
    "no_constant_continuous": no_constant_continuous,
    "no_dominant_category": no_dominant_category,
    "no_duplicate_pair": no_duplicate_pair,
}


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


def _told(name: str, verdict: Verdict) -> str | None:
    return None if verdict is None or verdict[2] else f"{name}: {verdict[0]}"
