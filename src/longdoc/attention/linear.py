"""Linear attention over a feature map."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from longdoc.attention.decay import Decay, NoDecay
from longdoc.attention.ops import NORMALIZERS, State, causal_linear_attention, linear_attention, step
from longdoc.attention.rotary import rotate
from longdoc.feature_maps import FeatureMap


class LinearAttention(nn.Module):
    """phi(q)·phi(k) in place of exp(q·k): linear in N, with a state of F x E numbers a head.

    Features, decays, sums and the division run in float32 (float64 for float64 input) under any autocast: a sum of
    features leaves fp16's range at a thousand tokens and loses bf16's 8 bits long before.

    With rotary positions and a decay a feature, the two of a turned pair fade differently: positions are not relative.

    normalizer: ``sum``, ``none`` (the numerator under an RMSNorm of each head) or ``magnitude``; see ops. Weights are
    averages, >= 0 and of sum 1, for non-negative maps under ``sum`` without rotary positions, by nature not elsewhere.
    """

    def __init__(
        self,
        head_dim: int,
        heads: int,
        feature_map: Callable[[int, int], FeatureMap],
        decay: Callable[[int, int, int], Decay] = NoDecay,
        normalizer: str = "sum",
        causal: bool = False,
    ) -> None:
        super().__init__()
        self.feature_map = feature_map(head_dim, heads)
        if normalizer not in NORMALIZERS:
            raise ValueError(f"attention.normalizer={normalizer} is not one of {', '.join(NORMALIZERS)}")
        if normalizer == "magnitude" and not self.feature_map.absolute:
            raise ValueError(
                f"attention.normalizer=magnitude: feature_map={self.feature_map.word} leaves the scale of its weights "
                f"open; choose attention.normalizer=sum or none, or a map such as elu"
            )
        if causal and not self.feature_map.causal:
            raise ValueError(
                f"attention.causal=true: feature_map={self.feature_map.word} needs the whole sequence for its keys; "
                f"choose attention.causal=false, or a map of single tokens such as elu"
            )
        self.decay = decay(head_dim, heads, self.feature_map.feature_dim)
        self.normalizer = normalizer
        self.causal = causal
        self.norm = nn.RMSNorm(head_dim, eps=1e-6) if normalizer == "none" else None

    def forward(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        x: Tensor,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
        rotary: bool = False,
        state: State | None = None,
    ) -> Tensor:
        """(B, H, N, D) x 3, what they were made of (B, N, M), mask (B, N), positions (N,) or (B, N) -> (B, H, N, D).

        state: of a causal attention, what it has read before, {} at first; it is brought up to date in place.
        """
        dtype, wide = v.dtype, torch.promote_types(v.dtype, torch.float32)
        with torch.autocast(v.device.type, enabled=False):
            log_decay = self.decay(x.to(wide))
            q = self.feature_map.query(q.to(wide), positions, mask)
            k = self.feature_map.key(k.to(wide), positions, mask)
            turn = partial(rotate, positions=positions) if rotary and positions is not None else None
            out = self._attend(q, k, v.to(wide), mask, log_decay, turn, state)
            return self.finish(out).to(dtype)

    def finish(self, out: Tensor) -> Tensor:
        """The norm of the normalizer ``none`` over (B, H, N, D); else nothing."""
        if self.norm is None:
            return out
        # Sums of lifted keys reach 1e26, whose square no float32 holds; the norm cancels the factor. Small sums
        # stay: rounding errors of terms that cancel would come out as large as anything.
        return self.norm(out / out.detach().abs().amax(-1, keepdim=True).clamp(min=1))

    def _attend(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor | None,
        log_decay: Tensor | None,
        turn: Callable[[Tensor], Tensor] | None,
        state: State | None,
    ) -> Tensor:
        if not self.causal:
            return linear_attention(q, k, v, mask, log_decay, turn, self.normalizer)
        if state is not None and q.shape[2] == 1:
            out, new = step(q, k, v, state, log_decay, turn, self.normalizer)
        else:
            out, new = causal_linear_attention(q, k, v, mask, log_decay, turn, self.normalizer, state)
        if state is not None:
            state.update(new)
        return out
