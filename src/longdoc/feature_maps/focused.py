"""relu(x), turned towards its largest coordinate."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from longdoc.feature_maps.base import FeatureMap


class Focused(FeatureMap):
    """phi(x) = |u| u^p / |u^p| with u = relu(x / scale), F = D, p = ``power`` >= 1.

    Han et al., "FLatten Transformer", ICCV 2023, eqs. 5-6: as long as u, but nearer to its largest coordinate, so that
    similar directions weigh more. Here |.| is over a head and nothing is added to u: a token without a positive
    coordinate has no features. scale = softplus of a learned number for each head and coordinate.
    """

    def __init__(self, head_dim: int, heads: int, power: float = 3.0) -> None:
        super().__init__(head_dim, heads)
        if power < 1:
            raise ValueError(f"feature_map.power={power} must be at least 1")
        self.power = power
        # Flat, as are a norm's gains: weight decay is for matrices.
        self.scale = nn.Parameter(torch.zeros(heads * head_dim))

    def forward(self, x: Tensor) -> Tensor:
        scale = F.softplus(self.scale.to(x.dtype)).view(self.heads, 1, -1)
        u = torch.relu(x / scale)
        # phi(u) = c phi(u / c) for any c: with the largest coordinate at 1 no power over- or underflows altogether.
        largest = u.detach().amax(-1, keepdim=True)
        none = largest == 0
        u = u / torch.where(none, 1, largest)
        powered = u.pow(self.power)
        # A token without features gets 1 / 1, whose gradient is finite.
        squares, powered_squares = (y.square().sum(-1, keepdim=True) + none for y in (u, powered))
        return largest * (squares / powered_squares).sqrt() * powered
