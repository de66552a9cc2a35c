"""Where a token stands, and the additive ways to say so. Rotary positions live with the attention."""

import math

import torch
from torch import Tensor, nn

POSITIONS = ("none", "learned", "sinusoidal", "rotary")


def token_positions(ids: Tensor, mask: Tensor | None) -> Tensor:
    """The place of each token among its document's real ones: (N,) without padding, else (B, N).

    Padding, on either side, moves no token.
    """
    if mask is None:
        return torch.arange(ids.shape[1], device=ids.device)
    return (mask.cumsum(-1) - 1).clamp(min=0)


class LearnedPositions(nn.Module):
    """A trained vector for each of ``max_length`` positions."""

    def __init__(self, width: int, max_length: int) -> None:
        super().__init__()
        self.table = nn.Embedding(max_length, width)
        nn.init.normal_(self.table.weight, std=0.02)

    def forward(self, positions: Tensor) -> Tensor:
        """(N,) or (B, N) -> the same with M behind; ValueError for a position beyond the table."""
        rows = self.table.num_embeddings
        # Cheap where the shape alone shows that all is well; padding may be longer than the table.
        if positions.shape[-1] > rows:
            self.require(int(positions.max()) + 1)
        return self.table(positions)

    def require(self, tokens: int) -> None:
        """Raises ValueError if so many tokens do not fit."""
        if tokens > self.table.num_embeddings:
            raise ValueError(
                f"a document of {tokens} tokens is longer than the learned position table "
                f"of {self.table.num_embeddings}; cut it, or train with encoder.positions=sinusoidal, rotary or none"
            )


class SinusoidalPositions(nn.Module):
    """sin and cos of position·10000^(-2i/M) (Vaswani et al., 2017, section 3.5), for any length."""

    def __init__(self, width: int) -> None:
        super().__init__()
        if width % 2:
            raise ValueError(f"encoder.positions=sinusoidal needs an even encoder.width, not {width}")
        self.width = width

    def forward(self, positions: Tensor) -> Tensor:
        """(N,) or (B, N) -> the same with M behind."""
        half = self.width // 2
        wide = torch.arange(half, device=positions.device, dtype=torch.float64)
        angle = positions[..., None] * torch.exp(-math.log(10_000) * wide / half)
        # Token embeddings start at a standard deviation of 0.02; unit waves would drown them.
        return 0.02 * torch.cat([angle.sin(), angle.cos()], dim=-1)


def additive_positions(kind: str, width: int, max_length: int) -> nn.Module | None:
    """The module that ``encoder.positions`` names, or None for those that add nothing."""
    if kind not in POSITIONS:
        raise ValueError(f"encoder.positions={kind} is not one of {', '.join(POSITIONS)}")
    if kind == "learned":
        return LearnedPositions(width, max_length)
    return SinusoidalPositions(width) if kind == "sinusoidal" else None
