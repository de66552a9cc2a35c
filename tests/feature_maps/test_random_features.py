"""Every map of random features: Haar-orthogonal rows, unbiased estimates with the known variances, safe stabilisers."""

import math

import pytest
import torch
from feature_maps.random_maps import RANDOM, SOFTMAX, D, estimates, made, pair, plain, within
from reference import each

from longdoc.attention import LinearAttention
from longdoc.attention.ops import linear_attention
from longdoc.feature_maps import Trigonometric
from longdoc.feature_maps.random import haar_gaussian
from longdoc.feature_maps.theory import (
    favor_variance,
    hyperbolic_variance,
    oprf_a,
    oprf_variance,
    trigonometric_variance,
)

BLOCKS = 30_000


@pytest.fixture(name="draws", scope="module")
def _draws():
    """(BLOCKS, D, D): independent blocks of D orthogonal rows, as a projection of many features is."""
    rows = haar_gaussian(BLOCKS * D, D, torch.Generator().manual_seed(5))
    return rows.reshape(BLOCKS, D, D)


@pytest.fixture(name="independent", scope="module")
def _independent():
    """(400 000, 1, D): rows that know nothing of one another."""
    return torch.randn(400_000, 1, D, dtype=torch.float64, generator=torch.Generator().manual_seed(6))


# ---------------------------------------------------------------------------------------------- projections


def test_rows_of_a_block_are_orthogonal(draws):
    directions = draws / draws.norm(dim=2, keepdim=True)
    gram = directions @ directions.mT
    torch.testing.assert_close(gram, torch.eye(D).double().expand_as(gram), rtol=0, atol=1e-12)


def test_norms_are_chi_distributed(draws):
    """|w|² has the mean D and the variance 2 D of a chi-square, independently of its neighbours."""
    squares = draws.square().sum(2)
    assert within(squares.flatten(), D)
    assert within((squares.flatten() - D).square(), 2 * D)
    assert within((squares[:, 0] - D) * (squares[:, 1] - D), 0)


def test_directions_are_haar_distributed(draws):
    """Each entry has the mean 0 and each row the covariance I; QR's own signs make the diagonal negative."""
    assert within(draws, 0)
    assert within(draws[:, 0, :, None] * draws[:, 0, None, :], torch.eye(D).double())


@pytest.mark.parametrize("sign", [1, -1])
def test_expectation_is_the_same_for_both_signs_of_the_diagonal(draws, sign):
    """E exp(w·z - |z|²/2) = 1 for z = ±c(1, ..., 1), where a sign bias of QR shows most."""
    z = sign * torch.full((D,), 0.25, dtype=torch.float64)
    assert within((draws @ z - z.square().sum() / 2).exp().mean(1), 1)


@pytest.mark.parametrize("rows", [3, 8, 21])
@pytest.mark.parametrize("factory", **each(RANDOM))
def test_any_number_of_rows_is_drawn(factory, rows):
    phi = factory(D, 2, features=rows * factory(D, 1).per_row)
    assert phi.projection.shape == (2, rows, D)
    assert phi.query(torch.randn(1, 2, 5, D)).shape == (1, 2, 5, phi.feature_dim)
    block = phi.projection[0, :D] / phi.projection[0, :D].norm(dim=1, keepdim=True)
    torch.testing.assert_close(block @ block.mT, torch.eye(len(block)), rtol=0, atol=1e-6)


@pytest.mark.parametrize("factory", **each(RANDOM))
@pytest.mark.parametrize("options", [{"features": 0}, {"features": -64}, {"redraw_every": -1}])
def test_impossible_options_are_named(factory, options):
    ((name, value),) = options.items()
    with pytest.raises(ValueError, match=rf"^{factory(D, 1).word}: feature_map.{name}={value} must be"):
        factory(D, 1, **options)


@pytest.mark.parametrize("factory", **each([pair for pair in RANDOM if pair[1](D, 1).per_row == 2]))
def test_an_odd_number_of_features_is_named_where_a_row_makes_two(factory):
    with pytest.raises(ValueError, match="features=21 must be a positive multiple of 2"):
        factory(D, 1, features=21)


# ------------------------------------------------------------------------------------------------ estimates


def variance(name, x, y, m, a=-0.15):
    """The relative variance of m independent rows."""
    total, difference = (x + y).square().sum(), (x - y).square().sum()
    return {
        "favor": favor_variance(total, m),
        "favor_hyperbolic": hyperbolic_variance(total, m),
        "trigonometric": trigonometric_variance(difference, m),
        "oprf": oprf_variance(total, m, D, torch.as_tensor(a)),
    }[name].item()


@pytest.mark.parametrize("factory", **each(SOFTMAX))
@pytest.mark.parametrize("a", [0.1, 0.3])
def test_kernel_is_unbiased(draws, factory, a):
    """E phi(q)·phi(k) = exp(q·k / sqrt(D))."""
    x, y = pair(a)
    assert within(estimates(factory, draws, x, y), math.exp(x @ y))


