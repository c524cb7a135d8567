"""AVICI of the package avici; what our own is compared to."""

import time

import jax
import numpy as np
from avici.model import BaseModel, InferenceModel
from avici.pretrain import AVICIModel


def run(arrays, settings, seed):
    """The edge probabilities of each table, and the time that each took.

    Args:
        arrays: `params/<haiku module>/<name>`, and for each table `<table>.values` and `<table>.mask`, both [n, d].
        settings: `network`, the arguments of `BaseModel`; `warm`, whether to run the first table once beforehand, so
            that compilation is not in the time of tables that are all of one shape.
        seed: Has no effect.

    Returns:
        `<table>` [d, d]; and an info with `seconds` and `cpu_seconds` of each table, and with `layout`, the names of
        the package's own parameters and their shapes.
    """
    params = {}
    for key, array in arrays.items():
        if key.startswith("params/"):
            module, _, name = key.removeprefix("params/").rpartition("/")
            params.setdefault(module, {})[name] = jax.numpy.asarray(array)
    inference = InferenceModel(model_class=BaseModel, model_kwargs=dict(settings["network"]))
    model = AVICIModel(params=params, model=inference, expects_counts=False)

    def answer(table):
        values = arrays[f"{table}.values"].astype(np.float32)
        mask = arrays[f"{table}.mask"].astype(np.float32)
        return model(values, interv=mask if mask.any() else None, shard_if_possible=False)

    tables = sorted(key.removesuffix(".values") for key in arrays if key.endswith(".values"))
    if settings["warm"]:
        answer(tables[0])
    answers, seconds, cpu_seconds = {}, {}, {}
    for table in tables:
        start, cpu_start = time.perf_counter(), time.process_time()
        answers[table] = answer(table)
        seconds[table], cpu_seconds[table] = time.perf_counter() - start, time.process_time() - cpu_start
    own = inference.net.init(jax.random.PRNGKey(seed), np.zeros((2, 2, 2), np.float32), False)
    layout = {f"{module}/{name}": array.shape for module, named in own.items() for name, array in named.items()}
    return answers, {"seconds": seconds, "cpu_seconds": cpu_seconds, "layout": layout}
