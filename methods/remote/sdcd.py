"""SDCD of the package sdcd, on one table."""

import pandas as pd
import sdcd.models._sdcd
import sdcd.models.base._base_model
import torch
from sdcd.models import SDCD
from sdcd.utils import create_intervention_dataset

LABEL = "targets"


def run(arrays, settings, seed):
    """`values` [n, d] and `mask` [n, d] -> `scores` [d, d], and `adjacency` [d, d], both row causes column."""
    # The package seeds everything with 0, when a model is made and again when it is trained; our seed is to last.
    for module in (sdcd.models._sdcd, sdcd.models.base._base_model):
        module.set_random_seed_all = lambda *_: None
    values, mask = arrays["values"], arrays["mask"]
    frame = pd.DataFrame(values, columns=[str(j) for j in range(values.shape[1])])
    frame[LABEL] = [",".join(str(j) for j in row.nonzero()[0]) or "obs" for row in mask]
    dataset = create_intervention_dataset(frame, perturbation_colname=LABEL)
    if not torch.equal(dataset.tensors[1], torch.from_numpy(~mask).long()):
        raise ValueError("the package read other targets than it was given")

    model = SDCD()
    model.train(dataset, stage1_kwargs=settings["stage1"], stage2_kwargs=settings["stage2"])
    scores = model.get_adjacency_matrix(threshold=False)
    adjacency = model.get_adjacency_matrix(threshold=settings["threshold"])
    return {"scores": scores.astype("float64"), "adjacency": adjacency.astype("int8")}, {}
