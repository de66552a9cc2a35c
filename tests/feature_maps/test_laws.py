"""Published properties of the weights that feature maps make."""

import math

import pytest
import torch
from reference import FEATURE_MAPS, each, softmax_attention

from longdoc.attention.ops import linear_attention

HEADS, DIM, TOKENS = 2, 4, 40
NONNEGATIVE = [(name, factory) for name, factory in FEATURE_MAPS if factory(DIM, HEADS).nonnegative]
POSITIVE = ("elu", "favor", "hedgehog", "efficient")  # no feature is 0
HOMOGENEOUS = ("relu", "squared_relu", "dpfp", "cosformer", "focused")  # phi(c x) = c^p phi(x) for c > 0


def some(names):
    return each([(name, factory) for name, factory in FEATURE_MAPS if name in names])


def inputs(scale=1.0, tokens=TOKENS):
    return scale * torch.randn(2, 1, HEADS, tokens, DIM, dtype=torch.float64)


def weights(phi, q, k):
    """(1, H, N, N): with the identity as values the result is the matrix of weights."""
    tokens = k.shape[2]
    identity = torch.eye(tokens, dtype=torch.float64).expand(1, HEADS, tokens, tokens)
    return linear_attention(phi.query(q), phi.key(k), identity)


def entropy(rows):
    """In nats, (..., N) -> (...)."""
    return -torch.special.xlogy(rows, rows.clamp(min=0)).sum(-1)


@pytest.mark.parametrize("factory", **each(NONNEGATIVE))
@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_rows_are_averages(factory, scale):
    rows = weights(factory(DIM, HEADS).double(), *inputs(scale))
    assert rows.min() >= -1e-12
    torch.testing.assert_close(rows.sum(-1), torch.ones(1, HEADS, TOKENS).double(), rtol=1e-10, atol=0)


@pytest.mark.parametrize("factory", **each(FEATURE_MAPS))
def test_copying_fails_beyond_the_rank(factory):
    """The kernel's rank is at most F, so its distance to the identity at least sqrt(N - F) (Eckart and Young)."""
    phi = factory(DIM, HEADS).double()
    tokens = phi.feature_dim + 9
    q, k = inputs(tokens=tokens)
    kernel = phi.query(q) @ phi.key(k).mT
    assert torch.linalg.matrix_rank(kernel).max() <= phi.feature_dim
    distance = torch.linalg.matrix_norm(kernel - torch.eye(tokens, dtype=torch.float64))
    assert distance.min() >= math.sqrt(tokens - phi.feature_dim)


@pytest.mark.parametrize("factory", **some(POSITIVE))
@pytest.mark.parametrize("scale", [0.3, 1.0, 3.0])
def test_weights_are_no_sharper_than_the_keys_features_differ(factory, scale):
    """Features of keys within [lo, hi]: lo/(hi N) <= w <= hi/(lo N), entropy >= ln N - ln(hi/lo)."""
    phi = factory(DIM, HEADS).double()
    q, k = inputs(scale)
    features = phi.key(k)
    ratio = (features.max() / features.min()).item()
    rows = weights(phi, q, k)
    assert rows.min() >= 1 / (ratio * TOKENS)
    assert rows.max() <= ratio / TOKENS
    assert entropy(rows).min() >= math.log(TOKENS) - math.log(ratio)


@pytest.mark.parametrize("factory", **some(HOMOGENEOUS))
def test_homogeneous_maps_do_not_see_the_length_of_a_query(factory):
    phi = factory(DIM, HEADS).double()
    q, k = inputs()
    for scale in (1e-3, 1e4):
        torch.testing.assert_close(weights(phi, scale * q, k), weights(phi, q, k), rtol=1e-12, atol=0)


def test_softmax_sharpens_with_the_length_of_a_query():
    """Its entropy falls to 0."""
    q, k = inputs()
    identity = torch.eye(TOKENS, dtype=torch.float64).expand(1, HEADS, TOKENS, TOKENS)
    means = [entropy(softmax_attention(c * q, k, identity)).mean().item() for c in (0.0, 0.5, 1.0, 4.0, 16.0, 200.0)]
    assert means == sorted(means, reverse=True)
    assert means[0] == pytest.approx(math.log(TOKENS))
    assert means[-1] < 0.05
