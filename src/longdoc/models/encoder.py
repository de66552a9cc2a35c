"""The encoder: a stack of pre-norm blocks."""

from collections.abc import Callable

from torch import Tensor, nn

from longdoc.attention import MultiHeadAttention
from longdoc.models.positions import additive_positions, token_positions


class Block(nn.Module):
    """x + attention(norm(x)), then x + feedforward(norm(x))."""

    def __init__(
        self,
        width: int,
        heads: int,
        feedforward: int,
        dropout: float,
        attention: Callable[[int, int], nn.Module],
        gate: bool,
    ) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = MultiHeadAttention(width, heads, attention, gate)
        self.feedforward_norm = nn.LayerNorm(width)
        self.feedforward = nn.Sequential(
            nn.Linear(width, feedforward, bias=False), nn.GELU(), nn.Linear(feedforward, width, bias=False)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor | None, positions: Tensor | None) -> Tensor:
        x = x + self.dropout(self.attention(self.attention_norm(x), mask, positions))
        return x + self.dropout(self.feedforward(self.feedforward_norm(x)))


class Encoder(nn.Module):
    """Token ids to one vector a token.

    ``attention`` is a factory (head_dim, heads) -> mixer; ``positions`` one of none, learned, sinusoidal, rotary;
    ``max_length`` sizes the learned table and bounds nothing else.
    """

    def __init__(
        self,
        vocab_size: int,
        max_length: int,
        width: int,
        depth: int,
        heads: int,
        feedforward: int,
        attention: Callable[[int, int], nn.Module],
        dropout: float = 0.0,
        positions: str = "none",
        gate: bool = False,
    ) -> None:
        super().__init__()
        self.vocab_size = vocab_size
        self.width = width
        self.rotary = positions == "rotary"
        self.embedding = nn.Embedding(vocab_size, width)
        nn.init.normal_(self.embedding.weight, std=0.02)
        self.positions = additive_positions(positions, width, max_length)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(Block(width, heads, feedforward, dropout, attention, gate) for _ in range(depth))
        self.norm = nn.LayerNorm(width)

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """ids (B, N) long, mask (B, N) bool or None -> output and token embeddings, each (B, N, M)."""
        embedded = self.embedding(ids)
        positions = token_positions(ids, mask)
        x = embedded if self.positions is None else embedded + self.positions(positions)
        x = self.dropout(x)
        for block in self.blocks:
            x = block(x, mask, positions if self.rotary else None)
        return self.norm(x), embedded
