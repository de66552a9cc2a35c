"""Monomials of degree 2, and what maps of degree 2 share."""

import pytest
import torch

from longdoc.feature_maps import Rebased, Taylor
from longdoc.feature_maps.quadratic import quadratic, quadratic_dim


@pytest.mark.parametrize("dim", range(1, 10))
def test_each_pair_comes_once(dim):
    x, y = torch.randn(2, 3, dim, dtype=torch.float64)
    assert quadratic(x).shape == (3, quadratic_dim(dim)) == (3, dim * (dim + 1) // 2)
    torch.testing.assert_close((quadratic(x) * quadratic(y)).sum(-1), (x * y).sum(-1) ** 2, rtol=1e-12, atol=1e-12)
    pairs = [x[0, i] * x[0, j] * (1 if i == j else 2**0.5) for i in range(dim) for j in range(i, dim)]
    torch.testing.assert_close(quadratic(x[0]).sort().values, torch.stack(pairs).sort().values)


def test_gradients_are_those_of_the_products():
    x = torch.randn(2, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(quadratic, x)


MAPS = pytest.mark.parametrize("phi", [Rebased, Taylor])


@MAPS
@pytest.mark.parametrize("dim", [None, 8, 16])
def test_heads_no_wider_are_not_projected(phi, dim):
    assert phi(8, 2, dim=dim).weight is None
    assert phi(8, 2, dim=dim).feature_dim == phi(8, 2).feature_dim


@MAPS
def test_wider_heads_are_projected_first(phi):
    wide, narrow = phi(12, 2, dim=5).double(), phi(5, 2).double()
    x = torch.randn(3, 2, 7, 12, dtype=torch.float64)
    projected = torch.stack([x[:, head] @ wide.weight[head].T for head in range(2)], dim=1)
    assert wide.feature_dim == narrow.feature_dim
    for role in ("query", "key"):
        torch.testing.assert_close(getattr(wide, role)(x), getattr(narrow, role)(projected), rtol=1e-12, atol=1e-12)


@MAPS
def test_an_impossible_dimension_is_named(phi):
    with pytest.raises(ValueError, match=r"feature_map.dim=0"):
        phi(8, 1, dim=0)
