# ---
# jupyter:
#   jupytext:
#     formats: py:percent
# ---

# %% [markdown]
# # One SCM, taken apart
# A spec is data; an SCM is a pytree; everything below is a function of the two and a key.

# %%
import jax
import numpy as np

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

# %%
cause = spec.names[int(np.argmax(spec.adjacency.sum(axis=1)))]
other = arena.sample(arena.do(scm, {cause: 1.0}), key, n=2000)
moved = [name for j, name in enumerate(spec.names) if (other.values[:, j] != data.values[:, j]).any()]
print(f"do({cause} = 1) moves {', '.join(moved)}")

# %% [markdown]
# ## Counterfactuals keep the unit
# What would have become of the very same units?

# %%
twin = arena.counterfactual(scm, data, {cause: 1.0})
print("counterfactual equals the same key under do():", np.array_equal(twin.values, other.values))

# %% [markdown]
# ## Effects have gradients

# %%
effect = spec.names[int(np.flatnonzero(spec.adjacency[spec.names.index(cause)])[0])]
dose_response = jax.vmap(lambda v: arena.expectation(arena.do(scm, {cause: v}), effect, key=key, n=2000))
doses = jax.numpy.linspace(-1.0, 1.0, 5)
slopes = jax.vmap(jax.grad(lambda v: arena.expectation(arena.do(scm, {cause: v}), effect, key=key, n=2000)))(doses)
for dose, value, slope in zip(doses, dose_response(doses), slopes, strict=True):
    print(f"E[{effect} | do({cause} = {dose:+.1f})] = {value:+.3f}, slope {slope:+.3f}")
