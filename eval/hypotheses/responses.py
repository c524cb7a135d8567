"""How the outcome is read in an experiment, and the standard deviation that effects are measured in."""

import dataclasses
import math

import numpy as np

from arena.errors import SpecError
from arena.spec import SCMSpec

#: Standard deviations of an outcome that single precision has squares and quotients of.
LEAST_SD, MOST_SD = 1e-15, 1e15
#: The largest relative error of the standard deviation.
UNSURE = 0.1


@dataclasses.dataclass(frozen=True)
class Response:
    """How the outcome is read in an experiment.

    Attributes:
        linked: Whether the signal of its equation is read, and not its value.
        scale: The standard deviation that effects are divided by, in the units of what is read.
        name: What is read, in words.
        error: Relative error of `scale`, from the sample's own fourth moments (delta method).
    """

    linked: bool
    scale: float
    name: str
    error: float = 0.0


def response_of(spec: SCMSpec, outcome: str, signal: np.ndarray, value: np.ndarray) -> Response:
    """The reading of an outcome, from its signals and values `[n]` in the data.

    A binary outcome is read as log-odds and a count as the logarithm of its mean: there its causes add up. Effects are
    in standard deviations of the latent outcome: the signal's variance plus that of the draw on the same scale, which
    is pi^2 / 3 for a logistic one (McKelvey & Zavoina 1975) and log(1 + 1 / mean) for a count (Nakagawa & Schielzeth
    2010). Where noise is added to the signal, the difference between two worlds is the same in both, without error.

    Args:
        signal: Scaled as the value is.

    Raises:
        SpecError: If the standard deviation is out of range, or its error too large to measure anything in it.
    """
    node = next(node for node in spec.nodes if node.name == outcome)
    link = getattr(node.channel.cls, "link", None) if node.parents else None
    center, unit = node.scaling if node.scaling is not None else (0.0, 1.0)
    read = value.astype(np.float64)
    more = more_error = 0.0
    if link in ("logit", "log"):
        read = signal.astype(np.float64) * unit + center
        if link == "logit":
            more = math.pi**2 / 3.0
        else:
            means = np.exp(np.minimum(read + float(node.channel.arrays["bias"]), 300.0))
            mean = float(np.mean(means)) or 1e-300
            more = math.log1p(1.0 / mean)
            more_error = float(np.std(means)) / len(means) ** 0.5 / (mean * (mean + 1.0))
    else:
        unit = 1.0
    with np.errstate(all="ignore"):  # infinite values are refused below
        apart = (read - read.mean()) ** 2
        own = float(apart.mean())
    variance = own + more
    sd = math.sqrt(variance) / unit if math.isfinite(variance) else variance
    if not LEAST_SD <= sd <= MOST_SD:
        raise SpecError(
            f"variable '{outcome}': its standard deviation in the data is {sd:.3g}, expected {LEAST_SD:g} to "
            f"{MOST_SD:g}: effects are measured in it; change its weights, noise or unit"
        )
    error = 0.5 * math.hypot(float(apart.std()) / len(apart) ** 0.5, more_error) / variance
    if not error <= UNSURE:
        raise SpecError(
            f"variable '{outcome}': its standard deviation cannot be told from {len(value)} units, its relative error "
            f"is {error:.2g}, expected at most {UNSURE:g}: effects are measured in it; more units or lighter tails help"
        )
    names = {"logit": "log-odds", "log": "log mean"}
    return Response(link in ("logit", "log", "identity"), sd, names.get(link or "", "value"), error)
