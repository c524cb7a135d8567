"""What the paper prints, beside what was measured."""

from typing import TYPE_CHECKING, Any

from arena import reference
from eval.aggregate import ALL, AVERAGE
from eval.report.numbers import PUBLISHED, labels

if TYPE_CHECKING:
    import pandas as pd

#: What the paper's Table 2 averages over.
FAMILIES = ("synthetic", "semantic", "formula")


def beside(board: "pd.DataFrame") -> "pd.DataFrame":
    """The board with the columns `f1_paper` and `shd_paper`, nan where the paper has no number.

    Means by family and split are those of Tables 13-15. The mean of all cells (Table 2, Avg) is there only where the
    board has every cell of it, and no others. The paper's numbers are over its own SCMs, of up to 100 variables.

    Args:
        board: From `Run.leaderboard()`, of groups by family; any other has no counterpart in the paper.
    """
    import pandas as pd

    lines = [(None, None)] * len(board)
    if labels(board) == ["family", "split", "method"]:
        known = _cells() if _whole(board) else {key: cell for key, cell in _cells().items() if key[0] != ALL}
        names = zip(board["family"], board["split"], board["method"], strict=True)
        lines = [known.get((family, split, reference.METHODS.get(method, "")), (None, None)) for family, split, method
                 in names]  # fmt: skip
    columns = pd.DataFrame(lines, columns=list(PUBLISHED), index=board.index, dtype="float64")
    return pd.concat([board, columns], axis=1)


def real_tables(rows: "pd.DataFrame") -> list[dict[str, Any]]:
    """Table 17 beside the rows of public tables: `scenario`, `split`, `method`, `f1`, `shd`, `f1_paper`, `shd_paper`.

    Only what both have is listed.
    """
    table = reference.table("real_data_by_dataset")
    paper = {(_plain(row["dataset"]), row["split"], row["method"]): row for row in table.to_dict("records")}
    found: list[dict[str, Any]] = []
    done: Any = rows[(rows["status"] == "completed") & rows["scenario"].str.startswith("real")]
    for (scenario, split, method), own in done.groupby(["scenario", "split", "method"]):
        name = _plain(str(scenario).replace("/", ":").rpartition(":")[2])
        other = paper.get((_SHORT.get(name, name), split, reference.METHODS.get(method, "")))
        if other is not None:
            line = {"scenario": scenario, "split": split, "method": method, "f1": float(own["f1"].mean())}
            line |= {"shd": float(own["shd"].mean()), "f1_paper": float(other["f1"])}
            found.append(line | {"shd_paper": float(other["shd"])})
    return found


#: Our names of the public tables that the paper abbreviates.
_SHORT = {
    "cardiacarrhythmia": "arrhythmia",
    "petshophightraffic": "petshopht",
    "petshoplowtraffic": "petshoplt",
    "petshoptemporaltraffic1": "petshopt1",
    "petshoptemporaltraffic2": "petshopt2",
}


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _cells() -> dict[tuple[str, str, str], tuple[float, float]]:
    by_family: Any = reference.table("complete_metrics").rename(columns={"benchmark": "family"})
    found = {(r["family"], r["split"], r["method"]): (r["f1"], r["shd"]) for r in by_family.to_dict("records")}
    overall: Any = reference.table("main_results")
    overall = overall[(overall["family"] == ALL) & (overall["split"] == AVERAGE)]
    return found | {(ALL, AVERAGE, r["method"]): (r["f1_mean"], r["shd_mean"]) for r in overall.to_dict("records")}


def _whole(board: "pd.DataFrame") -> bool:
    groups = board[board["family"] != ALL]
    cells = set(zip(groups["family"], groups["split"], strict=True))
    return cells == {(family, split) for family in FAMILIES for split in ("obs", "obs_int")}
