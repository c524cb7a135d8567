"""Many tables in one call of a method, by the steps of `methods.fit`; what goes wrong is left for single fits."""

import time
from collections.abc import Callable, Sequence

import jax

from arena.dataset import Dataset
from methods.base import Estimate, Method, Outcome, Status
from methods.fit import checked, preserved, refusal, restored, seeded, too_few
from methods.preflight import Preflight, prepared


def fit_batch(
    method: Method,
    datasets: Sequence[Dataset],
    keys: Sequence[jax.Array],
    *,
    on_begin: Callable[[], None] = lambda: None,
) -> list[Outcome | None]:
    """Fit a method on many tables by one `predict_batch`.

    Every table goes through `preflight` by itself. What the method draws from global generators follows from the first
    key.

    Args:
        method: As for `methods.fit.fit`, and `batched`.
        datasets: The callers' tables; neither modified nor shown with their graphs.
        keys: A typed JAX key for each.
        on_begin: Called when loading is over and the method's own time starts.

    Returns:
        For each table the outcome that `methods.fit.fit` would have, with its share of the time; or None where that
        cannot be known from here: the call failed (then for all that were in it), or its answer for this table is not
        valid.
    """
    outcomes: list[Outcome | None] = [None] * len(datasets)
    start = time.perf_counter()
    try:
        with preserved():
            method.prepare()
    except Exception:
        return outcomes
    ready: dict[int, tuple[Dataset, Preflight]] = {}
    can = method.capabilities
    for place, dataset in enumerate(datasets):
        reason = refusal(method, dataset)
        if reason:
            outcomes[place] = Outcome(Status.unsupported, reason)
            continue
        made = prepared(dataset, can)
        if made.dataset is None:
            outcomes[place] = Outcome(Status.unsupported, too_few(made))
        else:
            ready[place] = made.dataset, made
    if not ready:
        return outcomes
    load = (time.perf_counter() - start) / len(ready)

    on_begin()
    start = time.perf_counter()
    chosen = [keys[place] for place in ready]
    try:
        with seeded(chosen[0]):
            answers = method.predict_batch([dataset for dataset, _ in ready.values()], chosen)
    except (Exception, SystemExit):
        return outcomes
    share = (time.perf_counter() - start) / len(ready)
    if not isinstance(answers, Sequence) or len(answers) != len(ready):
        return outcomes
    for (place, (dataset, made)), answer in zip(ready.items(), answers, strict=True):
        try:
            estimate: Estimate = checked(answer, dataset.names, can.output)
        except ValueError:
            continue
        seconds = {"load": load, "fit": share}
        found = restored(estimate, made)
        outcomes[place] = Outcome(Status.completed, estimate=found, seconds=seconds, batch=len(ready))
    return outcomes
