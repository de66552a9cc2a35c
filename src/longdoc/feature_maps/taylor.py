"""The exponential's Taylor series to second order."""

import torch
from torch import Tensor, nn

from longdoc.feature_maps.base import FeatureMap
from longdoc.feature_maps.monomials import quadratic, quadratic_dim


class Taylor(FeatureMap):
    """phi(q)·phi(k) = 1 + s + s²/2 with s = q·k / sqrt(D), F = 1 + D + D (D + 1) / 2.

    Arora et al., "Simple linear attention language models balance the recall-throughput tradeoff" (Based), ICML 2024,
    with each product of two coordinates once. As there, heads wider than ``dim`` first learn a projection to ``dim``
    coordinates, which take D's place (16 make 153 features); None: never.

    Features are signed, the kernel is at least 1/2 (in float32 while |q| |k| / sqrt(D) stays in the hundreds). It is
    least at s = -1: opposite vectors weigh more again.
    """

    def __init__(self, head_dim: int, heads: int, dim: int | None = None) -> None:
        super().__init__(head_dim, heads)
        if dim is not None and dim < 1:
            raise ValueError(f"feature_map.dim={dim} must be at least 1")
        self.dim = head_dim if dim is None else min(dim, head_dim)
        self.feature_dim = 1 + self.dim + quadratic_dim(self.dim)
        self.weight: nn.Parameter | None = None
        if self.dim < head_dim:
            self.weight = nn.Parameter(torch.randn(heads, self.dim, head_dim) * head_dim**-0.5)

    def forward(self, x: Tensor) -> Tensor:
        if self.weight is not None:
            x = x @ self.weight.to(x.dtype).mT
        x = x * self.dim**-0.25
        return torch.cat([torch.ones_like(x[..., :1]), x, quadratic(x) * 0.5**0.5], dim=-1)
