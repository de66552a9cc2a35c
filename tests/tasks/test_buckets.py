"""Batches of similar lengths: least padding, each row once, the same stream for the same seed."""

from itertools import combinations, islice, pairwise

import numpy as np
import pytest
import torch

from longdoc.tasks.buckets import STEP, BatchSize, Buckets, Collate, EvalSampler, Span, TrainSampler, spread_windows
from longdoc.tasks.cache import Documents, save_documents


def lengths_like(kind, rows=60, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "spread": rng.integers(0, 700, rows),
        "skewed": np.minimum(rng.geometric(0.01, rows), 900),
        "equal": np.full(rows, 256),
        "two": np.where(rng.random(rows) < 0.5, 64, 640),
        "short": rng.integers(0, 5, rows),
        "empty": np.zeros(rows, dtype=int),
        "one": np.array([333]),
    }[kind].astype(np.int64)


KINDS = ["spread", "skewed", "equal", "two", "short", "empty", "one"]


def documents(tmp_path, lengths, vocabulary=50_000):
    """Documents whose tokens tell row and place: row * 1000 + place."""
    rows = [row * 1000 + np.arange(length) for row, length in enumerate(lengths)]
    save_documents(tmp_path / "documents", rows, [row % 7 for row in range(len(lengths))], vocabulary)
    return Documents(tmp_path / "documents")


# ---------------------------------------------------------------------------------------------- shapes


