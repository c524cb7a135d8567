"""The commands `arena simulate` and `arena judge`: data for hypotheses, and verdicts on them.

Everything but the argument parser is imported when a command needs it.
"""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

Spec = Annotated[Path, typer.Argument(help="A spec with an outcome (JSON).")]
Seed = Annotated[int, typer.Option(min=0, help="Another seed: other units of the same world.")]


def simulate(
    spec: Spec,
    out: Annotated[Path, typer.Option(help="Folder to write to.")],
    n: Annotated[int, typer.Option(min=1, help="Number of rows.")] = 40_000,
    seed: Seed = 0,
) -> None:
    """Write the dataset of a spec, the roles and types of its columns, and its answer key."""
    from eval.hypotheses.files import write_simulation

    _say(", ".join(map(str, write_simulation(_simulator(spec, seed), n, out).values())))


def judge(
    spec: Spec,
    proposals: Annotated[
        Path, typer.Argument(help="Structured proposals: a list in a JSON file. With --parse, texts.")
    ],
    out: Annotated[Path | None, typer.Option(help="Where to write the report (JSON).")] = None,
    units: Annotated[int, typer.Option(min=1000, help="Units of each experiment.")] = 40_000,
    seed: Seed = 0,
    parse: Annotated[bool, typer.Option("--parse", help="Have a language model read free text as claims.")] = False,
    provider: Annotated[str | None, typer.Option(help="Whose model reads: anthropic, bedrock or openai.")] = None,
    model: Annotated[str | None, typer.Option(help="Which model of the provider; a small one if omitted.")] = None,
    replies: Annotated[Path | None, typer.Option(help="File of its replies; those in it are not asked for.")] = None,
    html: Annotated[Path | None, typer.Option(help="Where to write a page for readers (HTML).")] = None,
) -> None:
    """Judge proposals by experiments; print the scores, write every verdict with its numbers."""
    from arena.errors import ProviderError
    from arena.outputs import target, write
    from eval.hypotheses import files
    from eval.hypotheses.evaluate import Judge
    from eval.hypotheses.experiments import check_units

    for path in filter(None, (out, html)):
        target(path)
    check_units(units)
    simulator, parsed = _simulator(spec, seed), None
    if parse:
        from eval.hypotheses.parse import parse_file

        parsed = parse_file(proposals, simulator.meta(units), provider, model, replies)
        _say(parsed.summary())
        claims: Any = parsed.claims
    elif provider or model or replies:
        raise ProviderError("--provider, --model and --replies are about free text; expected --parse beside them")
    else:
        claims = files.read_proposals(proposals)
    judged = Judge(simulator, units)
    report = judged.report(claims)
    if parsed is not None:
        report = parsed.beside(report)
    print(f"recall            {report.family_recall:.3f}  of {len(report.recoveries)} plants")
    print(f"confirmed recall  {report.confirmed_recall:.3f}")
    print(f"claim precision   {report.claim_precision:.3f}  of {len(report.verdicts)} proposals")
    print(f"directional       {report.directional_precision:.3f}")
    for warning in report.warnings():
        _say(f"warning: {warning}")
    if out is not None:
        written = write(out.parent, {out.name: files.as_json(report.as_json())})
        _say(f"Verdicts: {written[out.name]}")
    if html is not None:
        from eval.hypotheses.page import write_html

        _say(f"Page: {write_html(judged, report, claims, html)}")


def _simulator(spec: Path, seed: int) -> Any:
    import arena
    from eval.hypotheses.simulator import Simulator

    return Simulator(arena.load(spec), seed=seed).auto_calibrate()


def _say(text: str) -> None:
    print(text, file=sys.stderr)
