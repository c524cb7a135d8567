# ---
# jupyter:
#   jupytext:
#     formats: py:percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Reading a run
# A small run, from the leaderboard down to the edges of one graph. `arena report` shows all of this as one page.

# %%
import tempfile
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd

import arena
from eval import analysis, report
from eval.report.figures import FIGURES


def correlation(table):
    """A baseline: an edge from the earlier to the later column wherever they correlate."""
    return np.triu(abs(np.corrcoef(table.T)), k=1)


folder = Path(tempfile.mkdtemp(prefix="run-"))
select = arena.Selection(limit=4, replicates=1)
run = arena.run("mini", [correlation, "gies"], out=folder / "run", select=select)
print(run)

# %% [markdown]
# ## The leaderboard
# Scenarios are averaged within a family. `n` is how many have a score; what has none is counted, never filled in.

# %%
board = run.leaderboard()
print(board[["family", "split", "method", "f1", "f1_sd", "shd", "n", "missing"]].round(3).to_string(index=False))
print("\nwithout a score:")
print(run.failures().to_string(index=False))

# %% [markdown]
# The same by any factor of the scenarios, and for a paper:

# %%
print(run.leaderboard(by=["graph_family"])[["graph_family", "split", "method", "f1"]].round(3).to_string(index=False))
print(report.to_latex(board))

# %% [markdown]
# ## Analyses are tables, figures are drawn from them
# A method beats another where its F1 is higher or its SHD lower on the same scenario.

# %%
rows = run.rows()
wins = analysis.analyze(rows, "wins")
print(wins.to_string(index=False))
FIGURES["planes"](analysis.analyze(rows, "planes"))

# %% [markdown]
# ## Which edges go wrong
# Counted over the whole run: of the true edges how many were found, reversed and missed, by the depth of the effect.

# %%
errors = analysis.analyze(run, "errors")
print(errors[errors["factor"] == "depth"].to_string(index=False))

# %% [markdown]
# ## One graph
# Every answer is kept, so that any score can be looked into. Rows cause columns.

# %%
row = rows[(rows["method"] == "gies") & (rows["split"] == "obs_int")].sort_values("f1").iloc[0]
answer = run.estimate(row["scenario"], row["split"], int(row["replicate"]), row["method"])
truth, found = answer["truth"].astype(bool), answer["adjacency"].astype(bool)
names = run.scenarios().set_index("scenario").loc[row["scenario"], "about"]["names"]
kinds = np.select(
    [truth & found, truth & found.T, truth, found & ~truth.T], ["hit", "reversed", "missed", "invented"], ""
)
edges = [(names[i], names[j], kinds[i, j]) for i, j in zip(*np.nonzero(kinds != ""), strict=True)]
print(row["scenario"], "F1", round(row["f1"], 3))
assert sum(kind == "hit" for *_, kind in edges) == row["tp"]

# %%
cells = pd.DataFrame(edges, columns=["cause", "effect", "edge"])
alt.Chart(cells, width=240, height=240).mark_rect().encode(x="effect:N", y="cause:N", color="edge:N")

# %% [markdown]
# ## The page
# One file that works without a network: sortable tables, these figures, and a page for each scenario.

# %%
page = report.write_html(run, folder / "report.html", figures=False)
print(page.name, f"{page.stat().st_size / 1e6:.1f} MB")
