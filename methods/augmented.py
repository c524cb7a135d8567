"""The augmented Lagrangian of NOTEARS: minimise a smooth objective under the constraint that a graph is acyclic."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

Bounds = list[tuple[float | None, float | None]]

_TOLERANCE = 1e-8
_LARGEST_PENALTY = 1e16
_ENOUGH = 0.25


def minimise(
    objective: Callable[[np.ndarray, float, float], tuple[float, np.ndarray]],
    cyclic: Callable[[np.ndarray], float],
    start: np.ndarray,
    bounds: Bounds,
    max_rounds: int,
) -> tuple[np.ndarray, int, float]:
    """Dual ascent with L-BFGS-B (Zheng et al. 2018, Algorithm 1).

    Within a round the penalty grows tenfold until the constraint falls to a quarter of what it was. It ends when the
    constraint is below 1e-8, when the penalty reaches 1e16 or after `max_rounds`.

    Args:
        objective: From the parameters, the penalty rho and the multiplier alpha to the value and its gradient.
        cyclic: The constraint h, which is to become 0, from the parameters.
        start: The parameters to start from.
        bounds: Of each parameter.
        max_rounds: Most rounds.

    Returns:
        The parameters, the number of rounds, and h there.
    """
    parameters, rho, alpha, h, rounds = start, 1.0, 0.0, np.inf, 0
    while rounds < max_rounds and h > _TOLERANCE and rho < _LARGEST_PENALTY:
        rounds += 1
        found, found_h = parameters, h
        while rho < _LARGEST_PENALTY:
            found = minimize(objective, parameters, args=(rho, alpha), jac=True, bounds=bounds, method="L-BFGS-B").x
            found_h = cyclic(found)
            if found_h <= _ENOUGH * h:
                break
            rho *= 10
        parameters, h = found, found_h
        alpha += rho * h
    return parameters, rounds, float(h)
