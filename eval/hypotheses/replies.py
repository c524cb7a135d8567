"""Recorded replies: which claim a model read from each text, in a file that a report can be repeated from."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from arena.errors import DataError
from arena.outputs import write
from arena.spec_errors import first_error
from eval.hypotheses.files import as_json, read_json
from eval.hypotheses.proposals import Proposal, Rejection
from mechanisms.parameters import Data, Many


class Reply(Data, frozen=True):
    """One text with what became of it: a claim, or the reason why there is none."""

    text: str
    claim: dict[str, Any] | None = None
    rejected: str | None = None


class Replies(Data, frozen=True):
    """The content of a file of replies.

    Attributes:
        model: Who replied, as `provider:model`.
        outcome: The variable that the texts are about.
        columns: Type of every column that the model was told of.
        replies: One for each text.
    """

    model: str
    outcome: str
    columns: dict[str, str]
    replies: Many[Reply]


def columns(meta: Mapping[str, Any]) -> dict[str, str]:
    """Type of every column of a `meta.json`."""
    return {column["name"]: column["type"] for column in meta["columns"]}


def read(path: str | os.PathLike[str], meta: Mapping[str, Any], model: str | None) -> Replies | None:
    """The replies in a file; None if there is no such file yet, or no reply in it.

    Args:
        model: Who is to reply; None where whoever is recorded is right.

    Raises:
        DataError: If the file is no file of replies, or has those of another model or about other columns.
    """
    if not os.path.exists(path):
        return None
    data = read_json(path)
    try:
        found = Replies.model_validate(data)
    except ValidationError as error:
        what = first_error(error, data, Replies).removeprefix("spec: ")
        raise DataError(f"{path}: {what}; expected recorded replies, as --replies writes them") from None
    if not found.replies:  # nothing came before a failure
        return None
    if (found.outcome, found.columns) != (meta["outcome"], columns(meta)):
        raise DataError(f"{path}: has replies about other columns than this spec's; name another file for these")
    if model is not None and model != found.model:
        raise DataError(f"{path}: has replies of '{found.model}', not of '{model}'; name another file for these")
    return found


def known(replies: Replies | None) -> dict[str, Any]:
    """What is recorded of each text: the claim as an object, or a Rejection."""
    found = replies.replies if replies else ()
    return {one.text: one.claim if one.claim is not None else Rejection(one.rejected or "no claim") for one in found}


def save(path: str | os.PathLike[str], meta: Mapping[str, Any], model: str, claims: Mapping[str, Any]) -> None:
    """Write all replies, the earlier ones among them; the file is replaced as a whole.

    Raises:
        DataError: If it cannot be written.
    """
    out = {"model": model, "outcome": meta["outcome"], "columns": columns(meta),
           "replies": [{"text": text, **_entry(claim)} for text, claim in claims.items()]}  # fmt: skip
    path = Path(path)
    write(path.parent, {path.name: as_json(out)})


def _entry(claim: Any) -> dict[str, Any]:
    if isinstance(claim, Rejection):
        return {"rejected": claim.reason}
    return {"claim": claim.model_dump(exclude_defaults=True) if isinstance(claim, Proposal) else claim}
