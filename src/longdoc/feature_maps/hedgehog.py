"""Softmax over features of a learned projection and of its negative."""

import torch
from torch import Tensor, nn

from longdoc.feature_maps.base import FeatureMap


class Hedgehog(FeatureMap):
    """phi(x) = [softmax(W x), softmax(-W x)], each over D features, W learned for each head, F = 2 D.

    Zhang et al., "The Hedgehog & the Porcupine", ICLR 2024, section 4, in the authors' stable form. W = I + ``weight``
    starts at the identity, and weight decay, too, draws it there.
    """

    def __init__(self, head_dim: int, heads: int) -> None:
        super().__init__(head_dim, heads)
        self.feature_dim = 2 * head_dim
        self.weight = nn.Parameter(torch.zeros(heads, head_dim, head_dim))

    def forward(self, x: Tensor) -> Tensor:
        identity = torch.eye(self.head_dim, dtype=x.dtype, device=x.device)
        x = x @ (identity + self.weight.to(x.dtype)).mT
        return torch.cat([x.softmax(-1), (-x).softmax(-1)], dim=-1)
