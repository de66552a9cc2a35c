"""A training split that is encoded as it is read: nothing lost, nothing twice, the same stream for the same seed."""

from collections import Counter
from itertools import islice
from types import SimpleNamespace

import datasets
import numpy as np
import pytest
import torch
import yaml
from collections_ import write_rows
from hub import write_hub
from reference import CONF

from longdoc.tasks.buckets import BatchSize
from longdoc.tasks.documents import OwnDocuments
from longdoc.tasks.streaming import TrainStream, shuffled

CONFIG = yaml.safe_load((CONF / "task" / "documents.yaml").read_text())["task"]
LENGTHS = [5, 70, 0, 200, 130, 64, 12, 90, 33, 64, 1, 128, 250, 7, 19, 40, 300, 61, 64, 2]


def stream(lengths=LENGTHS, sides=1, **options):
    """Row r holds the ids 1000 r + 1, 1000 r + 2, ..., of a pair the second half as many."""

    def read(part, parts):
        for row in range(part, len(lengths), parts):
            ids = 1000 * row + 1 + np.arange(lengths[row])
            yield row, (ids, ids[: len(ids) // 2])[:sides]

    labels = np.arange(len(lengths)) % 3
    return TrainStream(read, labels, **{"max_length": 128, "size": BatchSize(256), "count": 3, "seed": 1, "shuffle": 6}
                       | {"sides": sides} | options)  # fmt: skip


def rows(batches):
    return [row for batch in batches for row in batch["index"].tolist()]


def seen(batch):
    """The ids of each row, without padding."""
    return [ids[mask].tolist() for ids, mask in zip(batch["ids"], batch["mask"], strict=True)]


def until(source, documents):
    """The batches until so many documents were seen."""
    batches, number = [], 0
    for batch in source:
        batches.append(batch)
        number += len(batch["index"])
        if number >= documents:
            return batches
    raise AssertionError("the stream ended")


# ----------------------------------------------------------------------------------------------- batches


def test_every_document_comes_once_a_pass():
    """What stays behind at the end of a pass comes first in the next: the counts differ by one at most."""
    source = stream()
    counts = Counter(rows(until(source, 50 * len(LENGTHS))))
    held = sum(bucket.rows for bucket in source.shapes.buckets)
    assert set(counts) == set(range(len(LENGTHS)))
    assert max(counts.values()) - min(counts.values()) <= 1 + held // 2


def test_batches_are_full_and_of_the_announced_shapes():
    source = stream()
    assert [bucket.length for bucket in source.shapes.buckets] == [64, 128]
    assert all(bucket.padded and bucket.rows == 256 // bucket.length for bucket in source.shapes.buckets)
    shapes = {(bucket.rows, bucket.length) for bucket in source.shapes.buckets}
    for batch in islice(source, 60):
        assert tuple(batch["ids"].shape) in shapes
        assert (batch["weight"] == 1).all()
        assert batch["label"].tolist() == [row % 3 for row in batch["index"].tolist()]
        assert batch["tokens"] == batch["mask"].sum()


@pytest.mark.parametrize("max_length", [1, 30, 63, 64, 65, 100, 1000])
@pytest.mark.parametrize("count", [1, 4])
def test_lengths_are_halves_up_to_the_longest(max_length, count):
    ends = [bucket.length for bucket in stream(max_length=max_length, count=count, size=BatchSize(1000)).shapes.buckets]
    assert ends[-1] == max_length
    assert len(ends) <= count
    assert all(end % 64 == 0 for end in ends[:-1])


@pytest.mark.parametrize(
    ("options", "expected"),
    [({}, {128}), ({"ends": True}, {64}), ({"random": True}, set(range(1, 74)))],
    ids=["head", "head+tail", "windows"],
)
def test_long_documents_are_cut_as_elsewhere(options, expected):
    places = set()
    for batch in islice(stream([200], size=BatchSize(128), **options), 2000):
        ((first, *rest),) = seen(batch)
        ids = np.array([first, *rest])
        assert len(ids) == 128
        breaks = np.flatnonzero(np.diff(ids) != 1)
        if options.get("ends"):
            assert (ids[0], ids[-1], breaks.tolist()) == (1, 200, [63])
            places.add(64)
        else:
            assert len(breaks) == 0
            places.add(128 if not options else int(first))
    assert places == expected


def test_pairs_are_cut_side_by_side():
    for batch in islice(stream(sides=2, size=BatchSize(512)), 40):
        assert batch["ids"].shape[1] == 2
        for ids, mask, row in zip(batch["ids"], batch["mask"], batch["index"].tolist(), strict=True):
            whole = (1000 * row + 1 + np.arange(LENGTHS[row])).tolist()
            assert ids[0][mask[0]].tolist() == whole[:128]
            assert ids[1][mask[1]].tolist() == whole[: len(whole) // 2][:128]


# ---------------------------------------------------------------------------------------------- shuffling


@pytest.mark.parametrize("size", [1, 5, 20, 100])
def test_the_buffer_hands_on_each_row_once(size):
    found = list(shuffled(((row, ()) for row in range(50)), size, np.random.default_rng(0)))
    assert sorted(row for row, _ in found) == list(range(50))
    assert (found == sorted(found)) == (size == 1)
    assert all(row <= place + size for place, (row, _) in enumerate(found))


def test_the_seed_decides_the_stream_and_passes_differ():
    def first(seed):
        return rows(islice(stream(seed=seed, count=1, size=BatchSize(128)), 40))

    assert first(1) == first(1) != first(2)
    assert first(1)[:20] != first(1)[20:]
    assert sorted(first(1)[:20]) == sorted(first(1)[20:]) == list(range(20))


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_processes_share_the_documents(parts):
    """Ranks and workers alike: by the number of a document."""
    found = [set(rows(until(stream(rank=rank, ranks=parts), 4 * len(LENGTHS)))) for rank in range(parts)]
    assert sorted(row for part in found for row in part) == list(range(len(LENGTHS)))


def test_more_processes_than_documents_are_refused():
    with pytest.raises(ValueError, match=r"^the training split has no document for process 21 of 21; take fewer$"):
        next(iter(stream(rank=20, ranks=21)))


@pytest.mark.parametrize("start", [0, 1, 7, 30])
@pytest.mark.parametrize("workers", [0, 2])
def test_a_resumed_stream_goes_on_with_the_next_batch(start, workers):
    def batches(start, number):
        loader = torch.utils.data.DataLoader(stream(start=start), batch_size=None, num_workers=workers)
        return list(islice(loader, number))

    for actual, expected in zip(batches(start, 6), batches(0, start + 6)[start:], strict=True):
        assert torch.equal(actual["ids"], expected["ids"])
        assert torch.equal(actual["index"], expected["index"])


# ------------------------------------------------------------------------------------------------- the task


def collection(count=60):
    labels = ["ab"[i % 2] for i in range(count)]
    return {"text": [f"the {label} of document {i} " * (1 + i % 9) for i, label in enumerate(labels)], "label": labels}


@pytest.fixture(name="make")
def _make(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "hf")
    options = CONFIG | {"max_length": 64, "batch_tokens": 256, "seed": 0, "cache": str(tmp_path / "cache")}
    options |= {"interaction": None, "workers": 0, "tokenizer": "bytes", "truncation": "head", "streaming": True}
    del options["_target_"]
    return lambda path, **more: OwnDocuments(**options | {"path": str(path)} | more)


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_a_stream_has_the_documents_and_labels_of_what_is_encoded_ahead(make, tmp_path, kind, monkeypatch):
    path = write_rows(tmp_path / f"rows.{kind}", collection())
    ahead = make(path, streaming=False)
    documents = ahead.documents("train")
    task = make(path)
    encode = OwnDocuments._encode

    def but_train(self, split, folder):
        assert split != "train"
        encode(self, split, folder)

    monkeypatch.setattr(OwnDocuments, "_encode", but_train)
    task.prepare_data()
    assert task.classes == ahead.classes
    for batch in until(task.train_dataloader(), 3 * len(documents)):
        for ids, row, label in zip(seen(batch), batch["index"].tolist(), batch["label"].tolist(), strict=True):
            assert ids == documents.ids(row)[:64].tolist()
            assert label == documents.labels[row]
    assert task.describe()["test"] == ahead.describe()["test"]
    assert task.describe()["train"]["rows"] == len(documents)
    assert task.references() == ahead.references()
    assert task.train_sampler().epoch_batches == np.inf
    assert task.content("train") == make(path).content("train") != task.content("test")


def test_a_sets_stream_from_the_hub_is_that_of_its_files(make, tmp_path):
    features = {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["no", "yes"])}
    columns = {"text": [f"{i} words" for i in range(30)], "label": [i % 2 for i in range(30)]}
    splits = dict.fromkeys(("train", "validation", "test"), columns)
    task = make("hf:" + write_hub(tmp_path / "set", "default", features, splits))
    task.prepare_data()
    assert task.classes == ["no", "yes"]
    batches = until(task.train_dataloader(), 60)
    assert {task.decode(ids) for batch in batches for ids in seen(batch)} == set(columns["text"])


def test_several_labels_and_pairs_stream_too(make, tmp_path):
    columns = {"first": [f"a{i}" for i in range(40)], "second": [f"b{i}" for i in range(40)]}
    columns["label"] = [["x", "y"][: 1 + i % 2] for i in range(40)]
    task = make(write_rows(tmp_path / "rows.jsonl", columns), pairs=True, text=["first", "second"], label="label")
    task.prepare_data()
    for batch in islice(task.train_dataloader(), 10):
        assert batch["label"].shape == (len(batch["index"]), 2)
        for ids, mask, label in zip(batch["ids"], batch["mask"], batch["label"].tolist(), strict=True):
            first, second = (task.decode(side[real].numpy()) for side, real in zip(ids, mask, strict=True))
            number = int(first[1:])
            assert (first, second, label) == (f"a{number}", f"b{number}", [1, number % 2])


def test_bpe_is_trained_on_the_first_documents_and_says_so(make, tmp_path, capsys):
    columns = {"text": [f"{'qqqq' if i < 20 else 'zzzz'} {i}" for i in range(40)], "label": ["a", "b"] * 20}
    task = make(write_rows(tmp_path / "rows.jsonl", columns), tokenizer="bpe", vocab_size=260, tokenizer_documents=10)
    assert len(task.encode_texts(["qqqq"])[0]) == 1 < len(task.encode_texts(["zzzz"])[0])
    assert "the tokenizer is trained on the first 10 documents of the stream" in capsys.readouterr().out


def test_a_resumed_task_goes_on_where_the_checkpoint_was(make, tmp_path):
    path = write_rows(tmp_path / "rows.jsonl", collection())
    fresh = list(islice(make(path).train_dataloader(), 12))
    task = make(path)
    task.trainer = SimpleNamespace(global_step=4, accumulate_grad_batches=2)
    for actual, expected in zip(islice(task.train_dataloader(), 4), fresh[8:], strict=True):
        assert torch.equal(actual["ids"], expected["ids"])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"truncation": "none"}, "task.truncation=none: task.streaming=true fixes the lengths of batches"),
        ({"folds": 5}, "task.folds=5: task.streaming=true never has all documents at hand, which folds deal out"),
        ({"shuffle_buffer": 0}, "task.shuffle_buffer=0 must be at least 1"),
        ({"tokenizer_documents": 0}, "task.tokenizer_documents=0 must be at least 1"),
    ],
)
def test_options_that_cannot_be_are_refused(make, options, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}"):
        make("nowhere", **options)
