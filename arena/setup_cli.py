"""The commands `arena env` and `arena checkpoint`: what methods need that pip does not bring.

Nothing is downloaded without --yes. Everything but the argument parser is imported when a command needs it.
"""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

environments = typer.Typer(
    name="env", help="Environments of methods whose dependencies clash with ours.", no_args_is_help=True
)
checkpoints = typer.Typer(name="checkpoint", help="Published weights of pretrained methods.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="As listed.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do download it.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


@environments.command("list")
def list_environments(json: Json = False) -> None:
    """List the environments, and which of them are built."""
    from methods.environments import names

    rows = [
        {"name": name, "built": env.ready, "packages": len(env.requirements) + len(env.no_deps), "size": env.size,
         "licence": env.licence, "folder": str(env.folder), "command": "" if env.ready else env.command}
        for name, env in names().items()
    ]  # fmt: skip
    _print(rows, json)


@environments.command("build")
def build_environment(name: Name, yes: Yes = False) -> None:
    """Build an environment from pinned requirements, with uv where that is installed, else with venv and pip."""
    from methods.environments import get

    environment = get(name)
    if environment.ready:
        _say(f"{environment.folder} is there")
        return
    count = len(environment.requirements) + len(environment.no_deps)
    what = ", ".join(environment.no_deps or environment.requirements)
    _ask(yes, f"{count} packages for {what}: {environment.size}, {environment.licence}, to {environment.folder}",
         environment.command)  # fmt: skip
    environment.build(_say)
    _say(f"{environment.folder} is ready")


@environments.command("remove")
def remove_environment(name: Name) -> None:
    """Delete an environment."""
    from methods.environments import get

    environment = get(name)
    _say(f"{environment.folder} is removed" if environment.remove() else f"{environment.folder} is not there")


@checkpoints.command("list")
def list_checkpoints(json: Json = False) -> None:
    """List the published weights that methods read, and which of them are here."""
    from methods.registry import checkpoints as known

    rows = []
    for name, (checkpoint, readers) in known().items():
        state = "ready" if checkpoint.ready else "fetched" if checkpoint.fetched else "absent"
        rows.append(
            {"name": name, "state": state, "methods": ", ".join(readers), "size": checkpoint.size,
             "licence": checkpoint.licence, "source": checkpoint.files[0][1], "folder": str(checkpoint.folder),
             "command": "" if checkpoint.ready else checkpoint.command}
        )  # fmt: skip
    _print(rows, json)


@checkpoints.command("fetch")
def fetch_checkpoint(name: Name, yes: Yes = False) -> None:
    """Download published weights, and convert them where that needs no trust."""
    from methods.convert import convert
    from methods.fetch import fetch

    checkpoint = _checkpoint(name)
    if checkpoint.ready:
        _say(f"{checkpoint.folder} is there")
        return
    if not checkpoint.fetched:
        known = checkpoint.hashes()
        lines = [
            f"{url} (SHA-256 {known.get(file, 'not known: what comes is recorded')})" for file, url in checkpoint.files
        ]
        _ask(yes, "\n".join([*lines, f"{checkpoint.size}, {checkpoint.licence}, to {checkpoint.published}"]),
             checkpoint.command)  # fmt: skip
        fetch(checkpoint, _say)
    convert(checkpoint)
    _say(f"{checkpoint.folder} is ready")


@checkpoints.command("convert")
def convert_checkpoint(
    name: Name,
    file: Annotated[Path | None, typer.Argument(help="The published file; the fetched one if omitted.")] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Unpickle it whatever is in it: that may run any code.")
    ] = False,
) -> None:
    """Make safetensors of a published file."""
    from methods.convert import convert

    _say(f"{convert(_checkpoint(name), file, trust=trust)} is ready")


def _checkpoint(name: str) -> Any:
    from arena.errors import MethodError
    from methods.registry import checkpoints as known

    found = known()
    if name not in found:
        raise MethodError(f"unknown checkpoint '{name}'; checkpoints are {', '.join(found) or 'none'}")
    return found[name][0]


def _ask(yes: bool, what: str, command: str) -> None:
    """Go on only if the person has said so."""
    _say(what)
    if not yes:
        _say(f"Nothing was downloaded. To do it: {command}")
        raise typer.Exit(1)


def _say(text: str) -> None:
    """A remark for the person; standard output is kept for results."""
    print(text, file=sys.stderr)


def _print(rows: list[dict[str, Any]], as_json: bool) -> None:
    import json

    if as_json:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    for row in rows:
        print(row["name"])
        for key, value in row.items():
            if key != "name" and value != "":
                print(f"  {key:9} {value}")
