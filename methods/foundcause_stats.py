"""The 45 statistics of a pair of variables that FoundCause reads beside the table (Blöbaum et al. 2026).

Entry (i, j) of a statistic is about i as cause of j. Where a paper gave a statistic its name: IGCI is Janzing et al.
(2012), xi Chatterjee (2021), the Stein diagonal Rolland et al. (2022), shrinkage Chen et al. (2010). The order, the
constants and the clamps are those of the published model, whose weights depend on them. Tables are complete.
"""

import math

import torch
from torch import Tensor

# What each of the 45 columns is for: the existence of an edge, or its direction. Of the latter some are differences
# already, others come in pairs (i, j), (j, i) and are subtracted first. The last four describe the table, neither.
SYMMETRIC = (0, 1, 2, 3, 4, 5, 6, 37, 38)
PAIRED = tuple((a, a + 1) for a in (7, 13, 11, 16, 20, 22, 24, 26, 30, 32, 34, 39))
DIRECTED = (9, 10, 15, 18, 19, 28, 29, 36)
SIZE = 45

_BINS = 20
_GROUPS = 5


def pair_statistics(values: Tensor, omega: Tensor, phase: Tensor, jitter: torch.Generator) -> Tensor:
    """All statistics of a table.

    Args:
        values: `[n, d]`, without missing entries.
        omega: `[m]` frequencies of the random features that HSIC is estimated with; part of the checkpoint.
        phase: `[m]` their phases.
        jitter: Breaks ties before ranking.

    Returns:
        `[d, d, 45]`, finite.
    """
    n, d = values.shape
    clean = _without_outliers(values)
    x = standardised(clean)
    ranks = _ranks(x + 1e-7 * torch.randn(x.shape, generator=jitter).to(x))

    correlation = (x.T @ x / (n - 1)).clamp(-1, 1)
    precision, diagonal = _precision(correlation, n)
    partial = (-precision / (diagonal[:, None] * diagonal).sqrt()).clamp(-1, 1)
    rank_correlation = standardised(ranks)
    rank_correlation = (rank_correlation.T @ rank_correlation / (n - 1)).clamp(-1, 1)
    skew = (x**3).mean(dim=0).clamp(-5, 5)
    kurtosis = ((x**4).mean(dim=0) - 3).clamp(-5, 100)
    squares = (x**2).T @ x / n  # E[x_i^2 x_j]
    quadratic = squares.clamp(-5, 5).abs()

    residual, residual_skew, residual_kurtosis, dependence, explained, curvature = _kernel_regressions(x, omega, phase)
    entropy, spread_variation, slope_variation = _binned(clean)
    slope, slope_spread = _information_geometry(_ranks(x) / max(n - 1, 1))
    by_rank = _chatterjee(x, ranks)
    by_diagonal = diagonal.log()
    by_row = (precision.abs().sum(dim=1) - diagonal).clamp(min=1e-8).log()
    regression = (-precision / diagonal).clamp(-5, 5)
    nonlinearity = ((1 - correlation**2).clamp(min=0) / residual.clamp(min=0.01)).clamp(0, 10)
    collider, child = _colliders(correlation.abs())
    one = torch.ones_like(correlation)
    within = (values.std(dim=0) / (values.amax(dim=0) - values.amin(dim=0)).clamp(min=1e-8)).clamp(0, 1)

    columns = [
        correlation,
        _outer(skew, torch.mul).clamp(-5, 5),
        partial,
        rank_correlation,
        rank_correlation.abs() - correlation.abs(),
        _outer(kurtosis, torch.mul).clamp(-500, 10000),
        (quadratic + quadratic.T) / 2,
        residual,
        residual.T,
        _outer(skew, torch.sub).clamp(-5, 5),
        _outer(kurtosis, torch.sub),
        squares.clamp(-10, 10),
        squares.T.clamp(-10, 10),
        dependence,
        dependence.T,
        (residual_skew - residual_skew.T).clamp(-5, 5),
        residual_kurtosis,
        residual_kurtosis.T,
        (entropy - entropy.T).clamp(-5, 5),
        (slope - slope.T).clamp(-10, 10),
        regression,
        (-precision / diagonal[:, None]).clamp(-5, 5),
        nonlinearity,
        nonlinearity.T,
        slope_variation,
        slope_variation.T,
        spread_variation,
        spread_variation.T,
        _outer(by_diagonal, torch.sub).clamp(-10, 10),
        _outer(by_row, torch.sub).clamp(-10, 10),
        by_rank,
        by_rank.T,
        explained,
        explained.T,
        slope_spread,
        slope_spread.T,
        _outer(curvature, torch.sub).clamp(-50, 50),
        collider,
        (partial.abs() - correlation.abs()).clamp(-2, 2),
        child,
        child.T,
        one * (diagonal.max() / diagonal.min().clamp(min=1e-6)).log().clamp(-10, 10),
        one * min(max(d, 2) / n, 1.0),
        _outer(within, torch.minimum),
        one,
    ]
    return torch.nan_to_num(torch.stack(columns, dim=-1), nan=0.0, posinf=0.0, neginf=0.0)


