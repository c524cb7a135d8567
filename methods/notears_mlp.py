"""NOTEARS-MLP: NOTEARS with a small neural network for each variable, written from its paper, in JAX."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from scipy.linalg import expm

from arena.dataset import Dataset
from arena.errors import MethodError
from methods.augmented import Bounds, minimise
from methods.base import Capabilities, Estimate, Method, generator
from methods.notears import cut


@dataclasses.dataclass(frozen=True)
class NOTEARSMLP(Method):
    """NOTEARS with one hidden layer of sigmoids for each variable (Zheng et al. 2020; paper B.4).

    The weight of an edge is the Euclidean norm of the first-layer weights by which the parent enters the child's
    network; scores are these. Least squares takes all noise variances to be equal, as `methods.notears` says.

    Attributes:
        hidden: Hidden units of each network.
        lambda1: Weight of the L1 penalty on the first layer.
        lambda2: Weight of the squared norm of all weights, biases apart.
        threshold: Weights up to this size are no edges.
        max_rounds: Most rounds of the augmented Lagrangian.

    Raises:
        MethodError: If a setting is out of range.
    """

    hidden: int = 10
    lambda1: float = 0.01
    lambda2: float = 0.01
    threshold: float = 0.3
    max_rounds: int = 100

    name = "notears_mlp"
    title = "NOTEARS-MLP"
    capabilities = Capabilities(
        splits=("obs",),
        scores=True,
        output="digraph",
        positional=True,
        assumes="equal_noise",
        citation="Zheng, Dan, Aragam, Ravikumar and Xing (2020). Learning Sparse Nonparametric DAGs. AISTATS",
    )

    quick = {"max_rounds": 3}

    def __post_init__(self):
        for name in ("lambda1", "lambda2", "threshold"):
            if not getattr(self, name) >= 0:
                raise MethodError(f"notears_mlp: {name} is {getattr(self, name)}; it must not be negative")
        for name in ("hidden", "max_rounds"):
            if getattr(self, name) < 1:
                raise MethodError(f"notears_mlp: {name} is {getattr(self, name)}; it must be at least 1")

    def fit(self, dataset: Dataset, key: jax.Array) -> Estimate:
        d, m = dataset.d, self.hidden
        rng = generator(key)
        # The first layer's weights [parent, child, unit], as a difference of two parts; its biases; the second layer's.
        # The start is what layers usually start from.
        first = d * d * m
        inner = np.maximum(rng.uniform(-1, 1, (2, d, d, m)), 0) * ~np.eye(d, dtype=bool)[:, :, None]
        inner_bias, outer = rng.uniform(-1, 1, d * m), rng.uniform(-1, 1, d * m + d)
        scale = np.sqrt(np.repeat([d, m], [2 * first + d * m, d * m + d]))
        start = np.concatenate([inner.ravel(), inner_bias, outer]) / scale
        own = np.broadcast_to(np.eye(d, dtype=bool)[:, :, None], (2, d, d, m)).ravel()
        bounds: Bounds = [(0.0, 0.0 if fixed else None) for fixed in own]
        bounds += [(None, None)] * (len(start) - len(own))
        with jax.enable_x64(True):  # for this thread, and only here
            table, penalties = jnp.asarray(dataset.values), jnp.array([self.lambda1, self.lambda2])

            def objective(parameters: np.ndarray, rho: float, alpha: float) -> tuple[float, np.ndarray]:
                value, gradient = _loss_and_gradient(parameters, table, penalties)
                inner = (parameters[:first] - parameters[first : 2 * first]).reshape(d, d, m)
                h, slope = _acyclicity(inner)
                slope *= rho * h + alpha
                gradient = np.array(gradient)
                gradient[: 2 * first] += np.concatenate([slope.ravel(), -slope.ravel()])
                return float(value) + h * (0.5 * rho * h + alpha), gradient

            def cyclic(parameters: np.ndarray) -> float:
                return _acyclicity((parameters[:first] - parameters[first : 2 * first]).reshape(d, d, m))[0]

            parameters, rounds, left = minimise(objective, cyclic, start, bounds, self.max_rounds)
        inner = (parameters[:first] - parameters[first : 2 * first]).reshape(d, d, m)
        weights = np.sqrt((inner**2).sum(axis=2))
        return cut(weights, self.threshold, {"rounds": rounds, "acyclicity": left})


def _acyclicity(inner: np.ndarray) -> tuple[float, np.ndarray]:
    """How cyclic first-layer weights `[parent, child, unit]` are, and the gradient by them."""
    powers = expm((inner**2).sum(axis=2))
    return float(np.trace(powers) - len(inner)), 2 * inner * powers.T[:, :, None]


def _loss(parameters: jax.Array, table: jax.Array, penalties: jax.Array) -> jax.Array:
    """Half the mean squared error of all networks together, and the two penalties; acyclicity apart."""
    n, d = table.shape
    m = (len(parameters) - d) // (2 * d * d + 2 * d)
    plus, minus, rest = jnp.split(parameters, [d * d * m, 2 * d * d * m])
    bias, outer, shift = jnp.split(rest, [d * m, 2 * d * m])
    inner = (plus - minus).reshape(d, d * m)
    units = jax.nn.sigmoid(table @ inner + bias).reshape(n, d, m)
    residual = table - (units * outer.reshape(d, m)).sum(axis=2) - shift
    absolute, squares = plus.sum() + minus.sum(), (inner**2).sum() + (outer**2).sum()
    return 0.5 * (residual**2).sum() / n + penalties[0] * absolute + 0.5 * penalties[1] * squares


_loss_and_gradient = jax.jit(jax.value_and_grad(_loss))
