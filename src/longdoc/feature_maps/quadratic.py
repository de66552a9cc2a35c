"""All products of two coordinates, and what maps of degree 2 share."""

import math

import torch
from torch import Tensor, nn

from longdoc.feature_maps.base import FeatureMap


def quadratic_dim(dim: int) -> int:
    """How many monomials of degree 2 there are in ``dim`` variables."""
    return dim * (dim + 1) // 2


def quadratic(x: Tensor) -> Tensor:
    """Monomials x_i² and sqrt(2) x_i x_j, each pair once: quadratic(x)·quadratic(y) = (x·y)².

    (..., D) -> (..., D (D + 1) / 2). Pairs stand in the order of their cyclic distance: whole rolled rows are faster,
    forward and backward, than gathering a triangle, whose gradient is a scatter.
    """
    dim = x.shape[-1]
    scaled = math.sqrt(2) * x
    rows = [x.square(), *(scaled * x.roll(j, dims=-1) for j in range(1, (dim + 1) // 2))]
    if dim % 2 == 0:  # opposite each other: each pair would come twice
        rows.append(scaled[..., : dim // 2] * x[..., dim // 2 :])
    return torch.cat(rows, dim=-1)


class QuadraticMap(FeatureMap):
    """A map whose features grow with the square of its input.

    So heads wider than ``dim`` are first projected to it by a learned matrix for each head; None: never.
    """

    def __init__(self, head_dim: int, heads: int, dim: int | None = None) -> None:
        super().__init__(head_dim, heads)
        if dim is not None and dim < 1:
            raise ValueError(f"feature_map.dim={dim} must be at least 1")
        self.dim = head_dim if dim is None else min(dim, head_dim)
        self.weight: nn.Parameter | None = None
        if self.dim < head_dim:
            self.weight = nn.Parameter(torch.randn(heads, self.dim, head_dim) * head_dim**-0.5)

    def project(self, x: Tensor) -> Tensor:
        """(B, H, N, D) -> (B, H, N, dim)."""
        return x if self.weight is None else x @ self.weight.to(x.dtype).mT
