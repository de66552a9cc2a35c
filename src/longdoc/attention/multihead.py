"""Everything about multi-head attention that does not depend on how tokens mix."""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

Mixer = Callable[[int, int], nn.Module]
"""A factory (head_dim, heads) of a module (q, k, v, x, mask, positions, rotary, state) -> mixed values."""


class MultiHeadAttention(nn.Module):
    """Projections, heads and gate around a mixer ``mixer(head_dim, heads)``: softmax or linear attention.

    The projections are shared code, so that two runs that differ in the mixer differ in nothing else. ``gate``
    multiplies the mixed values by silu of a projection of the input (as in RetNet and GLA). ``qk_norm`` gives queries
    and keys unit mean square, times a learned scale (Henry et al., 2020; an RMSNorm as in later models).
    """

    def __init__(
        self,
        width: int,
        heads: int,
        mixer: Mixer,
        gate: bool = False,
        qk_norm: bool = False,
        rotary: bool = False,
    ) -> None:
        super().__init__()
        if width % heads:
            raise ValueError(f"encoder.heads={heads} does not divide encoder.width={width}")
        if rotary and width // heads % 2:
            raise ValueError(
                f"encoder.positions=rotary needs heads of even size: "
                f"encoder.width={width} / encoder.heads={heads} is odd"
            )
        self.heads = heads
        self.rotary = rotary
        # No biases: on a CPU each costs a copy of its layer's output, and the norms' own biases do their work.
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.mixer = mixer(width // heads, heads)
        self.causal = bool(self.mixer.causal)
        self.gate = nn.Linear(width, width, bias=False) if gate else None
        self.out = nn.Linear(width, width, bias=False)
        self.query_norm, self.key_norm = (nn.RMSNorm(width // heads) if qk_norm else nn.Identity() for _ in range(2))

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
        state: dict[str, Any] | None = None,
    ) -> Tensor:
        """(B, N, M), mask (B, N), positions (N,) or (B, N), the mixer's state -> (B, N, M)."""
        q, k, v = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in (nn.functional.linear(x, w) for w in self.qkv.weight.chunk(3))
        )
        q, k = self.query_norm(q), self.key_norm(k)
        mixed = self.mixer(q, k, v, x, mask, positions, self.rotary, state).transpose(1, 2).flatten(2)
        if self.gate is not None:
            mixed = mixed * nn.functional.silu(self.gate(x))
        return self.out(mixed)
