"""What is known of random features: how far m of them stray from exp(x·y).

Pure functions of tensors. x and y are a query and a key times D^-1/4, so that exp(x·y) is softmax's exp(q·k / sqrt(D));
all estimates are unbiased, and a variance is that of the estimate divided by exp(x·y), for m independent projections.
The relative error to expect is its root. Orthogonal projections stay below it (``orthogonal_bound``).
"""

import torch
from torch import Tensor


def favor_variance(sum_squared: Tensor, m: int) -> Tensor:
    """(e^a - 1) / m with a = |x + y|² (Choromanski et al., ICLR 2021, lemma 2)."""
    return torch.expm1(sum_squared) / m


def hyperbolic_variance(sum_squared: Tensor, m: int) -> Tensor:
    """(cosh a - 1) / m with a = |x + y|², for m projections, 2 m features (Choromanski et al., lemma 2)."""
    return 2 * torch.sinh(sum_squared / 2).square() / m


def trigonometric_variance(difference_squared: Tensor, m: int) -> Tensor:
    """(cosh b - 1) / m with b = |x - y|², for m projections, 2 m features (Choromanski et al., lemma 2).

    Their e^(|x|² + |y|²) (1 - e^-b)² / (2 m), divided by exp(x·y)²: the mirror image of the hyperbolic one.
    """
    return hyperbolic_variance(difference_squared, m)


def oprf_variance(sum_squared: Tensor, m: int, dim: int, a: Tensor) -> Tensor:
    """((1 - 4A)^D (1 - 8A)^(-D/2) exp(2 (1 - 4A) |x + y|² / (1 - 8A) - |x + y|²) - 1) / m, for A = ``a`` < 1/8.

    The second moment of positive features with |w|² in the exponent (Likhosherstov et al., "Chefs' Random Tables",
    NeurIPS 2022), less 1; ``favor_variance`` at A = 0.
    """
    growth = dim * torch.log1p(-4 * a) - dim / 2 * torch.log1p(-8 * a)
    return torch.expm1(growth + sum_squared / (1 - 8 * a)) / m


def oprf_a(mean_sum_squared: Tensor, dim: int) -> Tensor:
    """The A <= 0 that makes the mean over pairs of log second moments least, from the mean of |x + y|².

    (1 - 2 s - sqrt((2 s + 1)² + 8 s)) / 16 with s = mean |x + y|² / D (Likhosherstov et al.), written without its
    cancellation at small s.
    """
    s = mean_sum_squared / dim
    root = torch.sqrt((2 * s + 1).square() + 8 * s)
    return -s / 2 * (1 + 2 / (root + 1 + 2 * s)) / 2


def orthogonal_bound(variance: Tensor, x: Tensor, y: Tensor, m: int) -> Tensor:
    """``favor_variance`` less what m <= D orthogonal projections save at least (Choromanski et al., theorem 2).

    x, y: (..., D); ``variance``: (...), that of m independent projections.
    """
    dim = x.shape[-1]
    other = torch.exp(-(x + y).square().sum(-1) / 2)
    return variance - 2 * (m - 1) / (m * (dim + 2)) * (1 - other).square()


def arc_cosine(x: Tensor, y: Tensor) -> Tensor:
    """E relu(w·x) relu(w·y) = |x| |y| (sin t + (pi - t) cos t) / (2 pi), t the angle; (..., D) -> (...).

    Half the arc-cosine kernel of order 1 (Cho and Saul, NeurIPS 2009, eq. 6).
    """
    length = x.norm(dim=-1) * y.norm(dim=-1)
    angle = torch.acos(torch.cosine_similarity(x, y, dim=-1).clamp(-1, 1))
    return length * (torch.sin(angle) + (torch.pi - angle) * torch.cos(angle)) / (2 * torch.pi)