def padded_tokens(lengths, ends):
    """Tokens of all rows when each is padded to the smallest of ``ends`` that holds it."""
    return sum(min(end for end in ends if end >= length) for length in lengths)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_lengths_are_those_that_pad_least(kind, count):
    lengths = lengths_like(kind)
    longest = max(1, lengths.max())
    candidates = sorted({min(-(-max(1, length) // STEP) * STEP, longest) for length in lengths.tolist()})
    best = min(
        padded_tokens(lengths, [*others, longest])
        for used in range(min(count, len(candidates)))
        for others in combinations(candidates[:-1], used)
    )
    ends = [bucket.length for bucket in Buckets(lengths, BatchSize(4096), count).buckets]
    assert len(ends) <= count
    assert ends == sorted(set(ends))
    assert padded_tokens(lengths, ends) == best


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_lies_in_the_smallest_bucket_that_holds_it(kind):
    lengths = lengths_like(kind)
    shapes = Buckets(lengths, BatchSize(4096), 3)
    ends = [bucket.length for bucket in shapes.buckets]
    for length, member in zip(lengths, shapes.of(lengths), strict=True):
        assert ends[member] == min(end for end in ends if end >= length)


def test_many_different_lengths_are_chosen_from_a_thousand():
    """The search is quadratic in them; what it finds holds every row all the same."""
    lengths = np.arange(1, 200_000, 61)
    shapes = Buckets(lengths, BatchSize(4096), 4)
    ends = [bucket.length for bucket in shapes.buckets]
    assert len(ends) == 4
    assert ends[-1] == lengths.max()
    quarters = [50_000, 100_000, 150_000, ends[-1]]
    assert padded_tokens(lengths.tolist(), ends) < 1.01 * padded_tokens(lengths.tolist(), quarters)
    assert (np.array(ends)[shapes.of(lengths)] >= lengths).all()


@pytest.mark.parametrize("kind", KINDS)
def test_batches_keep_the_token_budget_and_padding_is_announced(kind):
    lengths = lengths_like(kind)
    shapes = Buckets(lengths, BatchSize(2048), 3)
    for number, bucket in enumerate(shapes.buckets):
        assert bucket.rows * bucket.length <= 2048
        assert (bucket.rows + 1) * bucket.length > 2048
        assert bucket.padded == any(lengths[shapes.of(lengths) == number] < bucket.length)


# -------------------------------------------------------------------------------------------- training


def sampler(lengths, max_length=400, batch_tokens=1600, count=3, seed=5, **options):
    return TrainSampler(lengths, max_length, BatchSize(batch_tokens), count, seed, **options)


def take(stream, batches):
    return list(islice(iter(stream), batches))


@pytest.mark.parametrize("kind", KINDS)
def test_each_row_is_seen_once_an_epoch(kind):
    lengths = lengths_like(kind)
    stream = sampler(lengths)
    batches = take(stream, 3 * stream.epoch_batches)
    for epoch in range(3):
        part = batches[epoch * stream.epoch_batches : (epoch + 1) * stream.epoch_batches]
        assert sorted(span.row for batch in part for span in batch) == list(range(len(lengths)))


@pytest.mark.parametrize("kind", KINDS)
def test_windows_lie_within_their_documents(kind):
    lengths = lengths_like(kind)
    stream = sampler(lengths, max_length=100)
    for batch in take(stream, 3 * stream.epoch_batches):
        for row, start, length in batch:
            assert length == min(lengths[row], 100)
            assert 0 <= start <= lengths[row] - length


def test_windows_reach_every_token_over_many_epochs():
    stream = sampler(np.array([10]), max_length=4)
    starts = {batch[0].start for batch in take(stream, 200)}
    assert starts == set(range(7))


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_fits_one_shape(kind):
    stream = sampler(lengths_like(kind))
    for batch in take(stream, stream.epoch_batches):
        numbers = set(stream.shapes.of(np.array([span.length for span in batch])))
        assert len(numbers) == 1
        assert len(batch) <= stream.shapes.buckets[numbers.pop()].rows


def test_the_seed_decides_the_stream():
    lengths = lengths_like("spread")
    first = take(sampler(lengths), 40)
    assert take(sampler(lengths), 40) == first
    assert take(sampler(lengths, seed=6), 40) != first


def test_epochs_differ_in_order_company_and_windows():
    stream = sampler(lengths_like("spread"), max_length=100)
    first, second = stream.epoch(0), stream.epoch(1)
    assert [{s.row for s in batch} for batch in first] != [{s.row for s in batch} for batch in second]
    assert {frozenset(s.row for s in batch) for batch in first} != {frozenset(s.row for s in b) for b in second}
    starts = {span.row: span.start for batch in first for span in batch}
    assert any(starts[span.row] != span.start for batch in second for span in batch)


def test_an_epoch_is_a_pure_function():
    """Of its number: in any order, however often, whatever else has drawn random numbers."""
    stream = sampler(lengths_like("spread"))
    later = stream.epoch(7)
    stream.epoch(2)
    np.random.default_rng().random(10)
    assert stream.epoch(7) == later


@pytest.mark.parametrize("start", [1, 9, 10, 37, 500])
def test_a_resumed_stream_goes_on_where_it_stopped(start):
    lengths = lengths_like("spread")
    assert take(sampler(lengths, start=start), 20) == take(sampler(lengths), start + 20)[start:]


# ------------------------------------------------------------------------------------------ evaluation


@pytest.mark.parametrize("max_length", [1, 2, 3, 7, 64])
def test_windows_cover_every_token(max_length):
    lengths = np.arange(0, 200)
    spans = spread_windows(lengths, max_length, None)
    for row, length in enumerate(lengths.tolist()):
        windows = [span for span in spans if span.row == row]
        seen = {token for _, start, size in windows for token in range(start, start + size)}
        assert seen == set(range(length))
        assert len(windows) == max(1, -(-length // max_length))
        assert {span.length for span in windows} == {min(length, max_length)}


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_a_limit_spreads_fewer_windows_from_first_to_last(limit):
    lengths = np.arange(0, 200)
    spans = spread_windows(lengths, 16, limit)
    for row, length in enumerate(lengths.tolist()):
        windows = [span for span in spans if span.row == row]
        assert len(windows) == min(limit, max(1, -(-length // 16)))
        starts = [span.start for span in windows]
        assert starts[0] == 0
        assert len(set(starts)) == len(starts)
        if len(windows) > 1:
            assert starts[-1] == length - 16
            gaps = np.diff(starts)
            assert gaps.max() - gaps.min() <= 1


@pytest.mark.parametrize("limit", [None, 1, 3])
@pytest.mark.parametrize("max_length", [1, 3, 7, 64])
def test_windows_without_overlap_hold_no_token_twice(max_length, limit):
    lengths = np.arange(0, 200)
    spans = spread_windows(lengths, max_length, limit, overlap=False)
    for row, length in enumerate(lengths.tolist()):
        windows = [span for span in spans if span.row == row]
        seen = [token for _, start, size in windows for token in range(start, start + size)]
        cover = max(1, -(-length // max_length))
        assert len(windows) == min(cover, limit or cover)
        assert len(set(seen)) == len(seen) <= length
        assert max(span.length for span in windows) <= max_length
        if limit is None or limit >= cover:
            assert set(seen) == set(range(length))


@pytest.mark.parametrize("kind", KINDS)
def test_every_span_is_scored_once_longest_first(kind):
    spans = spread_windows(lengths_like(kind), 100, 3)
    stream = EvalSampler(spans, BatchSize(400))
    batches = list(stream)
    assert len(stream) == len(batches)
    assert sorted(span for batch in batches for span in batch) == sorted(spans)
    lengths = [span.length for batch in batches for span in batch]
    assert lengths == sorted(lengths, reverse=True)
    for batch, after in pairwise([*batches, []]):
        longest = max(1, batch[0].length)
        assert len(batch) == 1 or len(batch) * longest <= 400
        assert not after or (len(batch) + 1) * longest > 400
    assert list(stream) == batches


@pytest.mark.parametrize("kind", KINDS)
def test_evaluation_computes_no_more_than_its_spans_need(tmp_path, kind):
    lengths = lengths_like(kind, rows=25)
    corpus = documents(tmp_path, lengths)
    collate = Collate(corpus)
    for spans in EvalSampler(spread_windows(lengths, 300, None), BatchSize(1200)):
        batch = collate(spans)
        ids, sizes = batch["ids"], [span.length for span in spans]
        assert tuple(ids.shape) == (len(spans), max(1, *sizes))
        for i, (row, start, length) in enumerate(spans):
            assert ids[i].tolist() == [row * 1000 + start + place for place in range(length)] + [0] * (
                ids.shape[1] - length
            )
        assert (batch["weight"] == 1).all()
        if batch["mask"] is None:
            assert set(sizes) == {ids.shape[1]}
        else:
            assert batch["mask"].sum(1).tolist() == sizes
            assert min(sizes) < ids.shape[1]


def test_one_short_document_is_read_alone(tmp_path):
    corpus = documents(tmp_path, np.array([5]))
    (spans,) = EvalSampler(spread_windows(corpus.lengths, 4096, None), BatchSize(16384))
    assert tuple(Collate(corpus)(spans)["ids"].shape) == (1, 5)


# --------------------------------------------------------------------------------------------- batches


@pytest.mark.parametrize("kind", ["spread", "equal", "two", "short", "empty", "one"])
def test_batches_hold_the_tokens_of_their_spans(tmp_path, kind):
    lengths = lengths_like(kind, rows=25)
    corpus = documents(tmp_path, lengths)
    stream = sampler(lengths, max_length=300, batch_tokens=1200)
    collate = Collate(corpus, stream.shapes)
    shapes = {(bucket.rows, bucket.length) for bucket in stream.shapes.buckets}
    for spans in take(stream, stream.epoch_batches):
        batch = collate(spans)
        ids, mask = batch["ids"], batch["mask"]
        assert tuple(ids.shape) in shapes
        assert ids.dtype == torch.long
        for i, (row, start, length) in enumerate(spans):
            assert ids[i, :length].tolist() == [row * 1000 + start + place for place in range(length)]
            assert (batch["index"][i], batch["label"][i], batch["weight"][i]) == (row, row % 7, 1)
        assert batch["tokens"] == sum(span.length for span in spans)
        assert (batch["weight"][len(spans) :] == 0).all()
        if mask is None:  # no row is shorter, and a missing one repeats the first
            assert all(span.length == ids.shape[1] for span in spans)
            assert all(torch.equal(row, ids[0]) for row in ids[len(spans) :])
        else:
            assert mask.dtype == torch.bool
            real = [span.length for span in spans] + [0] * (len(ids) - len(spans))
            assert torch.equal(mask, torch.arange(ids.shape[1]) < torch.tensor(real)[:, None])
            assert (ids[~mask] == 0).all()


def test_a_mask_is_left_out_exactly_where_no_row_of_the_bucket_is_padded(tmp_path):
    corpus = documents(tmp_path, np.array([64, 64, 64, 10, 128, 128]))
    shapes = Buckets(corpus.lengths, BatchSize(256), 2)
    collate = Collate(corpus, shapes)
    assert [bucket.padded for bucket in shapes.buckets] == [True, False]
    assert collate([Span(0, 0, 64)])["mask"] is not None
    assert collate([Span(4, 0, 128)])["mask"] is None


def test_labels_of_tokens_are_cut_with_them_and_missing_elsewhere(tmp_path):
    ids = [np.arange(length) for length in (100, 40)]
    save_documents(tmp_path / "documents", ids, [row * 2 for row in ids], 200)
    corpus = Documents(tmp_path / "documents")
    batch = Collate(corpus, Buckets(corpus.lengths, BatchSize(300), 1))([Span(0, 30, 70), Span(1, 5, 10)])
    expected = torch.full((3, 100), -100)
    expected[0, :70], expected[1, :10] = 2 * torch.arange(30, 100), 2 * torch.arange(5, 15)
    assert batch["label"].dtype == torch.long
    assert torch.equal(batch["label"], expected)
