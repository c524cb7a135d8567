"""`run` for what a person types: a suite, a public table or a folder, and the names of methods."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from arena import generate as generation
from arena import sources, suites
from arena.dataset import SPLITS
from arena.errors import ArenaError, SourceError
from arena.scenario import Scenario
from arena.selection import Selection
from eval import runner
from eval.options import budgets, check_executor, check_limits, check_splits
from eval.run import Run


def run(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    methods: runner.Methods,
    *,
    out: str | os.PathLike[str],
    select: Selection | None = None,
    on_generate: Callable[[generation.Progress], Any] | None = None,
    **options: Any,
) -> Run:
    """Run methods on a source, or on several, and keep the results in `out`.

    Args:
        source: A suite's name (its tables are made below `out` first), `real:NAME`, `real`, a scenario directory, a
            folder of a table with a graph, or a folder of those.
        methods: Names, `Method`s, or functions from a table `[n, d]` to a matrix `[d, d]`; or a single one.
        out: The run directory; the same call again goes on where it stopped.
        select: Which part of the source.
        on_generate: Told of each scenario of a suite when it is written.
        options: The other arguments of `eval.runner.run`: splits, timeout, memory, jobs, retry, executor ...

    Raises:
        SourceError: If a source is unknown or its data cannot be had.
        RunError: If an option is out of range, `out` holds other results, or there is nothing to run.
        MethodError: If a method is unknown.
    """
    select, chosen = select or Selection(), runner.resolve(methods)
    check_splits(options.get("splits", SPLITS))  # all this before tables are made for nothing
    check_limits(**{name: options[name] for name in ("jobs", "timeout", "memory", "batch") if name in options})
    budgets(options.get("timeout"), chosen)
    check_executor(options.get("executor", "local"), options.get("address"))
    several = [source] if isinstance(source, str | os.PathLike) else list(source)
    found = [s for one in several for s in scenarios(one, Path(out) / "data", select, on_generate)]
    return runner.run(found, chosen, out=Path(out), replicates=select.replicates, seed=select.seed, **options)


def scenarios(
    source: str | os.PathLike[str],
    data: Path,
    select: Selection,
    on_generate: Callable[[generation.Progress], Any] | None = None,
) -> list[Scenario]:
    """The scenarios of one source; a suite's are made below the folder `data`."""
    if os.fspath(source) not in suites.SUITES:
        return list(sources.scenarios(source, select, suites=sorted(suites.SUITES)))
    folder = data / os.fspath(source)
    paths = generation.generate(os.fspath(source), folder, select, progress=on_generate)
    return [sources.open_scenario(path) for path in paths]


def demo_sources() -> tuple[list[str], str]:
    """What `arena demo` runs on, and why Sachs is not in it, if so."""
    from arena import real

    try:
        real.load("sachs")
    except SourceError as error:
        return ["mini"], str(error)
    except ArenaError as error:  # it is there, and damaged: that must be seen
        raise SourceError(f"the demo cannot use Sachs: {error}") from error
    return ["mini", "real:sachs"], ""
