"""The command `arena analyze`. Everything but the argument parser is imported when it is used."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

Run = Annotated[Path, typer.Argument(help="Run directory.")]
What = Annotated[str | None, typer.Option(help="Names, comma-separated, or all; without it they are listed.")]
Format = Annotated[str, typer.Option(help="table, csv, md or json.")]
Other = Annotated[Path | None, typer.Option(help="The later run, for deltas.")]
Options = Annotated[list[str] | None, typer.Option("--set", help="NAME=VALUE of an option, as often as needed.")]


def analyze(run: Run, what: What = None, format: Format = "table", other: Other = None, set: Options = None) -> None:
    """Print analyses of a run: slices, win rates, interactions, frontier, prior coverage, Elo, errors and more."""
    from arena.errors import RunError
    from eval.analysis import ANALYSES
    from eval.analysis.registry import get
    from eval.analysis.render import FORMATS, parse_options
    from eval.run import Run

    if format not in FORMATS:
        raise RunError(f"unknown format '{format}'; formats are {', '.join(FORMATS)}")
    source = Run.open(run)
    if what is None:
        for name, analysis in ANALYSES.items():
            print(f"{name:13} {analysis.title} ({analysis.source})")
        return
    options: dict[str, Any] = parse_options(set or [])
    if other is not None:
        options["other"] = Run.open(other)
    everything = what.strip() == "all"
    names = list(ANALYSES) if everything else [name.strip() for name in what.split(",") if name.strip()]
    chosen = [get(name) for name in dict.fromkeys(names)]
    if not chosen:
        raise RunError(f"--what names no analysis; it is one or several of {', '.join(ANALYSES)}, or all")
    for option in options:
        if not any(option in analysis.options for analysis in chosen):
            known = {name: None for analysis in chosen for name in analysis.options}
            raise RunError(f"no analysis in '{what}' has the option '{option}'; they have {', '.join(known) or 'none'}")
    if format == "csv" and len(chosen) > 1:
        raise RunError("a CSV holds one table; choose one analysis, or --format json")
    _print(_tables(source, chosen, options, everything), format)


def _tables(source: Any, chosen: list[Any], options: dict[str, Any], everything: bool) -> dict[str, Any]:
    from arena.errors import RunError
    from eval.analysis import analyze as run_one

    rows, tables = source.rows(), {}
    for analysis in chosen:
        own = {name: value for name, value in options.items() if name in analysis.options}
        if everything and not set(analysis.required()) <= set(own):
            continue
        try:
            tables[analysis.name] = run_one(source if analysis.needs_run else rows, analysis.name, **own)
        except RunError as error:
            if not everything:
                raise
            print(f"{analysis.name}: {error}", file=sys.stderr)
    if not tables:
        raise RunError("the run has nothing that these analyses need")
    return tables


def _print(tables: dict[str, Any], format: str) -> None:
    from eval.analysis import ANALYSES
    from eval.analysis.render import to_csv, to_json, to_md, to_table

    if format == "json":
        print(to_json(tables), end="")
    elif format == "csv":
        print(to_csv(next(iter(tables.values()))), end="")
    elif format == "md":
        print(to_md({name: (ANALYSES[name].title, table) for name, table in tables.items()}), end="")
    else:
        from rich.console import Console

        console = Console(highlight=False)
        if not console.is_terminal:
            console.width = 200  # a file or a pipe has no width of its own
        for name, table in tables.items():
            console.print(to_table(f"{name}: {ANALYSES[name].title} ({ANALYSES[name].source})", table))
