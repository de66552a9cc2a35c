"""Linear attention as pure functions of features.

Shapes: B batch, H heads, N tokens, F feature dim, E value dim; a mask is (B, N) bool, True = real token.
"""

from collections.abc import Callable

import torch
from torch import Tensor

# A float32 product over this many tokens is exact to ~1e-6; longer sums go chunk by chunk into float64.
SUM_CHUNK = 16_384


def _keys_times_values(k: Tensor, v: Tensor) -> Tensor:
    """sum_n k_n v_nᵀ: (B, H, N, F), (B, H, N, E) -> (B, H, F, E), without loss over millions of tokens."""
    if k.shape[2] <= SUM_CHUNK:
        return k.mT @ v
    chunks = zip(k.split(SUM_CHUNK, dim=2), v.split(SUM_CHUNK, dim=2), strict=True)
    total = torch.zeros((), dtype=torch.float64, device=k.device)
    for k_chunk, v_chunk in chunks:
        total = total + (k_chunk.mT @ v_chunk).double()
    return total.to(k.dtype)


def _times_state(q: Tensor, state: Tensor) -> Tensor:
    """q @ state, in the same chunks, since the gradient of the state is again a sum over tokens."""
    if q.shape[2] <= SUM_CHUNK:
        return q @ state
    return torch.cat([chunk @ state for chunk in q.split(SUM_CHUNK, dim=2)], dim=2)


def _sum_tokens(x: Tensor) -> Tensor:
    """Sum over axis 2, kept: (B, H, N, X) -> (B, H, 1, X), in float64 where N is large."""
    if x.shape[2] <= SUM_CHUNK:
        return x.sum(2, keepdim=True)
    return x.sum(2, keepdim=True, dtype=torch.float64).to(x.dtype)


def linear_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    rotate: Callable[[Tensor], Tensor] | None = None,
) -> Tensor:
    """Every token reads every real token with weight q_i·k_j / sum_j q_i·k_j, in O(N·F·E).

    (B, H, N, F), (B, H, N, F), (B, H, N, E) -> (B, H, N, E) (Katharopoulos et al. 2020, eqs. 4-6). There is
    no epsilon: where the denominator is 0 (no feature fires, or the document is empty), or so small that the
    products in it underflow (1e-31 in float32), the result is the mean of the real values. ``rotate`` turns
    queries and keys in the numerator only (Su et al., RoFormer, eq. 19): weights may then be negative and need
    not sum to 1.
    """
    if mask is not None:
        real = mask[:, None, :, None].to(k.dtype)
        k, v = k * real, v * real
        count = real.sum(2, keepdim=True).clamp(min=1)
    else:
        count = torch.full((), k.shape[2], dtype=k.dtype, device=k.device)
    denominator = _times_state(q, _sum_tokens(k).mT)
    if rotate is not None:
        q, k = rotate(q), rotate(k)
    numerator = _times_state(q, _keys_times_values(k, v))
    # A smaller sum has lost bits to underflow, and its gradient would overflow.
    fires = denominator.abs() > torch.finfo(k.dtype).tiny / torch.finfo(k.dtype).eps
    return torch.where(fires, numerator / torch.where(fires, denominator, 1), _sum_tokens(v) / count)