def directions(statistics: Tensor) -> Tensor:
    """The 20 statistics `[d, d, 20]` that tell i -> j from j -> i."""
    differences = [statistics[..., a] - statistics[..., b] for a, b in PAIRED]
    return torch.stack(differences + [statistics[..., a] for a in DIRECTED], dim=-1)


def standardised(values: Tensor) -> Tensor:
    """A table `[n, d]` with mean 0 and variance 1 (divisor n - 1)."""
    centred = values - values.mean(dim=0)
    return centred / ((centred**2).sum(dim=0) / max(len(values) - 1, 1)).sqrt().clamp(min=1e-8)


def _outer(per_variable: Tensor, operation) -> Tensor:
    return operation(per_variable[:, None], per_variable[None, :])


def _ranks(values: Tensor) -> Tensor:
    """0, 1, ..., n - 1 in each column of `[n, d]`."""
    return values.argsort(dim=0, stable=True).argsort(dim=0, stable=True).to(values)


def _without_outliers(values: Tensor) -> Tensor:
    """The table with what is ten robust standard deviations from the mean drawn in to there."""
    mean = values.mean(dim=0)
    width = (10 * 1.4826 * (values - mean).abs().mean(dim=0)).clamp(min=1e-7)
    return values.clamp(mean - width, mean + width).clamp(-1e15, 1e15)