@pytest.mark.parametrize(("name", "factory"), SOFTMAX, ids=[name for name, _ in SOFTMAX])
@pytest.mark.parametrize("a", [0.1, 0.3])
def test_independent_rows_have_the_variance_of_theory(independent, name, factory, a):
    x, y = pair(a)
    squares = (estimates(factory, independent, x, y) / math.exp(x @ y) - 1).square()
    assert squares.mean().item() == pytest.approx(variance(name, x, y, 1), rel=0.05)


@pytest.mark.parametrize(("name", "factory"), SOFTMAX, ids=[name for name, _ in SOFTMAX])
def test_orthogonal_rows_vary_less_than_independent_ones(draws, name, factory):
    x, y = pair()
    best = oprf_a((x + y).square().sum(), D).item()
    squares = (estimates(factory, draws, x, y, a=best) / math.exp(x @ y) - 1).square()
    error = squares.std().item() / math.sqrt(BLOCKS)
    assert squares.mean().item() < variance(name, x, y, D, best) - 4 * error


@pytest.mark.parametrize("factory", **each(SOFTMAX))
def test_error_falls_with_the_root_of_the_features(draws, factory):
    x, y = pair()
    single = estimates(factory, draws, x, y) / math.exp(x @ y) - 1
    sizes = [2**i for i in range(8)]  # blocks joined to one estimate
    errors = [single[: BLOCKS // n * n].reshape(-1, n).mean(1).square().mean().sqrt().item() for n in sizes]
    log_m, log_error = torch.tensor(sizes).double().log(), torch.tensor(errors).double().log()
    centred = log_m - log_m.mean()
    assert -0.6 < (centred @ log_error / centred.square().sum()).item() < -0.4


# ---------------------------------------------------------------------------------------------- stabilisers


def attended(phi, q, k, v):
    """Linear attention with the map's features, and with the plain ones of its formula."""
    return linear_attention(phi.query(q), phi.key(k), v), linear_attention(*plain(phi, q, k), v)


@pytest.mark.parametrize("factory", **each(SOFTMAX))
@pytest.mark.parametrize(("dim", "features"), [(8, 64), (64, 16), (256, 16)])
def test_stabilisers_cancel(factory, dim, features):
    """The attention is that of the plain features, for small projections and for very large ones."""
    phi = made(factory, dim, 2, features=features)
    q, k, v = torch.randn(3, 2, 2, 11, dim, dtype=torch.float64)
    actual, expected = attended(phi, q, k, v)
    torch.testing.assert_close(actual, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("factory", **each(SOFTMAX))
def test_gradients_see_no_stabiliser(factory):
    phi = made(factory, D, 2, features=16)
    q, k, v = torch.randn(3, 2, 2, 11, D, dtype=torch.float64).requires_grad_()
    direction = torch.randn(2, 2, 11, D, dtype=torch.float64)
    grads = [torch.autograd.grad((out * direction).sum(), (q, k, v)) for out in attended(phi, q, k, v)]
    for actual, expected in zip(*grads, strict=True):
        torch.testing.assert_close(actual, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("factory", **each(RANDOM))
@pytest.mark.parametrize("dim", [8, 64, 256])
@pytest.mark.parametrize("scale", [1.0, 10.0, 100.0, 1e6])
def test_huge_keys_neither_overflow_nor_poison_gradients(factory, dim, scale):
    attention = LinearAttention(dim, 2, lambda d, h: made(factory, d, h, features=32).float())
    q, k = scale * torch.randn(2, 1, 2, 50, dim)
    v = torch.randn(1, 2, 50, dim)
    inputs = [x.detach().clone().requires_grad_() for x in (q, k, v)]
    out = attention(*inputs, v.transpose(1, 2).flatten(2))
    out.sum().backward()
    assert out.isfinite().all()
    if attention.feature_map.nonnegative:
        assert out.abs().max() <= v.abs().max() * 1.001
    for x in inputs:
        assert x.grad.isfinite().all()


@pytest.mark.parametrize("factory", **each(SOFTMAX))
def test_the_softmax_of_short_queries_and_keys_is_approached(factory):
    """Weights at |x| = 0.5 from 4096 features are those of softmax within 10 %; far longer ones are not to be had."""
    phi = made(factory, D, 1, a=-0.01, features=4096)
    q, k = torch.nn.functional.normalize(torch.randn(2, 1, 1, 20, D, dtype=torch.float64), dim=-1) * D**0.25 / 2
    weights = linear_attention(phi.query(q), phi.key(k), torch.eye(20, dtype=torch.float64)[None, None])
    expected = (q @ k.mT / math.sqrt(D)).softmax(-1)
    assert (weights / expected - 1).abs().max() < 0.1
    assert isinstance(phi, Trigonometric) or weights.min() >= 0
