"""The command `arena`. Everything but the argument parser is imported when a command needs it.

Exit codes: 0 done; 1 the input is wrong, one line says how; 2 the arguments are wrong; 3 the command ran and what it
found is bad (a failed audit, a run without a single score); 130 interrupted.
"""

import os
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import typer

from arena.analyze_cli import analyze
from arena.console import console, interruptible, print_json, print_table, progress_bar, say, split_names
from arena.hypotheses_cli import judge, simulate
from arena.setup_cli import checkpoints, environments

app = typer.Typer(
    name="arena",
    help="Simulate causal worlds, run discovery methods on them, read who recovers the graph.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

app.command()(simulate)
app.command()(judge)
app.add_typer(environments)
app.add_typer(checkpoints)
app.command()(analyze)

EXIT_ERROR, EXIT_BAD_RESULT = 1, 3
DEMO_METHODS = "random_regress,pc,gies,lingam"

Suite = Annotated[str | None, typer.Option(help="Name of a suite.")]
Families = Annotated[str | None, typer.Option(help="Only these SCM families, comma-separated.")]
MaxD = Annotated[int | None, typer.Option(min=1, help="Only SCMs with at most so many variables.")]
Limit = Annotated[int | None, typer.Option(min=1, help="At most so many SCMs.")]
Replicates = Annotated[int | None, typer.Option(min=1, help="Tables of each split.")]
Seed = Annotated[int, typer.Option(min=0, help="Another seed: other SCMs, tables and method randomness.")]
Jobs = Annotated[int, typer.Option(min=1, help="Workers at a time.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Run directory.")] = Path("runs/demo"),
    jobs: Jobs = 2,
) -> None:
    """Run four methods and the floors on a small suite, print the leaderboard, write the report."""
    from eval.launch import demo_sources

    sources, absent = demo_sources()
    _execute(sources, DEMO_METHODS, out, jobs=jobs, timeout=120.0)
    _report(out, "table", None)
    if absent:
        say(f"Without real data: {absent}", "dim")


@app.command()
def generate(
    out: Annotated[Path, typer.Option(help="Folder to write to; goes on where it stopped.")],
    suite: Annotated[str, typer.Option(help="Name of a suite: mini, main, sample-size, protocols.")] = "mini",
    protocol: Annotated[
        str | None, typer.Option(help="How rows are intervened on (paper A.2), if not as the suite says.")
    ] = None,
    scaling: Annotated[
        Literal["paper", "internal"], typer.Option(help="What is standardised inside the SCMs.")
    ] = "paper",
    families: Families = None,
    max_d: MaxD = None,
    limit: Limit = None,
    replicates: Replicates = None,
    seed: Seed = 0,
    jobs: Jobs = 2,
) -> None:
    """Write a suite, or a part of it, as scenario directories."""
    from arena.generate import generate as write
    from arena.selection import Selection

    select = Selection(split_names(families), max_d, limit, replicates, seed)
    with interruptible() as check, progress_bar("scenarios", check) as bar:
        told = lambda event: bar(event.done, event.total, event.id)  # noqa: E731
        paths = write(suite, out, select, protocol=protocol, scaling=scaling, jobs=jobs, progress=told)
    say(f"{len(paths)} scenarios in {out}")


