"""Deterministic parameter-free projection."""

import torch
from torch import Tensor

from longdoc.feature_maps.base import FeatureMap


class Dpfp(FeatureMap):
    """phi(x) = products of r = [relu(x), relu(-x)] with itself rolled by 1 .. nu places, F = 2 D nu.

    DPFP-nu (Schlag et al., "Linear Transformers Are Secretly Fast Weight Programmers", ICML 2021, section 5.3). Most
    features of a token are zero, so that different tokens tend to be orthogonal. 1 <= nu < 2 D, as later rolls repeat.
    """

    def __init__(self, head_dim: int, heads: int, nu: int = 1) -> None:
        super().__init__(head_dim, heads)
        if not 1 <= nu < 2 * head_dim:
            raise ValueError(f"feature_map.nu={nu} must be from 1 to {2 * head_dim - 1} for heads of {head_dim}")
        self.nu = nu
        self.feature_dim = 2 * head_dim * nu

    def forward(self, x: Tensor) -> Tensor:
        r = torch.cat([torch.relu(x), torch.relu(-x)], dim=-1)
        return torch.cat([r * r.roll(j, dims=-1) for j in range(1, self.nu + 1)], dim=-1)
