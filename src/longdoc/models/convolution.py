"""A short convolution over tokens."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class ShortConvolution(nn.Module):
    """x + a depthwise convolution of x over ``kernel`` neighbouring tokens, blind to padding.

    Causal: over each token and those before it (as in Mamba and GLA); else half on either side.
    """

    def __init__(self, width: int, kernel: int, causal: bool) -> None:
        super().__init__()
        if kernel < 2 or (not causal and kernel % 2 == 0):
            least = "2 tokens" if causal else "3 tokens and odd, as attention is not causal"
            raise ValueError(f"encoder.convolution={kernel} must be 0 or at least {least}")
        self.kernel = kernel
        self.causal = causal
        self.weight = nn.Parameter(torch.empty(kernel, width).uniform_(-(kernel**-0.5), kernel**-0.5))

    def forward(self, x: Tensor, mask: Tensor | None = None, state: dict[str, Any] | None = None) -> Tensor:
        """x (B, N, M), mask (B, N); state: of a causal one, the last kernel - 1 tokens, {} at first -> (B, N, M)."""
        real = x if mask is None else x * mask[..., None].to(x.dtype)
        before = self.kernel - 1 if self.causal else self.kernel // 2
        if state:
            padded = torch.cat([state["tail"], real], dim=1)
        else:
            padded = F.pad(real, (0, 0, before, self.kernel - 1 - before))
        if state is not None:
            state["tail"] = padded[:, padded.shape[1] - before :].clone()
        weight = self.weight.to(x.dtype)
        # Shifted products, which compile into one pass; a convolution would transpose tokens and channels twice.
        for i in range(self.kernel):
            x = x + weight[i] * padded[:, i : i + real.shape[1]]
        return x
