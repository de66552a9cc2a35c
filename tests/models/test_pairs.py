"""Pairs of documents: each is read alone, and only the head sees both."""

import pytest
import torch
from reference import MIXERS, classifier, each, linear
from torch import nn

from longdoc.models import Classifier, Encoder, Stream
from longdoc.speed import flops_per_token, largest_tensor

POOLING = "mean+first"
VOCABULARY, HUGE = 40, 30  # ids from HUGE on have embeddings 20 times as long
LONG, SHORT = 5, 3  # tokens of the two documents
WIDTH = 16


def build(mixer, interaction="full", head="mlp", **options):
    model = classifier(
        mixer, "rotary", POOLING, VOCABULARY, max_length=4 * LONG, head=head, interaction=interaction, **options
    )
    with torch.no_grad():
        model.encoder.embedding.weight[HUGE:] *= 20
    return model.train()


def documents():
    return torch.randint(1, HUGE, (LONG,)), torch.randint(1, HUGE, (SHORT,))


def noise(*shape):
    """Ids whose embeddings are huge."""
    return torch.randint(HUGE, VOCABULARY, shape)


def padded(pairs, length, left=False):
    """Pairs of documents as ids and mask (B, 2, N), with noise where there is no token."""
    ids, mask = noise(len(pairs), 2, length), torch.zeros(len(pairs), 2, length, dtype=torch.bool)
    for i, pair in enumerate(pairs):
        for side, document in enumerate(pair):
            place = slice(length - len(document), length) if left else slice(len(document))
            ids[i, side, place], mask[i, side, place] = document, True
    return ids, mask


def vector(model, document):
    """What the head sees of a document, read alone and without padding, (M,)."""
    pooled = model.pooling(*model.encoder(document[None]), None)
    return torch.cat([norm(p) for norm, p in zip(model.norms, pooled, strict=True)], -1)[0]


def expected_logits(model, pair):
    a, b = (vector(model, document) for document in pair)
    return model.head(torch.cat({"full": [a, b, a * b, a - b], "concat": [a, b]}[model.interaction]))


def with_gradients(model, compute):
    model.zero_grad(set_to_none=False)
    logits = compute()
    (logits * torch.tensor([1.0, -0.7, 0.4])).sum().backward()
    found = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    return logits.detach().clone(), found


@pytest.mark.parametrize("interaction", ["full", "concat"])
@pytest.mark.parametrize("mixer", **each(MIXERS))
def test_a_pair_is_two_documents_read_alone_whatever_pads_them_and_stands_beside_them(mixer, interaction):
    model = build(mixer, interaction)
    pair = documents()
    expected, gradients = with_gradients(model, lambda: expected_logits(model, pair))
    mates = [(noise(4 * LONG), noise(2)), (noise(1), noise(0))]
    ways = {
        "padded to the longer": (*padded([pair], LONG), 0),
        "padded on the right": (*padded([pair], 4 * LONG), 0),
        "padded on the left": (*padded([pair], 4 * LONG, left=True), 0),
        "beside mates": (*padded([mates[0], pair, mates[1]], 4 * LONG), 1),
    }
    for way, (ids, mask, row) in ways.items():
        logits, others = with_gradients(model, lambda ids=ids, mask=mask, row=row: model(ids, mask)[row])
        torch.testing.assert_close(logits, expected, rtol=1e-10, atol=1e-10, msg=lambda m, w=way: f"{w}: {m}")
        for name, gradient in gradients.items():
            scale = max(1.0, gradient.abs().max().item())
            assert (others[name] - gradient).abs().max().item() / scale < 1e-10, f"{way}: gradient of {name}"


