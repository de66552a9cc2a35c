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
        # Compiled, only where the shape leaves a doubt. Padding may be longer than the table, a stream's piece shorter.
        doubtful = positions.shape[-1] > rows or not torch.compiler.is_compiling()
        if doubtful and int(positions.max()) >= rows:
            raise ValueError(
                f"a document of {int(positions.max()) + 1} tokens is longer than the learned position table "
                f"of {rows}; lower task.max_length or choose encoder.positions=sinusoidal, rotary or none"
            )
        return self.table(positions)


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
        frequency = torch.exp(-math.log(10_000) * torch.arange(half, device=positions.device) / half)
        angle = positions[..., None] * frequency
        # Token embeddings start at a standard deviation of 0.02; unit waves would drown them.
        return 0.02 * torch.cat([angle.sin(), angle.cos()], dim=-1)


def additive_positions(kind: str, width: int, max_length: int) -> nn.Module | None:
    """The module that ``encoder.positions`` names, or None for those that add nothing."""
    if kind not in POSITIONS:
        raise ValueError(f"encoder.positions={kind} is not one of {', '.join(POSITIONS)}")
    if kind == "learned":
        return LearnedPositions(width, max_length)
    return SinusoidalPositions(width) if kind == "sinusoidal" else None
