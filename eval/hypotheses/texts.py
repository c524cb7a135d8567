"""Hypotheses in free text, as files have them."""

import os
import re
from pathlib import Path
from typing import Any

from arena.errors import DataError
from eval.hypotheses.files import read_proposals
from eval.hypotheses.proposals import Rejection

#: Characters of a text; a limit of cost.
LONGEST = 4000
#: Where an object has its text.
KEYS = ("hypothesis", "text")
#: What a line of a list begins with.
MARK = re.compile(r"^(?:[-*+•]|\d+[.)])\s+")


def read_texts(path: str | os.PathLike[str]) -> list[str | Rejection]:
    """The hypotheses in a file: one a line (.txt, .md), or a JSON list of texts or of objects with a text.

    Lines that are empty or begin with # are left out, and so is what marks a line as one of a list. An object has its
    text under `hypothesis` or `text`; what else it has is not looked at. An entry without a text is a rejection.

    Raises:
        DataError: If the file cannot be read, or holds no hypothesis list.
    """
    if Path(path).suffix.lower() not in (".txt", ".md"):
        return [_text(one) for one in read_proposals(path)]
    try:
        lines = Path(path).read_bytes().decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read {path}: {error}") from None
    lines = [line.strip() for line in lines]
    return [MARK.sub("", line) for line in lines if line and not line.startswith("#")]


def _text(entry: Any) -> str | Rejection:
    """The text of an entry of a list."""
    if isinstance(entry, dict):
        entry = next((entry[key] for key in KEYS if key in entry), None)
    if not isinstance(entry, str):
        return Rejection("is no hypothesis: expected a text, or an object with a text under 'hypothesis' or 'text'")
    return entry.strip()


def usable(text: str) -> str | Rejection:
    """The text, if a model can be asked about it."""
    if not text.strip():
        return Rejection("is an empty text, expected a hypothesis")
    if len(text) > LONGEST:
        return Rejection(f"is a text of {len(text)} characters, expected a hypothesis of at most {LONGEST}")
    try:
        text.encode()
    except UnicodeEncodeError:
        return Rejection("has characters that are no Unicode text")
    return text
