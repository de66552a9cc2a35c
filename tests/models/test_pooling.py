"""From tokens to one vector, by hand."""

import pytest
import torch
from reference import MIXERS, classifier

from longdoc.models.pooling import Pooling

HIDDEN = torch.randn(4, 6, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
EMBEDDED = torch.randn(4, 6, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
MASK = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 0, 0]]).bool()
BY_HAND = {
    "mean": lambda hidden, embedded: hidden.sum(0) / len(hidden),
    "max": lambda hidden, embedded: hidden.sort(0).values[-1],
    "first": lambda hidden, embedded: hidden[0],
    "last": lambda hidden, embedded: hidden[-1],
    "embeddings": lambda hidden, embedded: embedded.sum(0) / len(embedded),
}


@pytest.mark.parametrize("kind", list(BY_HAND))
def test_equals_the_rule_applied_to_the_real_tokens(kind):
    (actual,) = Pooling(kind)(HIDDEN, EMBEDDED, MASK)
    for row in range(4):
        expected = BY_HAND[kind](HIDDEN[row][MASK[row]], EMBEDDED[row][MASK[row]])
        torch.testing.assert_close(actual[row], expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", list(BY_HAND))
def test_equals_the_rule_without_a_mask(kind):
    (actual,) = Pooling(kind)(HIDDEN, EMBEDDED, None)
    for row in range(4):
        torch.testing.assert_close(actual[row], BY_HAND[kind](HIDDEN[row], EMBEDDED[row]), rtol=1e-12, atol=1e-14)


def test_max_ignores_larger_padding():
    hidden = HIDDEN.masked_fill(~MASK[..., None], 1e9)
    (actual,) = Pooling("max")(hidden, EMBEDDED, MASK)
    assert actual.max() < 10


def test_max_of_negative_values_is_not_zero():
    (actual,) = Pooling("max")(-HIDDEN.abs() - 1, EMBEDDED, MASK)
    assert actual.max() <= -1


@pytest.mark.parametrize("kind", list(BY_HAND))
def test_an_empty_document_gives_zero(kind):
    mask = MASK.clone()
    mask[2] = False
    hidden, embedded = HIDDEN.clone().requires_grad_(), EMBEDDED.clone().requires_grad_()
    (actual,) = Pooling(kind)(hidden, embedded, mask)
    assert (actual[2] == 0).all()
    gradients = torch.autograd.grad(actual.sum(), (hidden, embedded), materialize_grads=True)
    for gradient in gradients:
        assert gradient.isfinite().all()
        assert (gradient[~mask] == 0).all()


def test_several_pools_stand_in_the_order_of_their_names():
    pools = Pooling("last+mean+embeddings")(HIDDEN, EMBEDDED, MASK)
    for kind, actual in zip(["last", "mean", "embeddings"], pools, strict=True):
        assert torch.equal(actual, Pooling(kind)(HIDDEN, EMBEDDED, MASK)[0])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_averaged_in_float32(dtype):
    """Also under autocast, which would turn the product back."""
    hidden = torch.randn(1, 5000, 3).to(dtype) + 3
    with torch.autocast("cpu", dtype=dtype):
        (actual,) = Pooling("mean")(hidden, hidden, None)
    assert actual.dtype == torch.float32
    torch.testing.assert_close(actual.double(), hidden.double().mean(1), rtol=1e-5, atol=0)


def test_none_leaves_the_tokens():
    (actual,) = Pooling("none")(HIDDEN, EMBEDDED, MASK)
    assert torch.equal(actual, HIDDEN)
    (wide,) = Pooling("none")(HIDDEN.bfloat16(), EMBEDDED.bfloat16(), None)
    assert wide.dtype == torch.float32


@pytest.mark.parametrize("mixer", [mixer for _, mixer in MIXERS], ids=[name for name, _ in MIXERS])
def test_logits_of_tokens_do_not_depend_on_padding_or_batch_mates(mixer):
    model = classifier(mixer, "sinusoidal", "none")
    ids = torch.randint(1, 40, (1, 5))
    expected = model(ids)
    assert expected.shape == (1, 5, 3)
    mask = torch.zeros(2, 12, dtype=torch.bool)
    mask[0], mask[1, 4:9] = True, True
    padded = torch.randint(1, 40, (2, 12))
    padded[1, 4:9] = ids
    torch.testing.assert_close(model(padded, mask)[1, 4:9], expected[0], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", ["median", "mean+cls", "", "mean,max", "none+mean"])
def test_an_unknown_pool_is_named_with_those_there_are(kind):
    with pytest.raises(ValueError, match=r"is not one of mean, max, first, last, embeddings"):
        Pooling(kind)
