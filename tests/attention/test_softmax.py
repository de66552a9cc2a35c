"""The baseline against its definition."""

import pytest
import torch
from reference import classifier, largest_tensor, random_mask, softmax_attention

from longdoc.attention import SoftmaxAttention


def run(function, q, k, v, mask, positions):
    inputs = [x.detach().clone().requires_grad_() for x in (q, k, v)]
    out = function(*inputs, mask, positions)
    direction = torch.randn(out.shape, dtype=out.dtype, generator=torch.Generator().manual_seed(3))
    return [out.detach(), *torch.autograd.grad((out * direction).sum(), inputs)]


@pytest.mark.parametrize("rotary", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("tokens", [1, 13, 37])
def test_equals_the_quadratic_form(tokens, masked, rotary):
    q, k, v = torch.randn(3, 2, 3, tokens, 8, dtype=torch.float64)
    mask = random_mask(2, tokens) if masked else None
    positions = torch.arange(tokens) if rotary else None
    actual = run(SoftmaxAttention(8, 3), q, k, v, mask, positions)
    for a, b in zip(actual, run(softmax_attention, q, k, v, mask, positions), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


def test_an_empty_document_stays_finite_and_leaves_the_other_alone():
    q, k, v = torch.randn(3, 2, 3, 9, 8, dtype=torch.float64)
    mask = torch.ones(2, 9, dtype=torch.bool)
    mask[1] = False
    out, *gradients = run(SoftmaxAttention(8, 3), q, k, v, mask, None)
    for x in (out, *gradients):
        assert x.isfinite().all()
    torch.testing.assert_close(out, softmax_attention(q, k, v, mask), rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(out[:1], softmax_attention(q[:1], k[:1], v[:1]), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("padded", [False, True])
def test_training_and_evaluation_agree_without_dropout(padded):
    """Fused paths that only evaluation takes give other results, or NaN with a mask."""
    model = classifier(SoftmaxAttention, "learned", "mean")
    ids = torch.randint(1, 40, (3, 12))
    mask = torch.arange(12) < torch.tensor([12, 5, 1])[:, None] if padded else None
    trained = model.train()(ids, mask)
    with_grad = model.eval()(ids, mask)
    with torch.no_grad():
        without_grad = model.eval()(ids, mask)
    torch.testing.assert_close(with_grad, trained, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(without_grad, trained, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("masked", [False, True])
def test_no_tensor_grows_with_the_square_of_the_tokens(masked, dtype):
    tokens = 1024
    q, k, v = (torch.randn(1, 1, tokens, 8, dtype=dtype) for _ in range(3))
    mask = random_mask(1, tokens) if masked else None
    with largest_tensor() as largest:
        run(SoftmaxAttention(8, 1), q, k, v, mask, None)
    assert largest.bytes < tokens**2 / 8
