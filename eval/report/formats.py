"""The leaderboard for papers and programs: CSV, Markdown, LaTeX, JSON.

Every format has the same columns in the same order: what the board is grouped by (`family`), `split`, `method`,
then `f1`, `f1_sd`, `shd`, `shd_sd`, `precision`, `recall`, `nshd`, `reachability_distance`, `sid`, `auroc`, `ap`,
`cpdag_shd`, `seconds`, `n`, `missing`, `reduced`, `sid_missing`, `auroc_missing`, `complete`, `control`. They are
described in `eval.aggregate.leaderboard`. With `published` the paper's `f1_paper` and `shd_paper` follow ours.

The JSON is one object:

- `schema_version`: 1. It is raised when a key is renamed, removed or means something else; new keys may come without.
- `leaderboard`: a list of objects with the columns above; numbers in full precision, null where there is none,
  `complete` and `control` true or false.
- `failures`: a list of objects `family`, `split`, `method`, `status`, `reason`, `count`, `example`: the cells without a
  score.
"""

import json
from typing import TYPE_CHECKING, Any

from eval.report.numbers import TITLES, best_cells, labels, places, records, says_something, show, values

if TYPE_CHECKING:
    import pandas as pd

JSON_VERSION = 1
FORMATS = ("table", "csv", "md", "latex", "json")
_TEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"} | {
    mark: f"\\{mark}" for mark in "&%$#_{}"
}
_TEX |= {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
#: A spread stands behind its mean, not in a column of its own.
_TEX_COLUMNS = (
    *("f1", "f1_paper", "shd", "shd_paper", "precision", "recall", "nshd", "reachability_distance", "sid", "auroc"),
    *("ap", "cpdag_shd", "n", "missing", "reduced"),
)


def to_csv(board: "pd.DataFrame") -> str:
    """The leaderboard as CSV in full precision, missing values empty."""
    return board.loc[:, [*labels(board), *values(board)]].to_csv(index=False, lineterminator="\n")


def to_json(board: "pd.DataFrame", missing: "pd.DataFrame | None" = None) -> str:
    """The leaderboard, and the cells without a score if given, as JSON: full precision, null for missing."""
    content: dict[str, Any] = {"schema_version": JSON_VERSION}
    content["leaderboard"] = records(board.loc[:, [*labels(board), *values(board)]])
    if missing is not None:
        content["failures"] = records(missing)
    return json.dumps(content, indent=1, ensure_ascii=False)


def to_md(board: "pd.DataFrame") -> str:
    """The leaderboard as a Markdown table, rounded as in the terminal, best values bold; floors in italics."""
    names = [name for name in (*labels(board), *values(board)) if name != "control"]
    lines = [
        "| " + " | ".join(TITLES.get(name, name) for name in names) + " |",
        "|" + "|".join("---:" if name in TITLES else "---" for name in names) + "|",
    ]
    for line, best in zip(records(board), best_cells(board), strict=True):
        cells = []
        for name in names:
            text = md_cell(show(name, line[name]))
            text = f"*{text}* (floor)" if name == "method" and line["control"] else text
            cells.append(f"**{text}**" if name in best else text)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def md_cell(text: str) -> str:
    """A text as the cell of a Markdown table: no pipe ends it, and no HTML is in it."""
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")


def to_latex(board: "pd.DataFrame") -> str:
    r"""The leaderboard as a LaTeX `tabular` (`\usepackage{booktabs}`): best bold, second underlined, floors in italics.

    Spreads follow their means. Columns without any value are left out, and so are seconds, which the page and the
    other formats have.
    """
    named = labels(board)
    lines, found = records(board), places(board)
    shown = [name for name in _TEX_COLUMNS if name in board and says_something(board, name)]
    head = [*(name.capitalize() for name in named), *(TITLES[name] for name in shown)]
    out = [
        r"% needs \usepackage{booktabs}",
        f"\\begin{{tabular}}{{{'l' * len(named)}{'r' * len(shown)}}}",
        r"\toprule",
        " & ".join(_tex(text) for text in head) + r" \\",
    ]
    before = None
    for line, place in zip(lines, found, strict=True):
        group = [line[name] for name in named[:-1]]
        if group != before:
            out.append(r"\midrule")
        method = _tex(str(line["method"]))
        cells = [_tex(str(part)) for part in group] if group != before else [""] * len(group)
        cells.append(rf"\textit{{{method}}}" if line["control"] else method)
        cells += [_tex_value(name, line, place.get(name)) for name in shown]
        out.append(" & ".join(cells) + r" \\")
        before = group
    return "\n".join([*out, r"\bottomrule", r"\end{tabular}", ""])


def _tex(text: str) -> str:
    return " ".join("".join(_TEX.get(letter, letter) for letter in text).split())


def _tex_value(name: str, line: dict[str, Any], place: int | None) -> str:
    if line.get(name) is None:
        return "--"
    text = show(name, line[name])
    text = {1: rf"\textbf{{{text}}}", 2: rf"\underline{{{text}}}"}.get(place or 0, text)
    spread = line.get(f"{name}_sd")
    return text if spread is None else rf"{text} $\pm$ {show(f'{name}_sd', spread)}"
