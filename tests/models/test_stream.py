"""A document fed in pieces gives the logits of the document fed whole."""

import io
from functools import partial
from itertools import product

import pytest
import torch
from reference import FEATURE_MAPS, classifier, linear, names

from longdoc.attention import SoftmaxAttention, WindowAttention
from longdoc.feature_maps import Cosformer
from longdoc.models import Stream

TOKENS = 90
CAUSAL = [name for name, factory in FEATURE_MAPS if factory(8, 2).causal]
SIZES = ([90], [1] * 90, [37, 1, 1, 30, 21], [64, 26])
EVERY_POOL = "mean+max+first+last+embeddings"


def window(head_dim, heads):
    return WindowAttention(head_dim, heads, window=7, causal=True)


def softmax(head_dim, heads):
    return SoftmaxAttention(head_dim, heads, causal=True)


def build(mixer, positions="rotary", **options):
    options = {"convolution": 4, "gate": True, "qk_norm": True} | options
    pooling = options.pop("pooling", EVERY_POOL)
    return classifier(mixer, positions, pooling, max_length=TOKENS, **options).eval()


def check(model):
    ids = torch.randint(1, 40, (2, TOKENS))
    whole = model(ids)
    whole = whole[:, -1] if model.pooling.per_token else whole
    for sizes in SIZES:
        stream = Stream(model)
        for piece in ids.split(sizes, dim=1):
            stream.read(piece)
        torch.testing.assert_close(stream.logits(), whole, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("feature_map", "decay"), list(product(CAUSAL, names("decay"))))
def test_pieces_of_any_size_give_the_logits_of_the_whole(feature_map, decay):
    check(build(linear(feature_map, decay, causal=True)))


@pytest.mark.parametrize("positions", ["none", "learned", "sinusoidal", "rotary"])
@pytest.mark.parametrize("normalizer", ["none", "magnitude"])
def test_so_with_every_normalizer_and_position(positions, normalizer):
    check(build(linear(decay="selective", normalizer=normalizer, causal=True), positions))


@pytest.mark.parametrize("pooling", ["none", *EVERY_POOL.split("+")])
def test_so_with_every_pool_alone(pooling):
    check(build(linear(causal=True), pooling=pooling))


@pytest.mark.parametrize("other", [softmax, window])
def test_so_in_hybrid_stacks(other):
    check(build(linear(decay="fixed", causal=True), hybrid_every=2, hybrid_attention=other))
    check(build(other))


def test_a_saved_state_goes_on_in_another_stream():
    model = build(linear(decay="selective", causal=True), hybrid_every=2, hybrid_attention=window)
    ids = torch.randint(1, 40, (2, TOKENS))
    first = Stream(model)
    first.read(ids[:, :40])
    file = io.BytesIO()
    torch.save(first.state, file)
    file.seek(0)
    second = Stream(model, torch.load(file, weights_only=True))
    second.read(ids[:, 40:])
    torch.testing.assert_close(second.logits(), model(ids), rtol=1e-10, atol=1e-10)


def test_the_state_does_not_grow():
    model = build(linear(decay="fixed", causal=True), hybrid_every=2, hybrid_attention=window)
    sizes = []
    stream = Stream(model)
    for _ in range(4):
        stream.read(torch.randint(1, 40, (1, 200)))
        file = io.BytesIO()
        torch.save(stream.state, file)
        sizes.append(len(file.getvalue()))
    assert max(sizes) - min(sizes) < 64  # the number of tokens itself


def test_later_tokens_change_no_earlier_output():
    model = build(linear(decay="channel", causal=True), hybrid_every=2, hybrid_attention=softmax)
    ids = torch.randint(1, 40, (1, TOKENS))
    changed = torch.cat([ids[:, :50], torch.randint(1, 40, (1, TOKENS - 50))], dim=1)
    hidden, other = model.encoder(ids)[0], model.encoder(changed)[0]
    torch.testing.assert_close(other[:, :50], hidden[:, :50], rtol=1e-10, atol=1e-10)
    assert (other[:, 50:] - hidden[:, 50:]).abs().max() > 1e-3


def test_what_cannot_be_streamed_is_said():
    with pytest.raises(ValueError, match=r"a stream needs attention.causal=true"):
        Stream(classifier(linear()).eval())
    with pytest.raises(ValueError, match=r"needs a model in evaluation mode"):
        Stream(classifier(linear(causal=True)))
    with pytest.raises(ValueError, match=r"hybrid_attention must both be causal, or neither"):
        classifier(linear(causal=True), hybrid_every=2, hybrid_attention=SoftmaxAttention)
    with pytest.raises(ValueError, match=r"attention.causal=true: feature_map=efficient needs the whole sequence"):
        classifier(linear("efficient", causal=True))


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (
            lambda: classifier(linear(causal=True), "learned", max_length=12),
            "learned position table of 12",
        ),
        (lambda: classifier(partial(linear(causal=True), feature_map=partial(Cosformer, length=12))), "length=12"),
    ],
)
def test_a_stream_ends_where_positions_do_and_goes_on_with_what_fits(model, sentence):
    stream = Stream(model().eval())
    stream.read(torch.ones(1, 10, dtype=torch.long))
    with pytest.raises(ValueError, match=rf"a document of 13 tokens is longer than .*{sentence}"):
        stream.read(torch.ones(1, 3, dtype=torch.long))
    stream.read(torch.ones(1, 2, dtype=torch.long))
    torch.testing.assert_close(stream.logits(), stream.model(torch.ones(1, 12, dtype=torch.long)))
