"""The baseline: softmax attention."""

import torch.nn.functional as F
from torch import Tensor, nn

from longdoc.attention.rotary import rotate


class SoftmaxAttention(nn.Module):
    """softmax(q·k / sqrt(D)) v through PyTorch's fused kernel; no (N, N) matrix is stored.

    A document without a real token attends to everything, so that its rows stay finite; pooling ignores them.
    """

    def __init__(self, head_dim: int, heads: int) -> None:
        super().__init__()

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, positions: Tensor | None) -> Tensor:
        """(B, H, N, D) x 3, mask (B, N), rotary positions (N,) or (B, N) -> (B, H, N, D)."""
        if positions is not None:
            q, k = rotate(q, positions), rotate(k, positions)
        if mask is not None:
            mask = (mask | ~mask.any(-1, keepdim=True))[:, None, None, :]
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
