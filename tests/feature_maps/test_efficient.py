"""Efficient attention."""

import torch

from longdoc.attention.ops import linear_attention
from longdoc.feature_maps import Efficient

PHI = Efficient(8, 2)
MASK = torch.tensor([[1, 1, 1, 1, 1, 1], [0, 1, 1, 0, 1, 0]]).bool()


def draws():
    return torch.randn(3, 2, 2, 6, 8, dtype=torch.float64)


def test_keys_compete_over_the_real_tokens():
    _, k, _ = draws()
    actual = PHI.key(k, mask=MASK)
    for row in range(2):
        real = k[row, :, MASK[row]]
        expected = real.exp() / real.exp().sum(1, keepdim=True)
        torch.testing.assert_close(actual[row, :, MASK[row]], expected, rtol=1e-13, atol=0)
        assert (actual[row, :, ~MASK[row]] == 0).all()


def test_the_attention_normalises_what_is_normal():
    """softmax(q) (softmax(k)ᵀ v) of Shen et al. as it stands: the denominator is 1."""
    q, k, v = draws()
    mask = MASK[:, None, :, None]
    keys = k.masked_fill(~mask, float("-inf")).softmax(2)
    expected = q.softmax(-1) @ (keys.mT @ v)
    actual = linear_attention(PHI.query(q), PHI.key(k, mask=MASK), v, MASK)
    torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-14)


def test_it_is_not_for_causal_attention():
    assert not PHI.causal


def test_gradients_reach_no_padding():
    _, k, _ = draws()
    k.requires_grad_()
    PHI.key(k, mask=MASK).square().sum().backward()
    assert (k.grad * ~MASK[:, None, :, None] == 0).all()


def test_a_million_tokens_are_normalised_in_float32():
    k = torch.randn(1, 1, 1_000_000, 2)
    torch.testing.assert_close(PHI.key(k).double(), k.double().softmax(2), rtol=2e-6, atol=0)


def test_a_summary_of_pieces_gives_the_keys_of_the_whole():
    k = 50 * torch.randn(2, 2, 90, 8, dtype=torch.float64)
    pieces, summary = k.split([40, 1, 49], dim=2), None
    for piece in reversed(pieces):
        summary = PHI.summarize(piece, summary)
    within = torch.cat([PHI.key_within(piece, None, summary) for piece in pieces], dim=2)
    torch.testing.assert_close(within, PHI.key(k), rtol=1e-12, atol=0)
