"""Ranges and draws that several families share (paper A.1); a family's own ranges stand in its own file."""

import math

import numpy as np

#: Total scale of the parents' effects: each weight is drawn, then multiplied by 0.8 / sqrt(k) (paper A.1).
WEIGHT_SCALE = 0.8
#: |weight| before that scaling. The paper gives only the scaling; away from 0, so that no drawn edge is void.
WEIGHT_MAGNITUDE = (0.5, 1.5)
#: Bias of linear mechanisms (paper A.1, Linear additive).
BIAS = (-0.5, 0.5)
#: Powers and products compress their inputs beyond this: where the paper clips exponential inputs (A.1).
INPUT_LIMIT = 3.0


def signed_weights(rng: np.random.Generator, k: int, scale: float = WEIGHT_SCALE) -> list[float]:
    """`k` weights of random sign, magnitudes in WEIGHT_MAGNITUDE, scaled by `scale / sqrt(k)`."""
    magnitude = rng.uniform(*WEIGHT_MAGNITUDE, size=k)
    return (rng.choice((-1.0, 1.0), size=k) * magnitude * scale / math.sqrt(k)).tolist()
