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

    head_dim: width / heads if it is None. Heads that are together of another width than the input (as in LRA's models
    of images) leave a decay that reads tokens their values to read.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        mixer: Mixer,
        gate: bool = False,
        qk_norm: bool = False,
        rotary: bool = False,
        head_dim: int | None = None,
    ) -> None:
        super().__init__()
        if head_dim is None and width % heads:
            raise ValueError(f"encoder.heads={heads} does not divide encoder.width={width}")
        size = f"encoder.width={width} / encoder.heads={heads}" if head_dim is None else f"encoder.head_dim={head_dim}"
        head_dim = head_dim or width // heads
        if rotary and head_dim % 2:
            raise ValueError(f"encoder.positions=rotary needs heads of even size: {size} is odd")
        self.heads = heads
        inner = heads * head_dim
        self.reads_values = inner != width
        self.rotary = rotary
        # No biases: on a CPU each costs a copy of its layer's output, and the norms' own biases do their work.
        self.qkv = nn.Linear(width, 3 * inner, bias=False)
        self.mixer = mixer(head_dim, heads)
        self.causal = bool(self.mixer.causal)
        self.gate = nn.Linear(width, inner, bias=False) if gate else None
        self.out = nn.Linear(inner, width, bias=False)
        self.query_norm, self.key_norm = (nn.RMSNorm(head_dim) if qk_norm else nn.Identity() for _ in range(2))

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
        state: dict[str, Any] | None = None,
    ) -> Tensor:
        """(B, N, M), mask (B, N), positions (N,) or (B, N), the mixer's state -> (B, N, M)."""
        k, v, read = self.keys_values(x)
        return self.join(x, self.mixer(self.queries(x), k, v, read, mask, positions, self.rotary, state))

    def queries(self, x: Tensor) -> Tensor:
        """(B, N, M) -> (B, H, N, D)."""
        return self.query_norm(self._heads(x, 0))

    def keys_values(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(B, N, M) -> keys and values (B, H, N, D), and what a decay reads, (B, N, H·D)."""
        k, v = self.key_norm(self._heads(x, 1)), self._heads(x, 2)
        return k, v, v.transpose(1, 2).flatten(2) if self.reads_values else x

    def _heads(self, x: Tensor, part: int) -> Tensor:
        return nn.functional.linear(x, self.qkv.weight.chunk(3)[part]).unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def join(self, x: Tensor, mixed: Tensor) -> Tensor:
        """The input (B, N, M) and the mixed values (B, H, N, D) -> (B, N, M)."""
        mixed = mixed.transpose(1, 2).flatten(2)
        if self.gate is not None:
            mixed = mixed * nn.functional.silu(self.gate(x))
        return self.out(mixed)