@app.command()
def run(
    methods: Annotated[str, typer.Option(help="Names, comma-separated; `arena methods` lists them.")],
    out: Annotated[Path, typer.Option(help="Run directory; the same command again goes on where it stopped.")],
    source: Annotated[
        str | None, typer.Argument(help="A suite, real:NAME, real, a scenario directory, or a folder of tables.")
    ] = None,
    suite: Suite = None,
    split: Annotated[str, typer.Option(help="obs, obs_int, or both, comma-separated.")] = "obs,obs_int",
    families: Families = None,
    max_d: MaxD = None,
    limit: Limit = None,
    replicates: Replicates = None,
    seed: Seed = 0,
    timeout: Annotated[float, typer.Option(min=0.001, help="Seconds that one fit may take.")] = 3600.0,
    budget: Annotated[str | None, typer.Option(help="The same by method, as in pc=600,cdis=7200.")] = None,
    memory: Annotated[float, typer.Option(min=0.25, help="GiB that one worker may use.")] = 4.0,
    jobs: Jobs = 1,
    batch: Annotated[int, typer.Option(min=1, help="Tables that a batched method gets at once.")] = 16,
    retry: Annotated[bool, typer.Option("--retry", help="Also do again what did not complete.")] = False,
    reduced: Annotated[
        bool, typer.Option("--reduced", help="Fit again what ran out of time or memory, in reduced configurations.")
    ] = False,
    executor: Annotated[str, typer.Option(help="local, or ray.")] = "local",
    address: Annotated[str | None, typer.Option(help="Of a Ray cluster; a new one on this machine if omitted.")] = None,
    floors: Annotated[bool, typer.Option(help="Also run what shows the score of artefacts alone.")] = True,
) -> None:
    """Run methods in isolated workers and keep every result; print the leaderboard, with the floors below it."""
    import math

    from arena.errors import RunError, SourceError
    from arena.selection import Selection
    from eval.options import parse_budgets

    if (source is None) == (suite is None):
        raise SourceError("say what to run on: a source, or --suite NAME, and not both")
    if not math.isfinite(memory):
        raise RunError(f"memory is {memory} GiB; it must be a finite number")
    select = Selection(split_names(families), max_d, limit, replicates, seed)
    what = str(source or suite)
    result = _execute([what], methods, out, select=select, splits=split_names(split) or [], timeout=timeout,
             budgets=parse_budgets(budget), memory=int(memory * 2**30), jobs=jobs, batch=batch, retry=retry,
             reduced=reduced, executor=executor, address=address, floors=floors)  # fmt: skip
    _print_board(result)
    if what == "real":
        from arena.sources import absent

        for name, reason in absent(what).items():
            say(f"absent {name}: {reason}", "yellow")
    say(f"Results: {out}   Page: arena report {out}")
    rows = result.rows()
    status = rows.loc[(rows["control"] == 0) | (rows["control"].min() == 1), "status"]
    if not retry and status.isin(["failed", "timed_out", "invalid"]).any():
        say("Some fits did not complete; the same command with --retry does those again", "yellow")
    if reduced:
        say(f"Fits in reduced configurations: {int((rows['reduced'] == 1).sum())}")
    elif lost := _reducible(result):
        say(f"Fits that ran out of time or memory: {lost}; the same command with --reduced does those again", "yellow")
    if not (status == "completed").any():
        raise typer.Exit(EXIT_BAD_RESULT)


@app.command()
def report(
    run: Annotated[Path, typer.Argument(help="Run directory.")],
    format: Annotated[str, typer.Option(help="What is printed: table, csv, md, latex or json.")] = "table",
    out: Annotated[Path | None, typer.Option(help="Folder of the HTML page; the run directory if omitted.")] = None,
    published: Annotated[
        bool, typer.Option("--published", help="Show the paper's numbers beside the measured.")
    ] = False,
    figures: Annotated[bool, typer.Option(help="Make the analyses and draw them on the page.")] = True,
) -> None:
    """Print a run's leaderboard and write it as one HTML page that works offline."""
    _report(run, format, out, published, figures)


@app.command()
def methods(json: Json = False) -> None:
    """List the methods: what each can do, and whether it can run here."""
    from methods.registry import describe

    found = describe()
    if json:
        print_json(found)
        return
    columns = ("name", "title", "status", "splits", "output", "scores", "licence")
    rows = []
    for method in found:
        can = method["capabilities"]
        cells = [method["name"], method["title"], method["status"], ", ".join(can.get("splits", ()))]
        cells += [can.get("output", ""), "yes" if can.get("scores") else "no", can.get("licence", "")]
        rows.append(cells)
    print_table(columns, rows)
    for method in found:
        if method["status"] == "unsupported":
            say(f"{method['name']}: {method['reason']}", "yellow")
        for need in method["needs"]:
            run = f"; run: {need['command']}" if need["command"] else ""
            say(f"{method['name']}: {need['what']}{run}", "yellow")


@app.command()
def schema() -> None:
    """Print the JSON Schema of SCM specs."""
    from arena.spec import json_schema

    print_json(json_schema())


@app.command()
def show(
    source: Annotated[str, typer.Argument(help="formula:NAME, a spec file, or a scenario directory.")],
    html: Annotated[Path | None, typer.Option(help="Where to write it as a page with graph and histograms.")] = None,
) -> None:
    """Print the card of an SCM: what it is, its equations and variables, what can be set."""
    from arena import cards
    from arena.loading import load

    spec = load(source)
    print(cards.text(spec))
    columns = ("variable", "role", "unit", "range", "equation or distribution")
    print_table(columns, [[x.name, x.role, x.unit, x.range, x.equation] for x in cards.lines(spec)])
    if html is not None:
        from eval.card import write_card

        say(f"Page: {write_card(spec, html)}")


