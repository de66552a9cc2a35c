"""Bias and variance of random features as estimates of softmax's exp(q·k / sqrt(D)), beside their formulas."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from omegaconf import OmegaConf
from torch import Tensor

from longdoc.analysis.subjects import Row
from longdoc.build import build
from longdoc.feature_maps import Favor, FavorHyperbolic, Oprf, Trigonometric, theory

FEATURES = (16, 64, 256, 1024)
SUM_SQUARED = (0.1, 0.3, 1.0, 2.0, 4.0, 8.0)  # |q + k|² in scaled units
ALL_AT = 64  # features at which every |q + k|² is measured
JUDGED = 0.3  # beyond, tails are too heavy for a measured variance to mean much
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
    configs = {name: OmegaConf.to_container(OmegaConf.load(conf / "feature_map" / f"{name}.yaml")) for name in names}
    return {name: config for name, config in configs.items() if type(build(config)(head_dim, 1)) in FORMULAS}


def variance(conf: Path, names: Sequence[str], head_dim: int, draws: int, seed: int) -> Iterator[Row]:
    """A row for each estimating map, number of features, kind of projection and |q + k|²."""
    for name, config in estimators(conf, names, head_dim).items():
        for features in FEATURES:
            points = SUM_SQUARED if features == ALL_AT else (JUDGED,)
            torch.manual_seed(seed)
            samples = _sample(build(config | {"features": features}), head_dim, features, draws, points)
            for (orthogonal, sum_squared), (relative, formula, rows) in samples.items():
                yield {
                    "map": name, "features": features, "projections": rows, "orthogonal": orthogonal,
                    "sum_squared": sum_squared, **judge(relative, formula, orthogonal, sum_squared),
                }  # fmt: skip


def _sample(
    factory: Callable[..., Any], head_dim: int, features: int, draws: int, points: Sequence[float]
) -> dict[tuple[bool, float], tuple[Tensor, float, int]]:
    """Estimates divided by exp(x·y), (draws,), with the formula and m, for orthogonal and independent projections."""
    draws = min(draws, 2**20 // features)
    at_once = max(1, ELEMENTS // (features * head_dim))
    parts: dict[tuple[bool, float], list[Tensor]] = {}
    for start in range(0, draws, at_once):
        phi = factory(head_dim, min(at_once, draws - start))  # a head a draw
        for orthogonal in (True, False):
            if not orthogonal:
                phi.projection.normal_()
            for point in points:
                x, y = pair(point, head_dim)
                if isinstance(phi, Oprf):
                    phi.a.copy_(theory.oprf_a((x + y).square().sum(), head_dim).expand_as(phi.a))
                parts.setdefault((orthogonal, point), []).append(estimates(phi, x, y) / (x @ y).exp())
    m = phi.projection.shape[1]
    found = {}
    for (orthogonal, point), values in parts.items():
        x, y = pair(point, head_dim)
        formula = FORMULAS[type(phi)](phi, (x + y).square().sum(), (x - y).square().sum(), m)
        found[orthogonal, point] = (torch.cat(values), formula.item(), m)
    return found


def judge(relative: Tensor, formula: float, orthogonal: bool, sum_squared: float) -> Row:
    """Bias and variance of estimates divided by what they estimate, each with its standard error.

    Within theory: a bias within 4 standard errors of 0, and a variance within 5 % (or 4 standard errors, if that is
    more) of the formula for independent projections; for orthogonal ones, no more than so much above it.
    """
    n = len(relative)
    squares = (relative - 1).square()  # the mean is known, so this is unbiased
    bias, bias_error = (relative.mean() - 1).item(), (relative.std() / n**0.5).item()
    spread, spread_error = squares.mean().item(), (squares.std() / n**0.5).item()
    off = spread - formula if orthogonal else abs(spread - formula)
    within = abs(bias) < ERRORS * bias_error and off < max(TOLERANCE * formula, ERRORS * spread_error)
    return {
        "draws": n, "bias": bias, "bias_error": bias_error, "variance": spread, "variance_error": spread_error,
        "formula": formula, "within_theory": within if sum_squared <= JUDGED else None,
    }  # fmt: skip
