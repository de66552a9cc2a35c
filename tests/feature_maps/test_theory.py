"""The formulas among themselves; test_random_features.py holds the maps to them."""

import math

import pytest
import torch

from longdoc.feature_maps.theory import (
    arc_cosine,
    favor_variance,
    hyperbolic_variance,
    oprf_a,
    oprf_variance,
    orthogonal_bound,
    trigonometric_variance,
)

A = torch.logspace(-4, 1.3, 40, dtype=torch.float64)


def test_favor_variance_has_its_published_form():
    torch.testing.assert_close(favor_variance(A, 7), (A.exp() - 1) / 7)


def test_hyperbolic_variance_has_its_published_form():
    torch.testing.assert_close(hyperbolic_variance(A, 7), (1 - torch.exp(-A)) / 2 * favor_variance(A, 7))


def test_trigonometric_variance_has_its_published_form():
    """Choromanski et al. 2021, lemma 2, divided by exp(x·y)²."""
    x, y = torch.randn(2, 50, 8, dtype=torch.float64) / 2
    total, difference = (x + y).square().sum(-1), (x - y).square().sum(-1)
    mse = total.exp() * torch.exp(-2 * (x * y).sum(-1)) * (1 - torch.exp(-difference)) ** 2 / (2 * 7)
    torch.testing.assert_close(trigonometric_variance(difference, 7), mse / torch.exp(2 * (x * y).sum(-1)))


@pytest.mark.parametrize("dim", [4, 32, 256])
def test_oprf_recovers_favor_where_a_is_0(dim):
    torch.testing.assert_close(oprf_variance(A, 7, dim, torch.zeros_like(A)), favor_variance(A, 7))


@pytest.mark.parametrize("dim", [4, 32, 256])
def test_oprf_with_its_own_a_never_varies_more_than_favor(dim):
    best = oprf_variance(A, 1, dim, oprf_a(A, dim))
    assert (best <= favor_variance(A, 1) * (1 + 1e-9)).all()
    assert best[-1] < 0.5 * favor_variance(A, 1)[-1]


@pytest.mark.parametrize("dim", [4, 8, 64])
def test_a_is_the_best_of_a_grid(dim):
    """For a set of pairs: the least mean of log second moments."""
    pairs = torch.tensor([0.1, 0.5, 2.0, 6.0], dtype=torch.float64)
    grid = torch.linspace(-2, 0.12, 20_001, dtype=torch.float64)[:, None]
    costs = torch.log1p(oprf_variance(pairs, 1, dim, grid)).mean(1)
    assert abs(oprf_a(pairs.mean(), dim) - grid[costs.argmin(), 0]) <= grid[1, 0] - grid[0, 0]


def test_a_has_its_published_form_and_does_not_cancel_at_small_lengths():
    s = A / 8
    published = (1 - 2 * s - torch.sqrt((2 * s + 1).square() + 8 * s)) / 16
    torch.testing.assert_close(oprf_a(A, 8), published, rtol=1e-9, atol=0)
    torch.testing.assert_close(oprf_a(A.float(), 8).double(), published, rtol=1e-6, atol=0)
    assert oprf_a(torch.zeros(()), 8) == 0


def test_orthogonal_rows_save_nothing_where_there_is_one():
    x, y = torch.randn(2, 5, 8, dtype=torch.float64) / 4
    variance = favor_variance((x + y).square().sum(-1), 8)
    assert torch.equal(orthogonal_bound(variance, x, y, 1), variance)
    assert (orthogonal_bound(variance, x, y, 8) < variance).all()


def test_arc_cosine_at_known_angles():
    x = torch.tensor([[2.0, 0.0], [2.0, 0.0], [2.0, 0.0]], dtype=torch.float64)
    y = torch.tensor([[3.0, 0.0], [0.0, 3.0], [-3.0, 0.0]], dtype=torch.float64)
    expected = torch.tensor([3.0, 6 / (2 * math.pi), 0.0], dtype=torch.float64)
    torch.testing.assert_close(arc_cosine(x, y), expected, rtol=0, atol=1e-12)
