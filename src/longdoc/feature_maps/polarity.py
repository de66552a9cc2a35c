"""Powers of the positive and of the negative part."""

import torch
from torch import Tensor, nn

from longdoc.feature_maps.base import FeatureMap


class Polarity(FeatureMap):
    """phi(x) = [relu(x)^p, relu(-x)^p] with learned p = 1 + alpha · sigmoid(w) for each head and coordinate, F = 2 D.

    Meng et al., "PolaFormer", ICLR 2025. There every head reads one half of its values by products of equal
    signs and the other by products of opposite signs. Here even heads (0, 2, ...) do the one and odd heads the other:
    their keys are [relu(-k)^p, relu(k)^p].
    """

    sign: Tensor

    def __init__(self, head_dim: int, heads: int, alpha: float = 4.0) -> None:
        super().__init__(head_dim, heads)
        if alpha < 0:
            raise ValueError(f"feature_map.alpha={alpha} must not be negative")
        self.feature_dim = 2 * head_dim
        self.alpha = alpha
        # Flat, as are a norm's gains: weight decay is for matrices.
        self.power = nn.Parameter(torch.zeros(heads * head_dim))
        sign = 1.0 - 2.0 * (torch.arange(heads) % 2)
        self.register_buffer("sign", sign[:, None, None], persistent=False)

    def query(self, q: Tensor, positions: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        power = (1 + self.alpha * self.power.to(q.dtype).sigmoid()).view(self.heads, 1, -1)
        powered = q.abs().pow(power)
        # Not "q > 0": of a NaN neither holds, and it would vanish.
        return torch.cat([powered.masked_fill(q <= 0, 0), powered.masked_fill(q >= 0, 0)], dim=-1)

    def key(self, k: Tensor, positions: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        return self.query(k * self.sign.to(k.dtype))
