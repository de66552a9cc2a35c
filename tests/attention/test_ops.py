"""Linear attention from features against its quadratic definition."""

import pytest
import reference
import torch
from reference import (
    AVERAGING,
    FEATURE_MAPS,
    assert_agree,
    each,
    largest_tensor,
    random_mask,
    relative_error,
    with_gradients,
)

from longdoc.attention import ops
from longdoc.attention.ops import linear_attention
from longdoc.attention.rotary import rotate

B, H, F, E = 2, 3, 6, 5


def features(tokens, dtype=torch.float64):
    """Non-negative q and k with zeros among them, and v of any sign."""
    q, k = torch.relu(torch.randn(2, B, H, tokens, F, dtype=dtype))
    return q, k, torch.randn(B, H, tokens, E, dtype=dtype)


@pytest.fixture(name="sum_chunk", params=[None, 1, 4, 7, 64])
def _sum_chunk(request, monkeypatch):
    """The length of exact sums: as it is, and so short that few tokens already need several."""
    if request.param is not None:
        monkeypatch.setattr(ops, "SUM_CHUNK", request.param)


@pytest.mark.usefixtures("sum_chunk")
@pytest.mark.parametrize("rotary", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("tokens", [1, 2, 13, 37])
def test_equals_the_quadratic_form(tokens, masked, rotary):
    inputs = features(tokens)
    mask = random_mask(B, tokens) if masked else None
    positions = torch.arange(tokens) if rotary else None
    turn = (lambda x: rotate(x, positions)) if rotary else None
    actual = with_gradients(lambda q, k, v: linear_attention(q, k, v, mask, rotate=turn), *inputs)
    expected = with_gradients(lambda q, k, v: reference.linear_attention(q, k, v, mask, positions), *inputs)
    assert_agree(actual, expected)


@pytest.mark.parametrize("factory", **each(FEATURE_MAPS))
@pytest.mark.parametrize("masked", [False, True])
def test_equals_the_quadratic_form_with_every_map(factory, masked):
    phi = factory(8, H).double()
    q, k, v = torch.randn(3, B, H, 21, 8, dtype=torch.float64)
    mask = random_mask(B, 21) if masked else None
    actual = with_gradients(lambda q, k, v: linear_attention(phi.query(q), phi.key(k), v, mask), q, k, v)
    expected = with_gradients(lambda q, k, v: reference.linear_attention(phi.query(q), phi.key(k), v, mask), q, k, v)
    assert_agree(actual, expected)


@pytest.mark.usefixtures("sum_chunk")
@pytest.mark.parametrize("masked", [False, True])
def test_weights_are_an_average_over_real_tokens(masked):
    """With the identity as values the result is the matrix of weights."""
    tokens = 19
    q, k, _ = features(tokens)
    mask = random_mask(B, tokens) if masked else torch.ones(B, tokens, dtype=torch.bool)
    identity = torch.eye(tokens, dtype=torch.float64).expand(B, H, tokens, tokens)
    weights = linear_attention(q, k, identity, mask if masked else None)
    assert weights.min() >= 0
    torch.testing.assert_close(weights.sum(-1), torch.ones(B, H, tokens).double(), rtol=1e-12, atol=0)
    assert (weights * ~mask[:, None, None, :]).abs().max() == 0
    torch.testing.assert_close(weights, reference.linear_weights(q, k, mask), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("factory", **each(AVERAGING))
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("value", [-8.0, 0.0, 8.0])
def test_a_single_token_returns_its_own_value(factory, value, dtype):
    """An epsilon in the denominator would answer 0.1 v at -8."""
    phi = factory(16, 1).to(dtype)
    x = torch.full((1, 1, 1, 16), value, dtype=dtype, requires_grad=True)
    v = torch.randn(1, 1, 1, E, dtype=dtype)
    out = linear_attention(phi.query(x), phi.key(x), v)
    torch.testing.assert_close(out, v, rtol=1e-5 if dtype == torch.float32 else 1e-12, atol=0)
    out.sum().backward()
    assert x.grad.isfinite().all()


@pytest.mark.parametrize("factory", **each(AVERAGING))
@pytest.mark.parametrize("scale", [0.0, 1.0, 10.0, 100.0])
def test_a_constant_value_comes_out_as_it_went_in(factory, scale):
    phi = factory(16, 2)
    q, k = scale * torch.randn(2, B, 2, 40, 16)
    v = torch.tensor([2.0, -3.0, 0.5]).expand(B, 2, 40, 3)
    torch.testing.assert_close(linear_attention(phi.query(q), phi.key(k), v), v, rtol=1e-5, atol=0)


@pytest.mark.parametrize("masked", [False, True])
def test_a_zero_denominator_gives_the_mean_of_real_values(masked):
    q, k, v = features(9)
    q[0, 1, 3], k[1] = 0, 0  # one query without a feature, one document without a key's
    mask = random_mask(B, 9) if masked else torch.ones(B, 9, dtype=torch.bool)
    out, *gradients = with_gradients(lambda q, k, v: linear_attention(q, k, v, mask if masked else None), q, k, v)
    mean = [v[b, :, mask[b]].mean(1) for b in range(B)]
    torch.testing.assert_close(out[0, 1, 3], mean[0][1], rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(out[1], mean[1][:, None].expand(H, 9, E), rtol=1e-12, atol=1e-14)
    for gradient in gradients:
        assert gradient.isfinite().all()


def test_an_empty_document_gives_zero_and_leaves_the_other_alone():
    q, k, v = features(9)
    mask = torch.ones(B, 9, dtype=torch.bool)
    mask[1] = False
    out, *gradients = with_gradients(lambda q, k, v: linear_attention(q, k, v, mask), q, k, v)
    assert (out[1] == 0).all()
    torch.testing.assert_close(out[:1], reference.linear_attention(q[:1], k[:1], v[:1]), rtol=1e-12, atol=1e-14)
    for gradient in gradients:
        assert gradient.isfinite().all()
        assert (gradient[1] == 0).all()


@pytest.mark.parametrize("value", [-30.0, -44.0, -48.0, -51.0, -60.0])
def test_underflowing_features_give_finite_gradients(value):
    """Products of features around 1e-40 have lost bits, and dividing by them overflows in the gradient."""
    x = torch.full((1, 1, 4, 8), value, requires_grad=True)
    v = torch.randn(1, 1, 4, E)
    out = linear_attention(x.exp(), x.exp(), v)
    torch.testing.assert_close(out, v.mean(2, keepdim=True).expand_as(v), rtol=1e-5, atol=1e-6)
    out.square().sum().backward()
    assert x.grad.isfinite().all()


@pytest.mark.parametrize("factory", **each(FEATURE_MAPS))
def test_permuted_tokens_permute_the_result(factory):
    phi = factory(8, H).double()
    q, k, v = torch.randn(3, B, H, 17, 8, dtype=torch.float64)
    order = torch.randperm(17)
    attend = lambda q, k, v: linear_attention(phi.query(q), phi.key(k), v)  # noqa: E731
    torch.testing.assert_close(
        attend(*(x[:, :, order] for x in (q, k, v))), attend(q, k, v)[:, :, order], rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("factory", **each(FEATURE_MAPS))
def test_rank_of_the_weights_is_at_most_the_feature_dimension(factory):
    phi = factory(4, 1).double()
    tokens = phi.feature_dim + 20
    q, k = torch.randn(2, 1, 1, tokens, 4, dtype=torch.float64)
    identity = torch.eye(tokens, dtype=torch.float64)[None, None]
    fires = phi.query(q).sum(-1) > 0  # the others read the mean, which adds one to the rank
    weights = linear_attention(phi.query(q), phi.key(k), identity)[fires]
    assert torch.linalg.matrix_rank(weights) <= phi.feature_dim < len(weights)


def test_sums_over_a_million_keys_are_exact_in_float32():
    k, v = torch.rand(2, 1, 1, 1_000_000, 2)
    q = torch.rand(1, 1, 5, 2)
    expected = linear_attention(q.double(), k.double(), v.double())
    assert relative_error(linear_attention(q, k, v), expected) < 1e-6


def test_chunks_are_summed_in_float64(monkeypatch):
    """Adding the same number thousands of times, float32 rounds the same way each time."""
    monkeypatch.setattr(ops, "SUM_CHUNK", 16)
    k = torch.full((1, 1, 2**17, 2), 0.1)
    v = torch.full((1, 1, 2**17, 2), 0.7)
    assert relative_error(linear_attention(k[:, :, :3], k, v), v[:, :, :3]) < 5e-7


def test_sums_over_queries_in_gradients_are_exact_in_float32():
    """One product over all queries would be off by 2e-5 here, and by 1e-4 at a million tokens."""
    q, k, weight = torch.rand(3, 1, 1, 2**18, 4)
    v = k + torch.randn_like(k)  # so that gradients of keys are not mere rounding

    def gradients(q, k, v):
        k, v = k.clone().requires_grad_(), v.clone().requires_grad_()
        return torch.autograd.grad((linear_attention(q, k, v) * weight.to(q.dtype)).sum(), (k, v))

    expected = gradients(q.double(), k.double(), v.double())
    for a, b in zip(gradients(q, k, v), expected, strict=True):
        assert relative_error(a, b) < 5e-6


@pytest.mark.parametrize("masked", [False, True])
def test_no_tensor_grows_with_the_square_of_the_tokens(masked):
    tokens = 4096
    q, k, v = (x[:1, :1] for x in features(tokens, torch.float32))
    mask = random_mask(1, tokens) if masked else None
    with largest_tensor() as largest:
        with_gradients(lambda q, k, v: linear_attention(q, k, v, mask), q, k, v)
    assert largest.bytes < tokens**2 / 8
