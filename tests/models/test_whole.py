"""A document read in pieces has the logits of the document read at once, in the memory of a piece."""

from functools import partial
from itertools import product

import pytest
import torch
from reference import FEATURE_MAPS, MIXERS, classifier, each, largest_tensor, linear, names, relative_error

from longdoc.attention import LinearAttention, SoftmaxAttention, WindowAttention
from longdoc.attention.ops import NORMALIZERS
from longdoc.feature_maps import Cosformer, FeatureMap
from longdoc.models import classify, whole

TOKENS, CHUNK = 83, 24
EVERY_POOL = "mean+max+first+last+embeddings"
POSITIONS = ("none", "learned", "sinusoidal", "rotary")


def build(mixer, positions="rotary", pooling=EVERY_POOL, **options):
    options = {"convolution": 5, "gate": True, "qk_norm": True, "max_length": TOKENS} | options
    return classifier(mixer, positions, pooling, **options).eval()


def check(model, chunks=(CHUNK,), tolerance=1e-10):
    ids = torch.randint(1, 40, (2, TOKENS))
    mask = torch.arange(TOKENS) < torch.tensor([[TOKENS], [60]])
    expected = model(ids, mask)
    if model.pooling.per_token:
        expected = expected * mask[..., None]
    for chunk in chunks:
        torch.testing.assert_close(classify(model, ids, mask, chunk), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("feature_map", "decay"), list(product(names("feature_map"), names("decay"))))
def test_pieces_give_the_logits_of_the_whole(feature_map, decay):
    normalizer = "none" if dict(FEATURE_MAPS)[feature_map](8, 2).absolute else "sum"
    check(build(linear(feature_map, decay, normalizer=normalizer)))


@pytest.mark.parametrize(("normalizer", "positions"), list(product(NORMALIZERS, POSITIONS)))
@pytest.mark.parametrize("decay", ["none", "selective"])
def test_so_with_every_normalizer_and_position(normalizer, positions, decay):
    check(build(linear(decay=decay, normalizer=normalizer), positions, convolution=0))


@pytest.mark.parametrize("decay", names("decay"))
def test_so_in_pieces_of_any_size(decay):
    check(build(linear(decay=decay), convolution=7), chunks=(5, 41, TOKENS, 1000))


@pytest.mark.parametrize("window", [1, 7, 30])
def test_so_with_windows_narrower_and_wider_than_a_piece(window):
    check(build(partial(WindowAttention, window=window)), chunks=(3, CHUNK))
    hybrid = {"hybrid_every": 2, "hybrid_attention": partial(WindowAttention, window=window)}
    check(build(linear(decay="fixed"), depth=3, **hybrid))


@pytest.mark.parametrize("mixer", [linear(decay="channel"), linear(causal=True)], ids=["both", "causal"])
@pytest.mark.parametrize("pooling", ["none", *EVERY_POOL.split("+")])
def test_so_with_every_pool_alone(mixer, pooling):
    options = {"convolution": 4} if mixer(8, 2).causal else {}
    check(build(mixer, pooling=pooling, head="mlp", **options))


