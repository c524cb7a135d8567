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
# # One SCM, taken apart
# A spec is data; an SCM is a pytree; everything below is a function of the two and a key.

# %%
import altair as alt
import jax
import numpy as np
import pandas as pd

import arena

key = jax.random.key(0)
spec = arena.synthetic.sample_spec(key, d=8, graph="scale_free", name="tour")
scm = arena.compile(spec)
print(spec.content_hash[:12], spec.factors)
for node in spec.nodes:
    law = node.mechanism or node.root
    print(f"{node.name} <- {', '.join(node.parents) or '-':<12} {law.family}")

# %% [markdown]
# ## Sampling is noise, then equations
# The noise of each variable is its own, so evaluating it again gives the same table, bit for bit.

# %%
data = arena.sample(scm, key, n=2000)
again = np.asarray(scm.evaluate(data.noise))
print("largest difference:", np.abs(again - data.values).max())

# %% [markdown]
# ## An intervention moves descendants and nothing else
# The same key is the same units in another world. The other columns are equal to the last bit.

# %%
cause = spec.names[int(np.argmax(spec.adjacency.sum(axis=1)))]
other = arena.sample(arena.do(scm, {cause: 1.0}), key, n=2000)
moved = [name for j, name in enumerate(spec.names) if (other.values[:, j] != data.values[:, j]).any()]
print(f"do({cause} = 1) moves {', '.join(moved)}")

# %%
shift = pd.DataFrame({"variable": spec.names, "shift": (other.values - data.values).mean(axis=0)})
alt.Chart(shift).mark_bar().encode(x=alt.X("shift:Q", title=f"mean shift under do({cause} = 1)"), y="variable:N")

# %% [markdown]
# ## Counterfactuals keep the unit
# What would have become of the very same units? Their noise is known here, so the answer is exact, not estimated.

# %%
twin = arena.counterfactual(scm, data, {cause: 1.0})
print("counterfactual equals the same key under do():", np.array_equal(twin.values, other.values))

effect = spec.names[int(np.flatnonzero(spec.adjacency[spec.names.index(cause)])[0])]
j = spec.names.index(effect)
units = pd.DataFrame({"as it was": data.values[:300, j], f"had {cause} been 1": twin.values[:300, j]})
alt.Chart(units, title=f"{effect} of 300 units").mark_point().encode(x="as it was:Q", y=f"had {cause} been 1:Q")

# %% [markdown]
# ## Effects have gradients
# The mean of an effect under `do` is a smooth function of the dose, as far as the mechanisms are; its slope is exact.


# %%
def mean_effect(dose):
    return arena.expectation(arena.do(scm, {cause: dose}), effect, key=key, n=2000)


doses = jax.numpy.linspace(-1.0, 1.0, 9)
response = pd.DataFrame(
    {
        "dose": np.asarray(doses),
        "mean": np.asarray(jax.vmap(mean_effect)(doses)),
        "slope": np.asarray(jax.vmap(jax.grad(mean_effect))(doses)),
    }
)
print(response.round(3).to_string(index=False))

# %%
base = alt.Chart(response).encode(x=alt.X("dose:Q", title=f"do({cause} = dose)"))
curve = base.mark_line(point=True).encode(y=alt.Y("mean:Q", title=f"mean of {effect}"))
step = 0.08
tangents = base.transform_calculate(
    left=f"datum.dose - {step}", right=f"datum.dose + {step}",
    low=f"datum.mean - {step} * datum.slope", high=f"datum.mean + {step} * datum.slope",
)  # fmt: skip
tangents = tangents.mark_rule(color="darkorange", strokeWidth=3).encode(
    x="left:Q", x2="right:Q", y="low:Q", y2="high:Q"
)
curve + tangents
