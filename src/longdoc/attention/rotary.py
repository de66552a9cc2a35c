"""Rotary positions."""

import torch
from torch import Tensor

BASE = 10_000.0


def rotate(x: Tensor, positions: Tensor) -> Tensor:
    """Turns pairs (x_i, x_{i+X/2}) by the angle position·10000^(-2i/X) (Su et al., RoFormer, 2021, eq. 15).

    x (B, H, N, X) with X even, positions (N,) or (B, N) -> (B, H, N, X). Angles are float32 or wider: in half
    precision positions beyond 256 collapse.
    """
    half = x.shape[-1] // 2
    if 2 * half != x.shape[-1]:
        raise ValueError(
            f"encoder.positions=rotary needs an even size of heads, and encoder.width / encoder.heads is {x.shape[-1]}"
        )
    wide = torch.promote_types(x.dtype, torch.float32)
    frequency = BASE ** (-torch.arange(half, device=x.device, dtype=wide) / half)
    angle = positions.to(wide)[..., None] * frequency
    if angle.dim() == 3:  # (B, N, half): one row of positions a document
        angle = angle[:, None]
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)
