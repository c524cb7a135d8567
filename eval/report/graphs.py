"""True and found graphs of the scenarios, packed for the page, which draws them on demand."""

import base64
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from eval.run import Run

#: Characters that all graphs of a page may take.
BUDGET = 4_500_000


def pack(adjacency: np.ndarray) -> str:
    """A graph `[d, d]` as base64 of its bits, row by row, the first bit the highest of its byte."""
    return base64.b64encode(np.packbits(np.asarray(adjacency) != 0).tobytes()).decode()


def unpack(text: str, d: int) -> np.ndarray:
    """What `pack` packed, `[d, d]` int8."""
    bits = np.unpackbits(np.frombuffer(base64.b64decode(text), np.uint8), count=d * d)
    return bits.reshape(d, d).astype(np.int8)


def scenario_graphs(run: "Run", rows: "pd.DataFrame", budget: int = BUDGET) -> tuple[dict[str, Any], int]:
    """Graphs of the first replicate of each scenario.

    Args:
        run: Where the answers are.
        rows: Those of the run.
        budget: Characters after which scenarios are left out, to keep the page small enough to be opened.

    Returns:
        Scenario -> `family`, `d`, `names`, `factors`, `nodes` (each `[mechanism, noise, root]`), `truth` (packed),
        `hashes` (split -> of the table) and `found` (split -> method -> the packed graph, and 1 where it is one member
        of an equivalence class that was returned); and how many scenarios were left out.
    """
    about = {line["scenario"]: line for line in run.scenarios().to_dict("records")}
    hashes = _first_hashes(rows)
    pages: dict[str, Any] = {}
    used, left_out, last = 0, set(), None
    for key, answer in run.estimates():
        if key.replicate != 0 or key.scenario not in about or key.scenario in left_out:
            continue
        if key.scenario != last and used > budget:
            left_out.add(key.scenario)
            continue
        last, line = key.scenario, about[key.scenario]
        if key.scenario not in pages:
            pages[key.scenario] = _page(line, hashes.get(key.scenario, {}))
        packed = pack(answer["adjacency"])
        pages[key.scenario]["found"].setdefault(key.split, {})[key.method] = [packed, int(answer["native"] is not None)]
        used += len(packed)
    for scenario, line in about.items():  # nothing completed there, but the graph is known
        if scenario not in pages and scenario not in left_out:
            pages[scenario] = _page(line, hashes.get(scenario, {}))
    return pages, len(left_out)


def _page(line: dict[str, Any], hashes: dict[str, str]) -> dict[str, Any]:
    known = line["about"]
    return {
        "family": line["family"],
        "d": len(known["names"]),
        "names": known["names"],
        "factors": known["factors"],
        "nodes": [[node[name] for name in ("mechanism", "noise", "root")] for node in known["nodes"]],
        "truth": pack(np.array(known["truth"])),
        "hashes": hashes,
        "found": {},
    }


def _first_hashes(rows: "pd.DataFrame") -> dict[str, dict[str, str]]:
    first: Any = rows[(rows["replicate"] == 0) & (rows["data_hash"] != "")]
    lines: Iterable[Any] = first.drop_duplicates(["scenario", "split"])[["scenario", "split", "data_hash"]].itertuples(
        index=False
    )
    found: dict[str, dict[str, str]] = {}
    for scenario, split, data_hash in lines:
        found.setdefault(scenario, {})[split] = data_hash
    return found
