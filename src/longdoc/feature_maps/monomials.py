"""All products of two coordinates."""

import math

import torch
from torch import Tensor


def quadratic_dim(dim: int) -> int:
    """How many monomials of degree 2 there are in ``dim`` variables."""
    return dim * (dim + 1) // 2


def quadratic(x: Tensor) -> Tensor:
    """Monomials x_i² and sqrt(2) x_i x_j, each pair once: quadratic(x)·quadratic(y) = (x·y)².

    (..., D) -> (..., D (D + 1) / 2). Pairs stand in the order of their cyclic distance: whole rolled rows are several
    times as fast, forward and backward, as gathering a triangle, whose gradient is a scatter.
    """
    dim = x.shape[-1]
    doubled = math.sqrt(2) * x
    rows = [x.square(), *(doubled * x.roll(j, dims=-1) for j in range(1, (dim + 1) // 2))]
    if dim % 2 == 0:  # opposite each other: each pair would come twice
        rows.append(doubled[..., : dim // 2] * x[..., dim // 2 :])
    return torch.cat(rows, dim=-1)
