"""A document's logits and gradients are its own: neither padding nor batch-mates matter."""

from itertools import product

import pytest
import torch
from reference import MIXERS, classifier

POSITIONS = ("none", "learned", "sinusoidal", "rotary")
POOLINGS = ("mean", "max", "first", "last", "first+mean", "mean+embeddings")
VOCABULARY, HUGE = 40, 30  # ids from HUGE on have embeddings 20 times as long, those from 35 on 10 times
LENGTH = 5

EVERY = list(product(MIXERS, POSITIONS, POOLINGS))
NAMES = [f"{name}-{positions}-{pooling}" for (name, _), positions, pooling in EVERY]
# Each pair of words at least once: mixers, positions and poolings shifted against each other.
SHIFTS = [
    [name for name, _ in MIXERS].index(name) + POSITIONS.index(positions) + POOLINGS.index(pooling)
    for (name, _), positions, pooling in EVERY
]
SOME = [i for i, shift in enumerate(SHIFTS) if shift % 3 == 0]


def build(case, dtype=torch.float64):
    (_, mixer), positions, pooling = case
    model = classifier(mixer, positions, pooling, VOCABULARY, max_length=3 * LENGTH, dtype=dtype)
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


def check(case, dtype, tolerance):
    model = build(case, dtype)
    ids = document()
    expected, gradients = logits_and_gradients(model, ids[None], None, 0)
    for way, batch, mask, row in ways(ids):
        actual, others = logits_and_gradients(model, batch, mask, row)
        torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance, msg=lambda m, w=way: f"{w}: {m}")
        for name, gradient in gradients.items():
            scale = max(1.0, gradient.abs().max().item())
            error = (others[name] - gradient).abs().max().item() / scale
            assert error < tolerance, f"{way}: gradient of {name} is off by {error}"


@pytest.mark.parametrize("case", EVERY, ids=NAMES)
def test_neither_padding_nor_batch_mates_matter(case):
    check(case, torch.float64, 1e-10)


@pytest.mark.parametrize("case", [EVERY[i] for i in SOME], ids=[NAMES[i] for i in SOME])
def test_neither_padding_nor_batch_mates_matter_in_float32(case):
    check(case, torch.float32, 1e-5)


@pytest.mark.parametrize("case", EVERY, ids=NAMES)
def test_an_empty_document_is_finite_and_the_same_under_any_padding(case):
    model = build(case)
    mask = torch.zeros(3, LENGTH, dtype=torch.bool)
    mask[0] = True
    ids = torch.stack([document(), noise(LENGTH), noise(LENGTH)])
    logits = model(ids, mask)
    assert logits.isfinite().all()
    torch.testing.assert_close(logits[1], logits[2], rtol=0, atol=0)
    (logits * torch.randn_like(logits)).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is None or parameter.grad.isfinite().all(), name


@pytest.mark.parametrize("case", EVERY[:: len(POSITIONS) * len(POOLINGS)], ids=[name for name, _ in MIXERS])
def test_batches_of_any_size_and_order_give_the_same_logits(case):
    model = build(case).eval()
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


@pytest.mark.parametrize("case", EVERY[:: len(POOLINGS)], ids=NAMES[:: len(POOLINGS)])
def test_a_mask_of_ones_is_no_mask(case):
    model = build(case)
    ids = torch.stack([document(), document()])
    mask = torch.ones_like(ids, dtype=torch.bool)
    torch.testing.assert_close(model(ids, mask), model(ids, None), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("mixer", [mixer for _, mixer in MIXERS], ids=[name for name, _ in MIXERS])
def test_order_counts_where_there_are_positions(mixer, positions):
    """Without positions and with the mean, a document is a bag of words; with them it is not."""
    model = build((("", mixer), positions, "mean"))
    ids = torch.arange(1, LENGTH + 1)
    difference = (model(ids[None]) - model(ids.flip(0)[None])).abs().max().item()
    if positions == "none":
        assert difference < 1e-10
    else:
        assert difference > 1e-7


def test_each_pool_has_a_part_of_the_head():
    model = build((MIXERS[0], "none", "first+mean+embeddings"))
    assert model.head.in_features == 3 * model.encoder.width
    assert model(document()[None]).shape == (1, 3)
