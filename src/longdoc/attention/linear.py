"""Linear attention over a feature map."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from longdoc.attention.ops import linear_attention
from longdoc.attention.rotary import rotate
from longdoc.feature_maps import FeatureMap


class LinearAttention(nn.Module):
    """phi(q)·phi(k) in place of exp(q·k): linear in N, with a state of F x E numbers a head.

    Features, sums and the division run in float32 (float64 for float64 input) under any autocast: a sum of
    features leaves fp16's range at a thousand tokens and loses bf16's 8 bits long before.
    """

    def __init__(self, head_dim: int, heads: int, feature_map: Callable[[int, int], FeatureMap]) -> None:
        super().__init__()
        self.feature_map = feature_map(head_dim, heads)

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, positions: Tensor | None) -> Tensor:
        """(B, H, N, D) x 3, mask (B, N), rotary positions (N,) or (B, N) -> (B, H, N, D)."""
        dtype, wide = v.dtype, torch.promote_types(v.dtype, torch.float32)
        with torch.autocast(v.device.type, enabled=False):
            q = self.feature_map.query(q.to(wide))
            k = self.feature_map.key(k.to(wide))
            turn = None if positions is None else partial(rotate, positions=positions)
            return linear_attention(q, k, v.to(wide), mask, turn).to(dtype)