@app.command()
def audit(
    directory: Annotated[Path | None, typer.Argument(help="A scenario directory, or a folder of them.")] = None,
    family: Annotated[str | None, typer.Option(help="Written scenarios instead: formula.")] = None,
    only: Annotated[str | None, typer.Option(help="Of a family, only these scenarios, comma-separated.")] = None,
    verbose: Annotated[bool, typer.Option("--all", help="Print every check, not only what failed.")] = False,
    json: Json = False,
) -> None:
    """Check scenarios against the quality rules; print the failures by rule."""
    import dataclasses

    from arena.audit import audit as check
    from arena.audit import audit_family
    from arena.errors import SourceError

    if (directory is None) == (family is None):
        raise SourceError("say what to check: a folder, or --family NAME, and not both")
    findings = audit_family(family, split_names(only)) if family else check(directory)  # type: ignore[arg-type]
    failed = [finding for finding in findings if not finding.ok]
    if json:
        print_json([dataclasses.asdict(finding) for finding in findings])
    else:
        shown = sorted(findings if verbose else failed, key=lambda f: (f.rule, f.where))
        rows = [[f.rule, f.where, f.measured, f.limit, "ok" if f.ok else "failed"] for f in shown]
        if rows:
            print_table(("rule", "where", "measured", "limit", ""), rows)
        say(f"{len(findings)} checks, {len(failed)} failed")
    if failed:
        raise typer.Exit(EXIT_BAD_RESULT)


def main() -> None:
    """Entry point of the command."""
    run_command(app)


def run_command(app: typer.Typer) -> None:
    """Run a command line: errors that the input causes are one line, not a traceback."""
    from arena.errors import ArenaError

    _keep_compiled_programs()
    try:
        app()
    except ArenaError as error:
        _fail(str(error))
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        sys.stderr.close()
        raise SystemExit(0) from None
    except OSError as error:  # a full disk, a folder that may not be written
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))


def _keep_compiled_programs() -> None:
    """Tell JAX, before it is imported, to keep what it compiles: the next command starts sooner."""
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path.home() / ".cache" / "causal-arena" / "programs"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.5")


def _fail(message: str) -> NoReturn:
    print(f"error: {message}", file=sys.stderr)
    raise SystemExit(EXIT_ERROR)


def _execute(
    sources: list[str],
    methods: str,
    out: Path,
    timeout: float,
    budgets: Any = None,
    floors: bool = True,
    **options: Any,
) -> Any:
    from eval.launch import run as launch
    from methods import registry

    chosen = split_names(methods) or []
    chosen += [name for name in registry.floors() if floors and chosen and name not in chosen]
    limits = {**dict.fromkeys(chosen, timeout), **budgets} if budgets else timeout
    with interruptible() as check, progress_bar("scenarios", check) as made, progress_bar("fits", check) as fitted:

        def after_fit(event: Any) -> None:
            row = event.row
            fitted(event.done, event.total, f"{row['method']} {row['status']} {row['scenario']}" if row else "")

        return launch(
            sources, chosen, out=out, timeout=limits, command=sys.argv, progress=after_fit,
            on_generate=lambda event: made(event.done, event.total, event.id), **options,
        )  # fmt: skip


def _reducible(result: Any) -> int:
    """How many fits of a run could be done again in a reduced configuration."""
    from eval.plan import out_of_budget

    rows = result.rows()
    can = {label for label, about in result.provenance()["starts"][-1]["methods"].items() if about["reduced"]}
    rows = rows[rows["method"].isin(can) & (rows["reduced"] == 0)]
    return sum(map(out_of_budget, rows[["status", "reason"]].to_dict("records")))


def _print_board(result: Any, published: bool = False) -> None:
    from eval.report import beside, render_table

    to, board = console(), result.leaderboard()
    board = beside(board) if published else board
    to.print(render_table(board, result.failures(), width=to.width))


def _report(run: Path, format: str, out: Path | None, published: bool = False, figures: bool = True) -> None:
    from arena.errors import RunError
    from eval import report as reports
    from eval.run import Run

    if format not in reports.FORMATS:
        raise RunError(f"unknown format '{format}'; formats are {', '.join(reports.FORMATS)}")
    result, folder = Run.open(run), out or run
    folder.mkdir(parents=True, exist_ok=True)
    page = reports.write_html(result, folder / "report.html", figures=figures, published=published)
    if format == "table":
        _print_board(result, published)
    else:
        board = reports.beside(result.leaderboard()) if published else result.leaderboard()
        text = {
            "csv": lambda: reports.to_csv(board),
            "md": lambda: reports.to_md(board),
            "latex": lambda: reports.to_latex(board),
            "json": lambda: reports.to_json(board, result.failures()),
        }[format]()
        print(text, end="" if text.endswith("\n") else "\n")
    say(f"Report: {page}")
    if figures and not reports.figures_available():
        say(f"The page has no figures; run: {reports.INSTALL}", "yellow")


if __name__ == "__main__":
    main()