def _precision(correlation: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """The inverse of a correlation matrix after shrinkage, and the magnitude of its diagonal."""
    d = max(len(correlation), 2)
    trace, squared = correlation.trace(), (correlation**2).sum()
    wanted = (1 - 2 / d) * squared + trace**2
    possible = (max(n, 3) + 1 - 2 / d) * (squared - trace**2 / d)
    amount = (wanted / possible.clamp(min=1e-8)).clamp(0.01, 1.0)
    identity = torch.eye(len(correlation)).to(correlation)
    precision = torch.linalg.inv((1 - amount) * correlation + amount * trace / d * identity + 1e-6 * identity)
    return precision, precision.diagonal().abs().clamp(min=1e-8)


def _kernel_regressions(x: Tensor, omega: Tensor, phase: Tensor) -> tuple[Tensor, ...]:
    """What is left of j, and how it depends on i, after leave-one-out kernel regression of j on i.

    Returns:
        Variance, skewness and kurtosis of the residual, HSIC of i and the residual, variance of the fit, each
        `[d, d]`; and `[d]` how much the second derivative of the log density of i varies.
    """
    n, d = x.shape
    count = max(n, 2)
    features = lambda scaled: math.sqrt(2 / len(omega)) * torch.cos(scaled[..., None] * omega + phase)  # noqa: E731
    off_diagonal = 1 - torch.eye(n).to(x)
    variance = ((x**2).sum(dim=0) / max(n - 1, 1)).clamp(min=1e-8)
    width = _bandwidths(x)
    rows = []
    for i in range(d):
        squared = (x[:, i, None] - x[None, :, i]) ** 2
        kernel = torch.exp(-squared / (2 * width[i] + 1e-8)) * off_diagonal
        total = kernel.sum(dim=1).clamp(min=1e-8)
        fitted = kernel @ x / total[:, None]
        curvature = (kernel * (squared / width[i] ** 2 - 1 / width[i])).sum(dim=1) / total

        residual = x - fitted
        spread = (residual**2).sum(dim=0) / max(count - 1, 1)
        scaled = residual / spread.sqrt().clamp(min=1e-8)
        explained = ((fitted**2).sum(dim=0) / count - (fitted.sum(dim=0) / count) ** 2).clamp(min=0)

        cause = features(x[:, i] / width[i].sqrt())
        effect = features(residual / (0.75 * width.sqrt()))
        together = torch.einsum("nm,njm->jm", cause, effect) / count
        dependence = together - cause.mean(dim=0) * effect.sum(dim=0) / count
        rows.append(
            (
                (spread / variance).clamp(0, 5),
                ((scaled**3).sum(dim=0) / count).clamp(-5, 5),
                ((scaled**4).sum(dim=0) / count - 3).clamp(-5, 100),
                dependence.clamp(-5, 5).square().sum(dim=1).clamp(max=10),
                (explained / variance).clamp(0, 5),
                curvature.clamp(-1000, 1000).var().clamp(0, 50),
            )
        )
    return tuple(torch.stack(column) for column in zip(*rows, strict=True))


def _bandwidths(x: Tensor) -> Tensor:
    """The median squared distance of two rows in each variable, `[d]`."""
    apart = torch.eye(len(x)).to(x) * 1e10
    medians = [((column[:, None] - column) ** 2 + apart).flatten().median() for column in x.T]
    return torch.stack(medians).clamp(0.01, 100)


def _binned(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """How the distribution of j changes along twenty bins of i with equally many rows.

    Returns:
        Conditional entropy of j given i as if it were Gaussian, the coefficient of variation of the conditional
        variance, and how the squared correlation varies between five groups of bins; each `[d, d]`.
    """
    n, d = x.shape
    place = torch.linspace(0, 1, _BINS + 1).to(x) * (max(n, _BINS) - 1)
    edges = x.sort(dim=0).values[place.round().long().clamp(0, n - 1)]
    bins = torch.searchsorted(edges[1:-1].T.contiguous(), x.T.contiguous()).T
    member = torch.nn.functional.one_hot(bins, _BINS).to(x)  # [n, i, bin]
    count = member.sum(dim=0)[:, None].expand(d, d, _BINS)
    total, squares = (torch.einsum("niq,nj->ijq", member, moment) for moment in (x, x**2))

    variance = (squares / count.clamp(min=2) - (total / count.clamp(min=2)) ** 2).clamp(min=1e-8)
    share = count / count.sum(dim=-1, keepdim=True).clamp(min=1) * (count >= 2)
    entropy = (share * 0.5 * variance.log()).sum(dim=-1)
    average = (share * variance).sum(dim=-1).clamp(min=1e-8)
    variation = (share * (variance - average[..., None]) ** 2).sum(dim=-1).sqrt() / average

    grouped = lambda sums: sums.unflatten(-1, (_GROUPS, _BINS // _GROUPS)).sum(dim=-1)  # noqa: E731
    member, count, total, squares = map(grouped, (member, count, total, squares))
    valid, size = count >= 3, count.clamp(min=3)
    own = torch.einsum("niq,ni->iq", member, x)[:, None] / size
    own_squares = torch.einsum("niq,ni->iq", member, x**2)[:, None] / size
    products = torch.einsum("niq,nj->ijq", member * x[..., None], x) / size
    mean = total / size
    spread = ((own_squares - own**2).clamp(min=1e-8) * (squares / size - mean**2).clamp(min=1e-8)).sqrt()
    fit = ((products - own * mean) / spread.clamp(min=1e-4)).clamp(-1, 1) ** 2
    groups = valid.sum(dim=-1).clamp(min=1)
    average_fit = (fit * valid).sum(dim=-1) / groups
    fit_variance = ((fit - average_fit[..., None]) ** 2 * valid).sum(dim=-1) / groups
    return entropy, variation.clamp(0, 5), fit_variance.clamp(0, 5)


def _information_geometry(u: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of the log slope of j along i, `[d, d]`, for a table `[n, d]` of ranks in [0, 1]."""
    log_steps = lambda sorted_rows: sorted_rows.diff(dim=0).abs().clamp(min=1e-8).log()  # noqa: E731
    means, variances = [], []
    for i in range(u.shape[1]):
        steps = log_steps(u[u[:, i].argsort()])
        slopes = (steps - steps[:, i, None]).clamp(-10, 10)
        mean = slopes.sum(dim=0) / max(len(slopes), 1)
        means.append(mean)
        variances.append(((slopes**2).sum(dim=0) / max(len(slopes), 1) - mean**2).clamp(0, 20))
    return torch.stack(means), torch.stack(variances)


def _chatterjee(x: Tensor, ranks: Tensor) -> Tensor:
    """How far j is a function of i, `[d, d]`, from the ranks `[n, d]` of j along i."""
    n, d = x.shape
    steps = torch.stack([ranks[x[:, i].argsort(stable=True)].diff(dim=0).abs().sum(dim=0) for i in range(d)])
    return (1 - 3 * steps / max(max(n - 1, 1) * max(n, 2), 1)).clamp(-0.5, 1)


def _colliders(strength: Tensor) -> tuple[Tensor, Tensor]:
    """Signs of i -> k <- j and of i -> j <- k for some k, each `[d, d]`, from absolute correlations."""
    d = len(strength)
    other = 1 - torch.eye(d).to(strength)
    third = other[:, None, :] * other[None, :, :]  # [i, j, k], k is neither i nor j
    weaker = torch.minimum(strength[:, None, :], strength[None, :, :]) * third  # of i, k and j, k
    collider = weaker.amax(dim=-1) * (1 - strength)
    into = torch.minimum(strength[:, :, None], strength[None, :, :]) * (1 - strength)[:, None, :] * third
    return collider.clamp(0, 5), into.amax(dim=-1).clamp(0, 5)
