"""A document's logits and gradients are its own: neither padding nor batch-mates matter."""

from itertools import product

import pytest
import torch
from reference import FEATURE_MAPS, MIXERS, classifier, each, linear, names

from longdoc.attention import NoDecay, SoftmaxAttention
from longdoc.attention.ops import NORMALIZERS
from longdoc.feature_maps import Cosformer

POSITIONS = ("none", "learned", "sinusoidal", "rotary")
POOLINGS = ("mean", "max", "first", "last", "embeddings")
EVERY_POOL = "+".join(POOLINGS)  # each has a part of the head, so that a leak into one moves the logits
VOCABULARY, HUGE = 40, 30  # ids from HUGE on have embeddings 20 times as long, those from 35 on 10 times
LENGTH = 5
TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5}

EVERY = list(product(MIXERS, POSITIONS))
NAMES = [f"{name}-{positions}" for (name, _), positions in EVERY]
OPTIONS = (
    {"convolution": 3},
    {"gate": True, "qk_norm": True},
    {"hybrid_every": 2, "hybrid_attention": SoftmaxAttention},
)


def build(mixer, positions="none", pooling=EVERY_POOL, dtype=torch.float64, **options):
    model = classifier(mixer, positions, pooling, VOCABULARY, max_length=3 * LENGTH, dtype=dtype, **options)
    with torch.no_grad():
        model.encoder.embedding.weight[HUGE:35] *= 20
        model.encoder.embedding.weight[35:] *= 10
    return model.train()


def document():
    return torch.randint(1, HUGE, (LENGTH,))


def noise(*shape):
    """Ids whose embeddings are huge."""
    return torch.randint(HUGE, VOCABULARY, shape)


def ways(ids):
    """The document in other company: name, ids (B, N), mask (B, N), its row."""
    n = len(ids)
    right = torch.cat([ids, noise(3 * n)])
    left = torch.cat([noise(3 * n), ids])
    after, before = torch.arange(4 * n) < n, torch.arange(4 * n) >= 3 * n
    yield "padded on the right", right[None], after[None], 0
    yield "padded on the left", left[None], before[None], 0
    # The mate's length fits the learned table; the padding of both does not.
    mate = torch.arange(4 * n) < 3 * n
    yield "beside a longer mate", torch.stack([noise(4 * n), right]), torch.stack([mate, after]), 1
    short = torch.arange(n) < torch.tensor([[n], [1], [2]])
    yield "beside shorter mates", torch.stack([ids, noise(n), noise(n)]), short, 0
    yield (
        "beside an empty mate",
        torch.stack([noise(n), ids]),
        torch.tensor([[False], [True]]).expand(2, n),
        1,
    )


def logits_and_gradients(model, ids, mask, row):
    model.zero_grad(set_to_none=False)
    logits = model(ids, mask)[row]
    (logits * torch.tensor([1.0, -0.7, 0.4])).sum().backward()
    found = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    return logits.detach().clone(), found


def check(model, tolerance=1e-10, slack=1):
    ids = document()
    expected, gradients = logits_and_gradients(model, ids[None], None, 0)
    for way, batch, mask, row in ways(ids):
        actual, others = logits_and_gradients(model, batch, mask, row)
        torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance, msg=lambda m, w=way: f"{w}: {m}")
        for name, gradient in gradients.items():
            scale = max(1.0, gradient.abs().max().item())
            error = (others[name] - gradient).abs().max().item() / scale
            assert error < tolerance * slack, f"{way}: gradient of {name} is off by {error}"


@pytest.mark.parametrize("feature_map", names("feature_map"))
@pytest.mark.parametrize("decay", names("decay"))
@pytest.mark.parametrize("normalizer", NORMALIZERS)
def test_neither_padding_nor_batch_mates_matter_to_linear_attention(feature_map, decay, normalizer):
    """Every map, decay, normalizer and position, with every pool at once; causal too where a map can."""
    phi = dict(FEATURE_MAPS)[feature_map](8, 2)
    if normalizer == "magnitude" and not phi.absolute:
        with pytest.raises(ValueError, match=rf"magnitude: feature_map={feature_map} leaves the scale"):
            build(linear(feature_map, decay, normalizer=normalizer))
        return
    for i, positions in enumerate(POSITIONS):
        check(build(linear(feature_map, decay, normalizer=normalizer, causal=phi.causal and i % 2 == 1), positions))


