"""The baseline, softmax attention, and its local form."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from longdoc.attention.rotary import rotate


class SoftmaxAttention(nn.Module):
    """softmax(q·k / sqrt(D)) v through PyTorch's fused kernel; no (N, N) matrix is stored.

    A document without a real token attends to everything, so that its rows stay finite; pooling ignores them. Causal,
    its state is every key and value read so far.
    """

    def __init__(self, head_dim: int, heads: int, causal: bool = False) -> None:
        super().__init__()
        self.causal = causal

    def forward(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        x: Tensor | None = None,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
        rotary: bool = False,
        state: dict[str, Any] | None = None,
    ) -> Tensor:
        """(B, H, N, D) x 3, mask (B, N), positions (N,) or (B, N) -> (B, H, N, D); ``x`` is not read.

        state: of a causal attention, what it has read before, {} at first; it is brought up to date in place.
        """
        if rotary:
            assert positions is not None
            q, k = rotate(q, positions), rotate(k, positions)
        if state is not None:
            k, v = _remember(state, k, v)
        if not self.causal:
            if mask is not None:
                mask = (mask | ~mask.any(-1, keepdim=True))[:, None, None, :]
            return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        if mask is None and q.shape[2] == k.shape[2]:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        earlier = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=q.device)
        earlier = earlier.tril(k.shape[2] - q.shape[2])
        if mask is not None:  # a token without a real one before it, which is padding, reads itself
            earlier = (earlier & mask[:, None, None, :]) | torch.eye(q.shape[2], dtype=torch.bool, device=q.device)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=earlier)


def _remember(state: dict[str, Any], k: Tensor, v: Tensor, most: int | None = None) -> tuple[Tensor, Tensor]:
    """The keys and values in ``state`` with the new ones behind them; ``state`` keeps the last ``most``."""
    if state:
        k, v = torch.cat([state["keys"], k], dim=2), torch.cat([state["values"], v], dim=2)
    state["keys"], state["values"] = k, v
    if most is not None and k.shape[2] > most:  # copies: a view would keep the whole piece alive
        state["keys"], state["values"] = k[:, :, -most:].clone(), v[:, :, -most:].clone()
    return k, v


class WindowAttention(nn.Module):
    """Softmax over the ``window`` tokens on either side, or over the ``window`` before it if causal, itself included.

    Blocks of ``window`` tokens read themselves and their neighbours: O(N · window) (Beltagy et al., Longformer, 2020,
    section 3.1). Distance is counted in places of the sequence.
    """

    def __init__(self, head_dim: int, heads: int, window: int = 64, causal: bool = False) -> None:
        super().__init__()
        if not isinstance(window, int) or window < 1:
            raise ValueError(f"attention.window={window} must be a whole number of tokens, at least 1")
        self.window = window
        self.causal = causal

    def forward(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        x: Tensor | None = None,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
        rotary: bool = False,
        state: dict[str, Any] | None = None,
    ) -> Tensor:
        """As SoftmaxAttention; the state is the keys and values of the last ``window`` tokens."""
        if rotary:
            assert positions is not None
            q, k = rotate(q, positions), rotate(k, positions)
        tokens, size = q.shape[2], self.window
        if state is not None:
            k, v = _remember(state, k, v, size)
        read = k.shape[2] - tokens  # tokens of the state, at most ``window``
        if tokens <= size:
            return self._dense(q, k, v, mask, read)
        # Blocks start at a query's place; the first reads a whole block before it, whatever the state holds.
        tail = -tokens % size
        sides = 1 if self.causal else 2
        q = F.pad(q, (0, 0, 0, tail)).unflatten(2, (-1, size))
        k, v = (
            F.pad(y, (0, 0, size - read, tail + (sides - 1) * size)).unfold(2, (sides + 1) * size, size).mT
            for y in (k, v)
        )
        blocks = q.shape[2]
        place = torch.arange(size, device=q.device)
        other = torch.arange((sides + 1) * size, device=q.device) - size
        distance = place[:, None] - other
        near = (distance <= size) & (distance >= (0 if self.causal else -size))
        # Where a block's keys stand in the sequence: before its start and behind its end there are none.
        at = torch.arange(blocks, device=q.device)[:, None] * size + other
        real = (at >= -read) & (at < tokens)
        if mask is not None:
            real = real & F.pad(mask, (size, tail + (sides - 1) * size)).unfold(1, (sides + 1) * size, size)
        allowed = near & (real[:, None, :, None, :] if mask is not None else real[None, None, :, None, :])
        allowed = allowed | (distance == 0)  # padding reads itself, so that its rows stay finite
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
        return out.flatten(2, 3)[:, :, :tokens]

    def _dense(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, read: int) -> Tensor:
        """For no more queries than a window, which a block would mostly pad."""
        distance = torch.arange(read, k.shape[2], device=q.device)[:, None] - torch.arange(k.shape[2], device=q.device)
        allowed = (distance <= self.window) & (distance >= (0 if self.causal else -self.window))
        if mask is not None:
            allowed = (allowed & mask[:, None, None, :]) | (distance == 0)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
