"""Decay: how linear attention forgets with distance. Each module gives ``log_decay`` <= 0, in float32 or wider.

Distance is counted in places of the sequence, which padding on either side of a document does not change.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def half_lives(count: int, shortest: float, longest: float) -> Tensor:
    """(count,) rates in nats a token, whose half-lives spread geometrically over [shortest, longest] tokens."""
    if not 0 < shortest <= longest:
        raise ValueError(f"decay.shortest={shortest} must be > 0 and at most decay.longest={longest}")
    return math.log(2) / torch.logspace(math.log10(shortest), math.log10(longest), count)


class Decay(nn.Module):
    """x (B, N, M) -> log_decay (H,), (B, H, N) or (B, H, N, F), or None for no decay.

    Made by the attention as ``factory(head_dim, heads, feature_dim)``.
    """

    def __init__(self, head_dim: int, heads: int, feature_dim: int) -> None:
        super().__init__()
        self.heads = heads

    def forward(self, x: Tensor) -> Tensor | None:
        raise NotImplementedError


class NoDecay(Decay):
    """Every distance weighs the same."""

    def forward(self, x: Tensor) -> Tensor | None:
        return None


class FixedDecay(Decay):
    """A learned rate a head, exp(-rate·|i - j|) (Sun et al., RetNet, 2023; LION-D: Afzal et al., 2025)."""

    def __init__(
        self, head_dim: int, heads: int, feature_dim: int, shortest: float = 16, longest: float = 4096
    ) -> None:
        super().__init__(head_dim, heads, feature_dim)
        self.log_rate = nn.Parameter(half_lives(heads, shortest, longest).log())

    def forward(self, x: Tensor) -> Tensor:
        return -self.log_rate.exp()


class SelectiveDecay(Decay):
    """A rate from each token, softplus(w_h·x + b_h) (Mamba-2: Dao and Gu, 2024, eq. 2; LION-S: Afzal et al., 2025)."""

    def __init__(
        self, head_dim: int, heads: int, feature_dim: int, shortest: float = 16, longest: float = 4096
    ) -> None:
        super().__init__(head_dim, heads, feature_dim)
        self.rate = nn.Linear(heads * head_dim, heads, bias=False)
        self.bias = nn.Parameter(_inverse_softplus(half_lives(heads, shortest, longest)))

    def forward(self, x: Tensor) -> Tensor:
        return _rates(_linear(x, self.rate), self.bias).mT.contiguous()


class ChannelDecay(Decay):
    """A rate for each token and feature through a narrow layer (Yang et al., GLA, 2023, section 4.3)."""

    def __init__(
        self, head_dim: int, heads: int, feature_dim: int, shortest: float = 16, longest: float = 4096, rank: int = 16
    ) -> None:
        super().__init__(head_dim, heads, feature_dim)
        self.narrow = nn.Linear(heads * head_dim, rank, bias=False)
        self.rate = nn.Linear(rank, heads * feature_dim, bias=False)
        self.bias = nn.Parameter(_inverse_softplus(half_lives(feature_dim, shortest, longest)).repeat(heads))

    def forward(self, x: Tensor) -> Tensor:
        rates = _rates(_linear(_linear(x, self.narrow), self.rate), self.bias)
        return rates.unflatten(-1, (self.heads, -1)).transpose(1, 2)


def _inverse_softplus(rate: Tensor) -> Tensor:
    return rate.expm1().log()


def _linear(x: Tensor, layer: nn.Linear) -> Tensor:
    """In x's type, which is wide, whatever the weights'."""
    return F.linear(x, layer.weight.to(x.dtype))


def _rates(x: Tensor, bias: Tensor) -> Tensor:
    return -F.softplus(x + bias)
