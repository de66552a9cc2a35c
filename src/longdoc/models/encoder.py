"""The encoder: a stack of pre-norm blocks."""

from typing import Any

from torch import Tensor, nn

from longdoc.attention import MultiHeadAttention
from longdoc.attention.multihead import Mixer
from longdoc.feature_maps import FeatureMap
from longdoc.models.convolution import ShortConvolution
from longdoc.models.inputs import token_inputs
from longdoc.models.positions import LearnedPositions, additive_positions, token_positions


class Block(nn.Module):
    """x + attention(convolution(norm(x))), then x + feedforward(norm(x))."""

    def __init__(
        self, attention: MultiHeadAttention, width: int, feedforward: int, dropout: float, convolution: int
    ) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.convolution = ShortConvolution(width, convolution, attention.causal) if convolution else None
        self.attention = attention
        self.feedforward_norm = nn.LayerNorm(width)
        self.feedforward = nn.Sequential(
            nn.Linear(width, feedforward, bias=False), nn.GELU(), nn.Linear(feedforward, width, bias=False)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor | None, positions: Tensor, state: dict[str, Any] | None = None) -> Tensor:
        normed = self.read(x, mask, state)
        mixed = self.attention(normed, mask, positions, None if state is None else state.setdefault("attention", {}))
        return self.join(x, mixed)

    def read(self, x: Tensor, mask: Tensor | None = None, state: dict[str, Any] | None = None) -> Tensor:
        """What attention reads of x (B, N, M)."""
        normed = self.attention_norm(x)
        if self.convolution is None:
            return normed
        return self.convolution(normed, mask, None if state is None else state.setdefault("convolution", {}))

    def join(self, x: Tensor, mixed: Tensor) -> Tensor:
        """x and what attention made of it -> the block's output, each (B, N, M)."""
        x = x + self.dropout(mixed)
        return x + self.dropout(self.feedforward(self.feedforward_norm(x)))


class Encoder(nn.Module):
    """Token ids to one vector a token.

    attention: a factory (head_dim, heads) -> mixer.
    inputs: tokens, a vector for each id, or values, ids taken as gray levels (see GrayLevels).
    positions: none, learned, sinusoidal or rotary; ``max_length`` sizes the learned table and bounds nothing else.
    head_dim, gate, qk_norm: see MultiHeadAttention.
    convolution: tokens of a short convolution before attention, 0 for none.
    hybrid_every, hybrid_attention: every so many blocks one mixes by the other factory; 0 for none.
    The encoder is causal if its mixers are.
    """

    def __init__(
        self,
        vocab_size: int,
        max_length: int,
        width: int,
        depth: int,
        heads: int,
        feedforward: int,
        attention: Mixer,
        dropout: float = 0.0,
        inputs: str = "tokens",
        positions: str = "none",
        gate: bool = False,
        qk_norm: bool = False,
        convolution: int = 0,
        hybrid_every: int = 0,
        hybrid_attention: Mixer | None = None,
        head_dim: int | None = None,
    ) -> None:
        super().__init__()
        sizes = {"width": width, "depth": depth, "heads": heads, "feedforward": feedforward}
        sizes |= {} if head_dim is None else {"head_dim": head_dim}
        for name, size in sizes.items():
            if not isinstance(size, int) or size < 1:
                raise ValueError(f"encoder.{name}={size} must be a whole number of at least 1")
        if not 0 <= hybrid_every <= depth:
            raise ValueError(
                f"encoder.hybrid_every={hybrid_every} must be 0 for none, or at most encoder.depth={depth}"
            )
        if hybrid_every and hybrid_attention is None:
            raise ValueError(f"encoder.hybrid_every={hybrid_every} needs encoder.hybrid_attention")
        self.vocab_size = vocab_size
        self.width, self.feedforward = width, feedforward
        self.embedding = token_inputs(inputs, vocab_size, width)
        self.positions = additive_positions(positions, width, max_length)
        self.dropout = nn.Dropout(dropout)
        blocks = []
        for i in range(depth):
            other = hybrid_attention if hybrid_every and (i + 1) % hybrid_every == 0 else None
            mixing = MultiHeadAttention(
                width, heads, other or attention, gate, qk_norm, positions == "rotary", head_dim
            )
            blocks.append(Block(mixing, width, feedforward, dropout, convolution))
        self.blocks = nn.ModuleList(blocks)
        self.causal = blocks[0].attention.causal
        if any(block.attention.causal != self.causal for block in blocks):
            raise ValueError("encoder.attention and encoder.hybrid_attention must both be causal, or neither")
        self.norm = nn.LayerNorm(width)

    def forward(
        self, ids: Tensor, mask: Tensor | None = None, state: dict[str, Any] | None = None
    ) -> tuple[Tensor, Tensor]:
        """ids (B, N) long, mask (B, N) bool or None -> output and token embeddings, each (B, N, M).

        state: of a causal encoder, what it has read of these B streams, {} at first; it is brought up to date in place,
        and the next piece goes on from it. It holds tensors, numbers, lists and dicts alone, so torch.save keeps it.
        """
        positions = token_positions(ids, mask)
        states: list[Any] = [None] * len(self.blocks)
        if state is not None:
            if not self.causal or mask is not None:
                raise ValueError("a state needs attention.causal=true in every block, and pieces without padding")
            before = state.get("tokens", 0)
            self.require(before + ids.shape[1])
            positions, state["tokens"] = positions + before, before + ids.shape[1]
            states = state.setdefault("blocks", [{} for _ in self.blocks])
        x, embedded = self.embed(ids, positions)
        for block, known in zip(self.blocks, states, strict=True):
            x = block(x, mask, positions, known)
        return self.norm(x), embedded

    def embed(self, ids: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """ids (B, N) at positions (N,) or (B, N) -> what the first block reads, and token embeddings, (B, N, M)."""
        embedded = self.embedding(ids)
        x = embedded if self.positions is None else embedded + self.positions(positions).to(embedded.dtype)
        return self.dropout(x), embedded

    def require(self, tokens: int) -> None:
        """Raises ValueError if positions cannot tell so many tokens apart, for documents read in pieces."""
        for module in self.modules():
            if isinstance(module, LearnedPositions | FeatureMap):
                module.require(tokens)
