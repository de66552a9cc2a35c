"""Random Fourier features: exact where q = k, of both signs elsewhere."""

import math

import pytest
import torch
from feature_maps.random_maps import D

from longdoc.feature_maps import Trigonometric


def test_equals_its_formula():
    phi = Trigonometric(D, 2, features=10).double()
    x = torch.randn(2, 2, 3, D, dtype=torch.float64)
    z = x * D**-0.25
    projected = torch.einsum("bhnd,hmd->bhnm", z, phi.projection)
    waves = torch.cat([projected.cos(), projected.sin()], dim=-1) / math.sqrt(5)
    torch.testing.assert_close(phi.query(x), waves)
    torch.testing.assert_close(phi.key(x), waves * torch.exp(z.square().sum(-1, keepdim=True) / 2))


def test_a_query_equal_to_a_key_has_its_exact_weight():
    """phi(x)·phi(x) = exp(|x|²), whatever the projection; a query's own factor is left out."""
    phi = Trigonometric(D, 2, features=4).double()
    x = 2 * torch.randn(3, 2, 7, D, dtype=torch.float64)
    products = (phi.query(x) * phi.key(x)).sum(-1)
    torch.testing.assert_close(products, torch.exp(x.square().sum(-1) / math.sqrt(D) / 2))


def test_keys_saturate_at_exp_60():
    phi = Trigonometric(D, 1, features=64)
    x = torch.nn.functional.normalize(torch.randn(1, 1, 9, D), dim=-1) * D**0.25
    for length, expected in ((math.sqrt(110), 55), (math.sqrt(120), 60), (20.0, 60), (1e4, 60)):
        norms = phi.key(length * x).double().norm(dim=-1)
        torch.testing.assert_close(norms.log(), torch.full_like(norms, expected), rtol=1e-4, atol=0)


@pytest.mark.parametrize(("scale", "lowest", "highest"), [(0.5, 0, 0), (1, 0.2, 0.4), (2, 0.4, 0.6)])
def test_denominators_are_positive_for_short_keys_and_not_for_long_ones(scale, lowest, highest):
    """The share of those that are not, as the docstring has it."""
    phi = Trigonometric(32, 16, features=128)
    q, k = scale * torch.randn(2, 4, 16, 256, 32)
    share = (phi.query(q) @ phi.key(k).sum(2, keepdim=True).mT <= 0).double().mean()
    assert lowest <= share <= highest
    assert not phi.nonnegative
