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
# # What the mechanisms and noises do
# Each family gets one draw from its prior, the same two parents, and no noise: what is left is the mechanism itself.

# %%
import altair as alt
import jax
import numpy as np
import pandas as pd
from scipy import stats

import arena
import mechanisms.registry  # noqa: F401  (registers the families)
from mechanisms.base import REGISTRY

rng, key = np.random.default_rng(3), jax.random.key(3)
PARENTS = ["x", "z"]
nodes = [{"name": name, "root": {"family": "uniform", "low": -2.0, "high": 2.0}} for name in PARENTS]
families = [name for name in REGISTRY["mechanism"] if name != "formula"]  # a formula is written, not drawn
for family in families:
    law = {"family": family, **REGISTRY["mechanism"][family].prior(rng, PARENTS)}
    nodes.append({"name": family, "parents": PARENTS, "mechanism": law, "noise": {"family": "none"}})
gallery = arena.compile(arena.SCMSpec.from_dict({"schema_version": 1, "name": "gallery", "nodes": nodes}))

# %% [markdown]
# ## Response curves
# x varies, and z is held at three values by `do`. Parallel curves mean that the parents add up; curves of other shapes
# mean that they interact.

# %%
parts = []
for held in (-1.0, 0.0, 1.0):
    table = arena.sample(arena.do(gallery, {"z": held}), key, n=80)
    wide = pd.DataFrame(table.values, columns=list(table.names))
    parts.append(wide.melt(id_vars=PARENTS, value_vars=families, var_name="family", value_name="value"))
curves = pd.concat(parts, ignore_index=True)
print(curves.groupby("family")["value"].agg(["min", "max"]).round(2).to_string())

# %%
lines = alt.Chart(curves).mark_line(strokeWidth=1.5).encode(x="x:Q", y=alt.Y("value:Q", title=None), color="z:N")
lines.properties(width=130, height=90).facet("family:N", columns=5).resolve_scale(y="independent")

# %% [markdown]
# ## How far from linear, how far from additive
# Shares of variance that a least-squares fit explains: one that is linear in the parents, and one that is a sum of a
# curve in each (Legendre polynomials up to degree 12). What the second leaves is interaction, or a jump too sharp for
# it. Methods that assume linearity, or additive noise around a sum of curves, should do well where the share is near 1.

# %%
table = arena.sample(gallery, key, n=4000)
x, z = table.values[:, 0], table.values[:, 1]


def explained(columns, value):
    design = np.column_stack([np.ones(len(value)), *columns])
    rest = value - design @ np.linalg.lstsq(design, value, rcond=None)[0]
    return 1.0 - rest.var() / value.var()


curved = [np.polynomial.legendre.Legendre.basis(k)(parent / 2.0) for parent in (x, z) for k in range(1, 13)]
shape = pd.DataFrame(
    [
        {"family": family, "linear": explained([x, z], value), "additive": explained(curved, value)}
        for family, value in zip(table.names[2:], table.values.T[2:].astype(float), strict=True)
        if value.var() > 0
    ]
).sort_values("linear", ascending=False)
assert (shape["additive"] >= shape["linear"] - 1e-6).all()  # a line is a sum of curves
print(shape.round(3).to_string(index=False))

# %%
points = alt.Chart(shape).mark_point(filled=True, size=70).encode(x="linear:Q", y="additive:Q", tooltip=["family"])
points + points.mark_text(align="left", dx=6, fontSize=9).encode(text="family")

# %% [markdown]
# ## Noises
# A child whose mechanism is zero is its noise. Skewness and tails tell which noises a method can tell apart from
# Gaussian: a Gaussian is at (0, 0).

# %%
zero = {"family": "linear_additive", "weight": [0.0], "bias": 0.0}
# Left out: no noise at all, one that is sized by a signal, and one whose bounds are those of a variable.
noises = [name for name in REGISTRY["noise"] if name not in ("none", "target_r2_gaussian", "censored")]
nodes = [{"name": "x", "root": {"family": "gaussian", "mean": 0.0, "scale": 1.0}}]
for family in noises:
    law = {"family": family, **REGISTRY["noise"][family].prior(rng)}
    nodes.append({"name": family, "parents": ["x"], "mechanism": zero, "noise": law})
silent = arena.compile(arena.SCMSpec.from_dict({"schema_version": 1, "name": "noises", "nodes": nodes}))
table = arena.sample(silent, key, n=20_000)
tails = pd.DataFrame(
    [
        {"noise": family, "sd": value.std(), "skewness": stats.skew(value), "excess kurtosis": stats.kurtosis(value)}
        for family, value in zip(table.names[1:], table.values.T[1:].astype(float), strict=True)
        if value.std() > 0
    ]
).sort_values("excess kurtosis")
print(tails.round(3).to_string(index=False))
assert abs(tails.set_index("noise").loc["gaussian", "excess kurtosis"]) < 0.2

# %%
axis = alt.X("excess kurtosis:Q", scale=alt.Scale(type="symlog"))
points = alt.Chart(tails).mark_point(filled=True, size=70).encode(x=axis, y="skewness:Q", tooltip=["noise", "sd"])
points + points.mark_text(align="left", dx=6, fontSize=9).encode(text="noise")
