"""Second-order Taylor features."""

import math

import pytest
import torch

from longdoc.feature_maps import Taylor


def test_kernel_equals_its_formula():
    phi = Taylor(6, 2)
    q, k = torch.randn(2, 3, 2, 9, 6, dtype=torch.float64)
    s = q @ k.mT / math.sqrt(6)
    assert phi.feature_dim == 1 + 6 + 21
    torch.testing.assert_close(phi(q) @ phi(k).mT, 1 + s + s**2 / 2, rtol=1e-12, atol=1e-12)


def test_wide_heads_are_projected():
    """16 coordinates make 153 features (Based), whatever the head; s is that of the projected coordinates."""
    phi = Taylor(32, 2, dim=16).double()
    q, k = torch.randn(2, 3, 2, 9, 32, dtype=torch.float64)
    assert phi.feature_dim == 153
    for head in range(2):
        s = (q[:, head] @ phi.weight[head].T) @ (k[:, head] @ phi.weight[head].T).mT / 4
        torch.testing.assert_close((phi(q) @ phi(k).mT)[:, head], 1 + s + s**2 / 2, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("dim", [None, 8, 16])
def test_heads_no_wider_are_not(dim):
    assert Taylor(8, 2, dim=dim).weight is None
    assert Taylor(8, 2, dim=dim).feature_dim == 45


def test_kernel_rises_again_for_opposite_vectors():
    """It is least, 1/2, at s = -1, and 1 at s = -2 as at s = 0."""
    phi = Taylor(1, 1)
    s = torch.tensor([0.0, -0.5, -1.0, -1.5, -2.0, -3.0])
    kernel = phi(s[:, None]) @ phi(torch.ones(1))
    torch.testing.assert_close(kernel, torch.tensor([1.0, 0.625, 0.5, 0.625, 1.0, 2.5]))


def test_kernel_keeps_its_bound_in_float32():
    q, k = 16 * torch.nn.functional.normalize(torch.randn(2, 1, 1, 500, 16), dim=-1)
    phi = Taylor(16, 1)
    assert (phi(q) @ phi(k).mT).min() > 0.49


def test_an_impossible_dimension_is_named():
    with pytest.raises(ValueError, match=r"feature_map.dim=0"):
        Taylor(8, 1, dim=0)
