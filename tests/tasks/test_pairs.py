"""Pairs of documents on disk and in batches: each document once, both sides of a row together."""

import os
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch

from longdoc.tasks.buckets import BatchSize, Buckets, Collate, EvalSampler, Span, TrainSampler, spread_windows
from longdoc.tasks.cache import Documents, save_documents, save_pairs

VOCABULARY = 300


def random_pairs(rows, longest, seed=0):
    """Pairs of ids with a label; some documents are empty and some are in several pairs."""
    rng = np.random.default_rng(seed)
    known = [rng.integers(1, VOCABULARY, length) for length in [0, longest, *rng.integers(0, longest, rows // 2)]]
    return [
        (known[rng.integers(len(known))], known[rng.integers(len(known))], int(rng.integers(2))) for _ in range(rows)
    ]


def save(folder, rows):
    save_pairs(folder / "pairs", iter(rows), VOCABULARY)
    return Documents(folder / "pairs")


def test_pairs_come_back_as_they_were(tmp_path):
    rows = random_pairs(40, 50)
    found = save(tmp_path, rows)
    assert found.pairs
    assert len(found) == 40
    assert found.labels.tolist() == [label for _, _, label in rows]
    assert found.sides.tolist() == [[len(a), len(b)] for a, b, _ in rows]
    assert found.lengths.tolist() == [max(len(a), len(b)) for a, b, _ in rows]
    for row, (a, b, _) in enumerate(rows):
        assert found.ids(row, 0).tolist() == a.tolist()
        assert found.ids(row, 1).tolist() == b.tolist()


def test_a_document_of_many_pairs_is_stored_once(tmp_path):
    a, b, c = np.arange(1, 200), np.arange(2, 200), np.arange(1, 199)
    found = save(tmp_path, [(a, b, 0), (b, a, 1), (c, a.copy(), 1), (a, a, 0)])
    assert found.numbers.tolist() == [[0, 1], [1, 0], [2, 0], [0, 0]]
    assert len(found.stored.lengths) == 3
    stored = sum(path.stat().st_size for path in (tmp_path / "pairs").rglob("*.arrow"))
    assert stored < 2 * (len(a) + len(b) + len(c)) + 6_000  # uint16


def test_single_documents_have_one_side(tmp_path):
    save_documents(tmp_path / "documents", [np.arange(3), np.arange(5)], [0, 1], 10)
    found = Documents(tmp_path / "documents")
    assert not found.pairs
    assert found.sides.tolist() == [[3], [5]]


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="memory is read where Linux shows it")
def test_documents_that_come_as_a_stream_fill_no_memory(tmp_path):
    """128 MB of ids; what is resident without a file behind it stays far below that."""

    def resident():
        text = Path("/proc/self/status").read_text()
        return int(text.split("RssAnon:")[1].split()[0]) * 1024

    before, most = resident(), 0

    def rows():
        nonlocal most
        rng = np.random.default_rng(0)
        for label in range(3200):
            a, b = rng.integers(1, VOCABULARY, (2, 10_000), dtype=np.uint16)
            yield a, b, label % 2
            most = max(most, resident() - before)

    save_pairs(tmp_path / "pairs", rows(), VOCABULARY)
    found = Documents(tmp_path / "pairs")
    assert found.sides.sum() == 64 * 10**6
    assert max(most, resident() - before) < 48 * 2**20


@pytest.mark.parametrize("count", [1, 3])
def test_batch_tokens_count_both_documents_and_the_longer_one_decides(count):
    sides = np.array([[10, 300], [300, 10], [64, 64], [64, 64], [5, 128]])
    shapes = Buckets(sides, BatchSize(1280), count)
    expected = {1: [(300, 2, True)], 3: [(64, 10, False), (128, 5, True), (300, 2, True)]}[count]
    assert [tuple(bucket) for bucket in shapes.buckets] == expected


@pytest.mark.parametrize("equal", [False, True], ids=["of all lengths", "of one length"])
@pytest.mark.parametrize("max_length", [30, 100])
def test_batches_are_the_heads_of_both_documents(tmp_path, max_length, equal):
    """Against the pairs themselves, read one after the other."""
    rows = random_pairs(25, 90)
    if equal:
        rows = [(np.arange(1, 41), np.arange(101, 141), label) for _, _, label in rows]
    documents = save(tmp_path, rows)
    spans = spread_windows(documents.lengths, max_length, 1)
    for stream in (
        EvalSampler(spans, BatchSize(600), sides=2),
        TrainSampler(documents.sides, max_length, BatchSize(600), 3, 1, random=False),
    ):
        collate = Collate(documents, getattr(stream, "shapes", None))
        seen = []
        for spans_of_batch in islice(iter(stream), getattr(stream, "epoch_batches", None) or len(stream)):
            batch = collate(spans_of_batch)
            ids, mask, rows_of_batch = batch["ids"], batch["mask"], len(spans_of_batch)
            assert ids.shape[1] == 2
            assert ids.dtype == torch.long
            assert ids.numel() <= max(600, 2 * ids.shape[2])
            tokens = 0
            for i in range(rows_of_batch):
                row = int(batch["index"][i])
                seen.append(row)
                assert (batch["label"][i], batch["weight"][i]) == (rows[row][2], 1)
                for side in range(2):
                    expected = rows[row][side][:max_length].tolist()
                    tokens += len(expected)
                    assert ids[i, side].tolist() == expected + [0] * (ids.shape[2] - len(expected))
                    if mask is not None:
                        assert mask[i, side].tolist() == [place < len(expected) for place in range(ids.shape[2])]
            assert batch["tokens"] == tokens
            assert (batch["weight"][rows_of_batch:] == 0).all()
            if equal:
                assert mask is None
                assert all(torch.equal(ids[i], ids[0]) for i in range(rows_of_batch, len(ids)))
            else:
                assert mask.shape == ids.shape
                assert not mask[rows_of_batch:].any()
        assert sorted(seen) == list(range(25))


def test_a_mask_is_left_out_only_where_neither_side_is_padded(tmp_path):
    rows = [(np.arange(1, 65), np.arange(1, 65), 0), (np.arange(1, 129), np.arange(1, 65), 1)]
    documents = save(tmp_path, rows)
    collate = Collate(documents, Buckets(documents.sides, BatchSize(256), 2))
    assert collate([Span(0, 0, 64)])["mask"] is None
    mask = collate([Span(1, 0, 128)])["mask"]
    assert mask.sum(-1).tolist() == [[128, 64]]
