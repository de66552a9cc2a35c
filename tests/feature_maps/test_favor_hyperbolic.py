"""FAVOR+ with each row in both signs."""

import math

import torch
from feature_maps.random_maps import D

from longdoc.feature_maps import FavorHyperbolic


def test_equals_its_formula():
    phi = FavorHyperbolic(D, 2, features=10).double()
    x = torch.randn(2, 2, 3, D, dtype=torch.float64)
    z = x * D**-0.25
    projected = torch.einsum("bhnd,hmd->bhnm", z, phi.projection)
    both = torch.cat([projected.exp(), (-projected).exp()], dim=-1)
    expected = both * torch.exp(-z.square().sum(-1, keepdim=True) / 2) / math.sqrt(2 * 5)
    torch.testing.assert_close(phi.log_features(x).exp(), expected)


def test_the_sign_of_a_row_does_not_matter():
    """So that a bias of QR's signs could not either."""
    phi = FavorHyperbolic(D, 2, features=16).double()
    q, k = torch.randn(2, 1, 2, 5, D, dtype=torch.float64)
    expected = phi.query(q) @ phi.key(k).mT
    phi.projection[:, ::3] *= -1
    torch.testing.assert_close(phi.query(q) @ phi.key(k).mT, expected)
