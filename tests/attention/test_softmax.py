"""The baseline against its definition."""

from functools import partial

import pytest
import torch
from reference import assert_agree, classifier, largest_tensor, random_mask, softmax_attention, with_gradients

from longdoc.attention import SoftmaxAttention, WindowAttention


def run(function, q, k, v, mask, positions):
    """Value and gradients of a module or of the definition, rotary where there are positions."""
    if isinstance(function, torch.nn.Module):
        return with_gradients(lambda q, k, v: function(q, k, v, None, mask, positions, positions is not None), q, k, v)
    return with_gradients(lambda q, k, v: function(q, k, v, mask, positions), q, k, v)


CASES = [(True, None), (False, 1), (False, 4), (False, 64), (True, 1), (True, 4), (True, 64), (False, None)]


def module(causal, window):
    return SoftmaxAttention(8, 3, causal) if window is None else WindowAttention(8, 3, window, causal)


@pytest.mark.parametrize(("causal", "window"), CASES)
@pytest.mark.parametrize("rotary", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("tokens", [1, 13, 37])
def test_equals_the_quadratic_form(tokens, masked, rotary, causal, window):
    q, k, v = torch.randn(3, 2, 3, tokens, 8, dtype=torch.float64)
    mask = random_mask(2, tokens) if masked else None
    positions = torch.arange(tokens) if rotary else None
    actual = run(module(causal, window), q, k, v, mask, positions)
    expected = run(partial(softmax_attention, causal=causal, window=window), q, k, v, mask, positions)
    assert_agree(actual, expected)


@pytest.mark.parametrize("window", [None, 1, 4, 64])
@pytest.mark.parametrize("sizes", [[1] * 37, [13, 1, 1, 9, 13]])
def test_pieces_equal_the_whole(window, sizes):
    q, k, v = torch.randn(3, 2, 3, 37, 8, dtype=torch.float64)
    attention = module(True, window)
    positions, state = torch.arange(37), {}
    whole = attention(q, k, v, None, None, positions, True)
    outs = [
        attention(q[:, :, at], k[:, :, at], v[:, :, at], None, None, at, True, state) for at in positions.split(sizes)
    ]
    torch.testing.assert_close(torch.cat(outs, dim=2), whole, rtol=1e-10, atol=1e-10)
    assert state["keys"].shape[2] == min(37, window or 37)


def test_a_window_is_at_least_a_token():
    with pytest.raises(ValueError, match=r"attention.window=0 must be a whole number of tokens, at least 1"):
        WindowAttention(8, 2, window=0)


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
@pytest.mark.parametrize("attention", [SoftmaxAttention(8, 1), WindowAttention(8, 1, 16)], ids=["softmax", "window"])
def test_no_tensor_grows_with_the_square_of_the_tokens(attention, masked, dtype):
    tokens = 1024
    q, k, v = (torch.randn(1, 1, tokens, 8, dtype=dtype) for _ in range(3))
    mask = random_mask(1, tokens) if masked else None
    with largest_tensor() as largest:
        run(attention, q, k, v, mask, None)
    assert largest.bytes < tokens**2 / 4
