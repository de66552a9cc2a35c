"""Monomials of degree 2."""

import pytest
import torch

from longdoc.feature_maps.monomials import quadratic, quadratic_dim


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
