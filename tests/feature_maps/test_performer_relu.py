"""Performer-ReLU and the kernel that it tends to."""

import math

import torch
from feature_maps.random_maps import D, pair, within

from longdoc.attention.ops import linear_attention
from longdoc.feature_maps import PerformerRelu
from longdoc.feature_maps.performer_relu import EPSILON
from longdoc.feature_maps.random import haar_gaussian
from longdoc.feature_maps.theory import arc_cosine


def test_equals_its_formula():
    phi = PerformerRelu(D, 2, features=5).double()
    x = torch.randn(2, 2, 3, D, dtype=torch.float64)
    expected = torch.einsum("bhnd,hmd->bhnm", x * D**-0.25, phi.projection).clamp(min=0) + 1e-3
    torch.testing.assert_close(phi(x), expected)


def test_products_tend_to_the_arc_cosine_kernel():
    """E phi(x)·phi(y) / m, the terms of the constant taken off: E relu(w·x) = |x| / sqrt(2 pi)."""
    phi = PerformerRelu(D, 1, features=D).double()
    phi.projection = haar_gaussian(100_000 * D, D, torch.Generator().manual_seed(5)).reshape(-1, D, D)
    x, y = pair()
    q, k = (phi(z[None, None, None] * D**0.25)[0, :, 0] for z in (x, y))
    constant = EPSILON * (x.norm() + y.norm()) / math.sqrt(2 * math.pi) + EPSILON**2
    assert within((q * k).mean(1), arc_cosine(x, y) + constant)


def test_weights_of_a_long_query_do_not_see_its_length():
    phi = PerformerRelu(D, 2).double()
    q, k, v = torch.randn(3, 2, 2, 9, D, dtype=torch.float64)
    first, second = (linear_attention(phi.query(length * q), phi.key(k), v) for length in (1e3, 1e6))
    torch.testing.assert_close(first, second, rtol=0, atol=1e-4)


def test_no_token_is_without_a_feature():
    phi = PerformerRelu(D, 1, features=1)
    assert phi(100 * torch.randn(1, 1, 50, D)).min() >= EPSILON
