"""Everything about multi-head attention that does not depend on how tokens mix."""

from collections.abc import Callable

from torch import Tensor, nn


class MultiHeadAttention(nn.Module):
    """Projections, heads and gate around a mixer ``mixer(head_dim, heads)``: softmax or linear attention.

    The projections are shared code, so that two runs that differ in the mixer differ in nothing else. ``gate``
    multiplies the mixed values by silu of a projection of the input (as in RetNet and GLA).
    """

    def __init__(self, width: int, heads: int, mixer: Callable[[int, int], nn.Module], gate: bool = False) -> None:
        super().__init__()
        if width % heads:
            raise ValueError(f"encoder.heads={heads} does not divide encoder.width={width}")
        self.heads = heads
        # No biases: on a CPU each costs a copy of its layer's output, and the norms' own biases do their work.
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.mixer = mixer(width // heads, heads)
        self.gate = nn.Linear(width, width, bias=False) if gate else None
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor, mask: Tensor | None = None, positions: Tensor | None = None) -> Tensor:
        """(B, N, M), mask (B, N), rotary positions or None -> (B, N, M)."""
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        mixed = self.mixer(q, k, v, mask, positions).transpose(1, 2).flatten(2)
        if self.gate is not None:
            mixed = mixed * nn.functional.silu(self.gate(x))
        return self.out(mixed)
