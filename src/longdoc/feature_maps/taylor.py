"""The exponential's Taylor series to second order."""

import torch
from torch import Tensor

from longdoc.feature_maps.quadratic import QuadraticMap, quadratic, quadratic_dim


class Taylor(QuadraticMap):
    """phi(q)·phi(k) = 1 + s + s²/2 with s = q·k / sqrt(D), F = 1 + D + D (D + 1) / 2.

    Arora et al., "Simple linear attention language models balance the recall-throughput tradeoff" (Based), ICML 2024,
    with each product of two coordinates once. As there, heads wider than ``dim`` first learn a projection to ``dim``
    coordinates, which take D's place (16 make 153 features); None: never.

    Features are signed, the kernel is at least 1/2 (in float32 while |q| |k| / sqrt(D) stays in the hundreds). It is
    least at s = -1: opposite vectors weigh more again.
    """

    def __init__(self, head_dim: int, heads: int, dim: int | None = None) -> None:
        super().__init__(head_dim, heads, dim)
        self.feature_dim = 1 + self.dim + quadratic_dim(self.dim)

    def forward(self, x: Tensor) -> Tensor:
        x = self.project(x) * self.dim**-0.25
        # The constant stands last, where F is odd and rotary positions, which turn pairs, leave it over.
        return torch.cat([x, quadratic(x) * 0.5**0.5, torch.ones_like(x[..., :1])], dim=-1)