@pytest.mark.parametrize("pooling", POOLINGS)
def test_neither_padding_nor_batch_mates_matter_to_a_pool_alone(pooling):
    check(build(linear(), "rotary", pooling))


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "+".join(options))
@pytest.mark.parametrize("mixer", **each([pair for pair in MIXERS if "causal" not in pair[0]]))
def test_neither_padding_nor_batch_mates_matter_with_what_surrounds_attention(mixer, options):
    check(build(mixer, "rotary", **options))


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("case", EVERY, ids=NAMES)
def test_neither_padding_nor_batch_mates_matter(case, dtype):
    (name, mixer), positions = case
    # By nature: ReBased's (q·k)² is a sum of monomials that cancel where q and k are nearly orthogonal.
    slack = 2 if name == "rebased" and dtype == torch.float32 else 1
    check(build(mixer, positions, dtype=dtype), TOLERANCE[dtype], slack)


@pytest.mark.parametrize(("mixer", "positions"), [(m, p) for (_, m), p in EVERY], ids=NAMES)
def test_an_empty_document_is_finite_and_the_same_under_any_padding(mixer, positions):
    model = build(mixer, positions)
    mask = torch.zeros(3, LENGTH, dtype=torch.bool)
    mask[0] = True
    ids = torch.stack([document(), noise(LENGTH), noise(LENGTH)])
    logits = model(ids, mask)
    assert logits.isfinite().all()
    torch.testing.assert_close(logits[1], logits[2], rtol=0, atol=0)
    (logits * torch.randn_like(logits)).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is None or parameter.grad.isfinite().all(), name


@pytest.mark.parametrize("mixer", **each(MIXERS))
def test_batches_of_any_size_and_order_give_the_same_logits(mixer):
    model = build(mixer).eval()
    lengths = torch.tensor([9, 1, 12, 4, 7, 12, 2, 5])
    ids = torch.randint(1, VOCABULARY, (8, 12))
    mask = torch.arange(12) < lengths[:, None]
    expected = model(ids, mask)
    order = torch.randperm(8)
    for size in (1, 2, 8):
        parts = []
        for rows in order.split(size):
            longest = int(lengths[rows].max())
            parts.append(model(ids[rows, :longest], mask[rows, :longest]))
        torch.testing.assert_close(torch.cat(parts), expected[order], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("mixer", "positions"), [(m, p) for (_, m), p in EVERY], ids=NAMES)
def test_a_mask_of_ones_is_no_mask(mixer, positions):
    model = build(mixer, positions)
    ids = torch.stack([document(), document()])
    mask = torch.ones_like(ids, dtype=torch.bool)
    torch.testing.assert_close(model(ids, mask), model(ids, None), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("mixer", [mixer for _, mixer in MIXERS], ids=[name for name, _ in MIXERS])
def test_order_counts_where_there_are_positions(mixer, positions):
    """Without positions and with the mean, a document is a bag of words; with them it is not."""
    model = build(mixer, positions, "mean")
    ids = torch.arange(1, LENGTH + 1)
    difference = (model(ids[None]) - model(ids[[2, 0, 4, 1, 3]][None])).abs().max().item()
    attention = model.encoder.blocks[0].attention.mixer
    blind = not attention.causal and isinstance(getattr(attention, "decay", None), NoDecay | None)
    blind = blind and not isinstance(getattr(attention, "feature_map", None), Cosformer)
    if positions == "none" and blind:
        assert difference < 1e-10
    elif positions != "none":
        assert difference > 1e-7


def test_each_pool_has_a_part_of_the_head():
    model = build(linear(), pooling="first+mean+embeddings")
    assert model.head.in_features == 3 * model.encoder.width
    assert model(document()[None]).shape == (1, 3)
