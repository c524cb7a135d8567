"""Tables of analyses as text: for terminals, papers and programs."""

import io
import json
from typing import TYPE_CHECKING, Any

import pandas as pd

from arena.errors import RunError
from eval.report.formats import md_cell

if TYPE_CHECKING:
    from rich.table import Table

FORMATS = ("table", "csv", "md", "json")


def to_csv(table: pd.DataFrame) -> str:
    """Full precision; what is missing is empty."""
    text = io.StringIO()
    table.to_csv(text, index=False, lineterminator="\n")
    return text.getvalue()


def to_json(tables: dict[str, pd.DataFrame]) -> str:
    """An object with one list of records for each analysis; what is missing is null."""
    records = {name: json.loads(table.to_json(orient="records") or "[]") for name, table in tables.items()}
    return json.dumps(records, indent=2, ensure_ascii=False) + "\n"


def to_md(tables: dict[str, tuple[str, pd.DataFrame]]) -> str:
    """A heading and a table for each analysis: name -> title and table."""
    parts = []
    for name, (title, table) in tables.items():
        lines = [f"## {name}: {title}", "", _line(map(str, table.columns)), _line("---" for _ in table.columns)]
        lines += [_line(map(md_cell, cells)) for cells in _cells(table)]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def to_table(title: str, table: pd.DataFrame) -> "Table":
    """For the terminal."""
    from rich.box import SIMPLE
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=SIMPLE, title=title, title_justify="left")
    numbers = {name for name in table.columns if pd.api.types.is_numeric_dtype(table[name])}
    for name in table.columns:
        shown.add_column(str(name), justify="right" if name in numbers else "left")
    for cells in _cells(table):
        shown.add_row(*map(Text, cells))
    return shown


def _line(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(table: pd.DataFrame) -> list[list[str]]:
    return [[_cell(value) for value in line] for line in table.itertuples(index=False, name=None)]


def _cell(value: Any) -> str:
    if value is None or value is pd.NA or (isinstance(value, float) and value != value):
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def parse_options(pairs: list[str]) -> dict[str, Any]:
    """`NAME=VALUE` texts as options: VALUE is read as JSON, and as a text where it is none.

    Raises:
        RunError: If one has no `=`.
    """
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name.strip():
            raise RunError(f"option '{pair}' is not NAME=VALUE, for example rounds=200 or impute=worst")
        try:
            value = json.loads(text)
        except json.JSONDecodeError:
            value = text.strip()
        found[name.strip()] = value
    return found
