"""Bias and variance of random features as estimates of softmax's exp(q·k / sqrt(D)), beside their formulas."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from longdoc.analysis.subjects import Row, read
from longdoc.build import build
from longdoc.feature_maps import Favor, FavorHyperbolic, Oprf, Trigonometric, theory

FEATURES = (16, 64, 256, 1024)
SUM_SQUARED = (0.1, 0.3, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0)  # |q + k|² in scaled units
ALL_AT = 64  # features at which every |q + k|² is measured
JUDGED = 0.3  # the largest at which variances are judged
COSINE = 0.25  # between q and k
ERRORS, TOLERANCE = 4.0, 0.05
ELEMENTS = 2**24  # of the projections held at a time

# Relative variances of m independent projections from a = |x + y|² and b = |x - y|².
FORMULAS: dict[type, Callable[[Any, Tensor, Tensor, int], Tensor]] = {
    Favor: lambda _, a, b, m: theory.favor_variance(a, m),
    FavorHyperbolic: lambda _, a, b, m: theory.hyperbolic_variance(a, m),
    Trigonometric: lambda _, a, b, m: theory.trigonometric_variance(b, m),
    Oprf: lambda phi, a, b, m: theory.oprf_variance(a, m, phi.head_dim, theory.oprf_a(a, phi.head_dim)),
}


def pair(sum_squared: float, dim: int) -> tuple[Tensor, Tensor]:
    """x and y (D,) of one length with |x + y|² as given and a fixed cosine, in a direction off the axes, float64."""
    turn = torch.linalg.qr(torch.randn(dim, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1)))[0]
    length = (sum_squared / (2 + 2 * COSINE)) ** 0.5
    return length * turn[:, 0], length * (COSINE * turn[:, 0] + (1 - COSINE**2) ** 0.5 * turn[:, 1])


def estimates(phi: Any, x: Tensor, y: Tensor) -> Tensor:
    """exp(x·y) as each head's projection estimates it, without the stabilisers, (H,)."""
    q, k = (side.expand(1, phi.heads, 1, -1) * phi.head_dim**0.25 for side in (x, y))
    if isinstance(phi, Trigonometric):
        found = (phi.query(q) * phi.key(k)).sum(-1) * x.square().sum().div(2).exp()
    else:
        found = (phi.log_query(q) + phi.log_features(k)).exp().sum(-1)
    return found.flatten()


def estimators(conf: Path, names: Iterable[str], head_dim: int) -> dict[str, dict[str, Any]]:
    """The configs of those maps that estimate softmax's kernel."""
    configs = {name: read(conf, "feature_map", name) for name in names}
    return {name: config for name, config in configs.items() if type(build(config)(head_dim, 1)) in FORMULAS}


def variance(conf: Path, names: Sequence[str], head_dim: int, draws: int, seed: int) -> Iterator[Row]:
    """A row for each estimating map, number of features and |q + k|², with both kinds of projections in it.

    ``within_theory`` is None beyond |q + k|² = 0.3, where tails are too heavy for a measured variance to mean much.
    """
    for name, config in estimators(conf, names, head_dim).items():
        for features in FEATURES:
            torch.manual_seed(seed)
            factory = build(config | {"features": features})
            points = SUM_SQUARED if features == ALL_AT else (JUDGED,)
            for row in measure(factory, head_dim, features, min(draws, 2**20 // features), points):
                yield {"map": name, "features": features, **row}


def measure(
    factory: Callable[..., Any], head_dim: int, features: int, draws: int, points: Sequence[float]
) -> Iterator[Row]:
    """The rows of one map and number of features, from the same draws at every point."""
    at_once = max(1, ELEMENTS // (features * head_dim))
    found: dict[float, dict[str, list[Tensor]]] = {point: {"orthogonal": [], "independent": []} for point in points}
    for start in range(0, draws, at_once):
        phi = factory(head_dim, min(at_once, draws - start))  # a head a draw
        for kind in ("orthogonal", "independent"):
            if kind == "independent":
                phi.projection.normal_()
            for point in points:
                x, y = pair(point, head_dim)
                if isinstance(phi, Oprf):
                    phi.a.copy_(theory.oprf_a(torch.tensor(point), head_dim).expand_as(phi.a))
                found[point][kind].append(estimates(phi, x, y) / (x @ y).exp())
    m = phi.projection.shape[1]
    for point, samples in found.items():
        x, y = pair(point, head_dim)
        formula = FORMULAS[type(phi)](phi, (x + y).square().sum(), (x - y).square().sum(), m).item()
        judged = {kind: judge(torch.cat(values), formula, kind == "orthogonal") for kind, values in samples.items()}
        within = all(row.pop("within_theory") for row in judged.values())
        yield {
            "projections": m, "draws": draws, "sum_squared": point, "formula": formula, **judged,
            "within_theory": within if point <= JUDGED else None,
        }  # fmt: skip


def judge(relative: Tensor, formula: float, orthogonal: bool) -> Row:
    """Bias and variance of estimates divided by what they estimate, each with its standard error.

    Within theory: a bias within 4 standard errors of 0, and a variance within 5 % (or 4 standard errors, if that is
    more) of the formula for independent projections; for orthogonal ones, no more than so much above it.
    """
    root = len(relative) ** 0.5
    squares = (relative - 1).square()  # the mean is known, so this is unbiased
    bias, bias_error = (relative.mean() - 1).item(), (relative.std() / root).item()
    spread, spread_error = squares.mean().item(), (squares.std() / root).item()
    off = spread - formula if orthogonal else abs(spread - formula)
    return {
        "bias": bias, "bias_error": bias_error, "variance": spread, "variance_error": spread_error,
        "within_theory": abs(bias) < ERRORS * bias_error and off < max(TOLERANCE * formula, ERRORS * spread_error),
    }  # fmt: skip