@pytest.mark.parametrize("mixer", **each(MIXERS))
def test_the_order_of_a_batch_is_the_order_of_its_logits(mixer):
    model = build(mixer).eval()
    ids, mask = padded([(noise(i + 1), noise(9 - i)) for i in range(6)], 9)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    torch.testing.assert_close(model(ids[order], mask[order]), model(ids, mask)[order], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("mixer", **each(MIXERS))
def test_an_empty_document_on_one_side_gives_finite_logits_and_gradients(mixer, side):
    model = build(mixer)
    pair = [documents()[0], torch.empty(0, dtype=torch.long)]
    ids, mask = padded([pair if side else pair[::-1]] * 2, LONG)  # with two sorts of noise
    logits = model(ids, mask)
    assert logits.isfinite().all()
    torch.testing.assert_close(logits[0], logits[1], rtol=0, atol=1e-14)
    (logits * torch.randn_like(logits)).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is None or parameter.grad.isfinite().all(), name


def test_without_padding_no_mask_is_needed():
    model = build(linear())
    ids = noise(3, 2, LONG)
    torch.testing.assert_close(model(ids), model(ids, torch.ones_like(ids, dtype=torch.bool)), rtol=1e-12, atol=1e-12)


def test_full_sees_whether_documents_are_alike_which_concat_with_a_linear_head_could_not():
    """An XOR of two words: a linear head on [a, b] is a sum of what each says, so that the logits of the four pairs
    satisfy f(x, x) + f(y, y) = f(x, y) + f(y, x)."""
    model = build(linear(), head="linear")
    ids = torch.tensor([[[1], [1]], [[2], [2]], [[1], [2]], [[2], [1]]])
    same, other = model(ids)[:2].sum(0), model(ids)[2:].sum(0)
    assert (same - other).abs().max() > 1e-3
    with torch.no_grad():
        model.head.weight[:, 2 * 2 * WIDTH :] = 0  # what is left is [a, b]
    same, other = model(ids)[:2].sum(0), model(ids)[2:].sum(0)
    torch.testing.assert_close(same, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("interaction", "pooling", "head", "inputs"),
    [
        ("full", "mean", "mlp", 4),
        ("concat", "mean", "mlp", 2),
        (None, "mean", "mlp", 1),
        ("full", POOLING, "linear", 8),
    ],
)
def test_the_head_is_of_the_size_that_is_told(interaction, pooling, head, inputs):
    """LRA's heads: one hidden layer as wide as the encoder's feed-forward."""
    model = classifier(linear(), pooling=pooling, head=head, interaction=interaction, feedforward=24)
    sizes = [(layer.in_features, layer.out_features) for layer in model.head.modules() if isinstance(layer, nn.Linear)]
    assert sizes == ([(inputs * WIDTH, 24), (24, 3)] if head == "mlp" else [(inputs * WIDTH, 3)])
    assert any(isinstance(layer, nn.ReLU) for layer in model.head.modules()) == (head == "mlp")


def test_an_mlp_head_is_its_formula():
    model = classifier(linear(), head="mlp").eval()
    document = documents()[0]
    first, second = model.head[0], model.head[2]
    pooled = model.norms[0](model.pooling(*model.encoder(document[None]), None)[0])
    expected = (pooled @ first.weight.T + first.bias).clamp(min=0) @ second.weight.T + second.bias
    torch.testing.assert_close(model(document[None]), expected, rtol=1e-12, atol=1e-12)


def test_a_stream_of_a_model_with_an_mlp_head_gives_the_logits_of_the_whole():
    model = classifier(linear(causal=True), head="mlp").eval()
    stream, ids = Stream(model), documents()[0][None]
    stream.read(ids[:, :2])
    stream.read(ids[:, 2:])
    torch.testing.assert_close(stream.logits(), model(ids), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"head": "deep"}, "head=deep is not one of linear, mlp"),
        ({"interaction": "product"}, "interaction=product is not one of full, concat, or null"),
        ({"interaction": "concat"}, "interaction=concat: a linear head .* compares nothing; it needs head=mlp"),
        ({"interaction": "full", "pooling": "none"}, "interaction=full: pooling=none leaves no vector of a document"),
    ],
)
def test_what_cannot_work_is_refused(options, sentence):
    encoder = Encoder(VOCABULARY, LONG, WIDTH, 1, 2, 16, linear())
    with pytest.raises(ValueError, match=sentence):
        Classifier(encoder, **({"pooling": "mean", "classes": 2} | options))


def test_a_stream_of_pairs_is_refused():
    with pytest.raises(ValueError, match="interaction=full: a stream reads one document, not a pair"):
        Stream(build(linear(causal=True)).eval())


def test_the_cost_of_a_pair_is_that_of_two_documents_and_its_head():
    """Linear attention costs a token the same; softmax grows with one document's length, not with both together."""
    single = classifier(linear(), dtype=torch.float32).eval()
    pair = classifier(linear(), dtype=torch.float32, interaction="full").eval()
    more = 2 * (4 * WIDTH * 3) / (2 * 64) - 2 * (WIDTH * 3) / 64  # the two heads, by token
    assert flops_per_token(pair, 64) == pytest.approx(flops_per_token(single, 64) + more)
    assert largest_tensor(pair, 3, 64) == largest_tensor(single, 6, 64)