@pytest.mark.parametrize("causal", [False, True])
def test_so_for_pairs_and_for_heads_of_another_width(causal):
    model = build(linear(decay="selective", causal=causal), interaction="full", convolution=0, head_dim=10)
    ids = torch.randint(1, 40, (3, 2, TOKENS))
    mask = torch.rand(3, 2, 1) * TOKENS > torch.arange(TOKENS)
    torch.testing.assert_close(classify(model, ids, mask, CHUNK), model(ids, mask), rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(classify(model, ids[0], None, CHUNK), model(ids)[0], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("pooling", [EVERY_POOL, "none"])
def test_padding_on_either_side_and_empty_documents(pooling):
    model = build(linear(decay="fixed"), pooling=pooling)
    ids = torch.randint(1, 40, (3, TOKENS))
    place = torch.arange(TOKENS)
    mask = torch.stack([place >= 30, (place >= 3) & (place < 50), place < 0])
    expected = model(ids, mask)
    if pooling == "none":
        expected = expected * mask[..., None]
    torch.testing.assert_close(classify(model, ids, mask, CHUNK), expected, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(classify(model, ids[0], mask[0], CHUNK), expected[0], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("feature_map", ["elu", "favor", "efficient", "taylor"])
@pytest.mark.parametrize("decay", ["none", "selective"])
def test_16k_tokens_in_float32_differ_by_rounding_alone(feature_map, decay):
    model = build(linear(feature_map, decay), "sinusoidal", "mean", dtype=torch.float32)
    ids = torch.randint(1, 40, (1, 2**14))
    assert relative_error(classify(model, ids, None, 3000), model(ids).detach()) < 1e-4


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("decay", ["none", "fixed", "channel"])
def test_no_tensor_is_larger_than_a_vector_a_token(causal, decay):
    """Of a causal model, than what a piece needs."""
    model = build(
        linear("taylor", decay, causal=causal), "none", "mean", feedforward=128, convolution=0, dtype=torch.float32
    )
    ids = torch.randint(1, 40, (1, 1600))
    with largest_tensor() as largest:
        classify(model, ids, None, 64)
    vectors = ids.numel() * model.encoder.width * 4
    assert largest.bytes < vectors / 2 if causal else largest.bytes == vectors


def test_documents_beyond_the_budget_are_read_in_pieces_by_themselves(monkeypatch):
    model = build(linear())
    ids = torch.randint(1, 40, (2, TOKENS))
    monkeypatch.setattr(whole, "CHUNK", CHUNK)
    for budget, pieces in ((ids.numel(), 0), (ids.numel() - 1, 1)):
        monkeypatch.setattr(whole, "BUDGET", budget)
        read = []
        monkeypatch.setattr(whole, "classify", lambda *given, read=read: read.append(given) or classify(*given))
        torch.testing.assert_close(whole.logits(model, ids), model(ids), rtol=1e-10, atol=1e-10)
        assert len(read) == pieces
    softmax = build(SoftmaxAttention)
    torch.testing.assert_close(whole.logits(softmax, ids), softmax(ids))
    assert len(read) == 1


class Whole(FeatureMap):
    """A map of one's own that says nothing of pieces."""

    causal = False

    def forward(self, x):
        return x.softmax(2)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (
            lambda: build(linear(), hybrid_every=2, hybrid_attention=SoftmaxAttention),
            "^block 2 mixes by SoftmaxAttention, whose every token reads all others at once: documents are read in ",
        ),
        (lambda: build(partial(LinearAttention, feature_map=Whole)), "^feature_map=whole needs the whole sequence "),
        (lambda: build(linear()).train(), r"needs a model in evaluation mode: call model.eval\(\) first$"),
        (lambda: build(linear(), "learned", max_length=50), "a document of 83 tokens is longer than the learned "),
        (lambda: build(partial(linear(), feature_map=partial(Cosformer, length=50))), "length=50"),
    ],
)
def test_what_cannot_be_read_in_pieces_is_said(model, sentence):
    with pytest.raises(ValueError, match=sentence):
        classify(model(), torch.randint(1, 40, (1, TOKENS)), None, CHUNK)


def test_padding_between_tokens_is_refused():
    mask = torch.ones(2, TOKENS, dtype=torch.bool)
    mask[1, 5] = False
    with pytest.raises(ValueError, match="row 1 of mask has padding between real tokens"):
        classify(build(linear()), torch.randint(1, 40, (2, TOKENS)), mask, CHUNK)


@pytest.mark.parametrize("mixer", **each(MIXERS))
def test_every_mixer_is_read_or_refused(mixer):
    model = build(mixer, convolution=0)
    if isinstance(mixer(8, 2), SoftmaxAttention):
        assert whole.refusal(model) is not None
    else:
        check(model)
