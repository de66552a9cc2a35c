"""What every task shares: loaders, limits and what they report."""

from itertools import islice
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from longdoc.tasks.base import SPLITS, Task
from longdoc.tasks.cache import cached, save_documents

LENGTHS = {"train": [5, 70, 0, 200, 130, 64, 12, 90], "validation": [10, 250], "test": [300, 0, 40, 129]}


class Numbers(Task):
    """Row r holds the ids 1, 2, 3, ..., and belongs to class r % 3."""

    name = "numbers"

    def learn(self):
        return {"classes": ["x", "y", "z"], "vocab_size": 1000}

    def encode(self, split):
        def build(folder):
            ids = [np.arange(1, length + 1) for length in LENGTHS[split]]
            save_documents(folder / "documents", ids, [row % 3 for row in range(len(ids))], 1000)

        return cached(self.cache, {"numbers": split}, build) / "documents"


@pytest.fixture(name="make")
def _make(tmp_path):
    return lambda **options: Numbers(
        **({"max_length": 64, "batch_tokens": 256, "seed": 3, "cache": str(tmp_path)} | options)
    )


def rows(batch):
    return batch["index"][batch["weight"] > 0].tolist()


def test_evaluation_covers_every_document(make):
    seen = {row: set() for row in range(4)}
    for batch in make().test_dataloader():
        for i, row in enumerate(batch["index"].tolist()):
            if batch["weight"][i]:
                length = int(batch["mask"][i].sum()) if batch["mask"] is not None else batch["ids"].shape[1]
                seen[row] |= set(batch["ids"][i, :length].tolist())
    assert seen == {row: set(range(1, length + 1)) for row, length in enumerate(LENGTHS["test"])}


@pytest.mark.parametrize(("limit", "windows"), [(1, 4), (2, 6), (None, 10)])
def test_a_limit_of_windows_is_kept_and_reported(make, limit, windows):
    task = make(test_windows=limit)
    assert sum(len(rows(batch)) for batch in task.test_dataloader()) == windows
    lost = {1: 236 + 65, 2: 172 + 1, None: 0}[limit]
    cut = 0 if limit is None else 2
    assert task.describe()["test"] == {
        "rows": 4,
        "tokens": 469,
        "empty_rows": 1,
        "truncated_rows": cut,
        "truncated_tokens": lost,
    }


def test_validation_has_a_limit_of_its_own(make):
    task = make(validation_windows=2)
    assert sum(len(rows(batch)) for batch in task.val_dataloader()) == 1 + 2
    assert sum(len(rows(batch)) for batch in task.test_dataloader()) == 10


def test_training_sees_each_row_once_an_epoch(make):
    task = make()
    number = task.train_sampler().epoch_batches
    seen = [row for batch in islice(task.train_dataloader(), number) for row in rows(batch)]
    assert sorted(seen) == list(range(8))


def test_train_rows_are_the_first_ones(make):
    task = make(train_rows=3)
    batches = islice(task.train_dataloader(), 2 * task.train_sampler().epoch_batches)
    assert {row for batch in batches for row in rows(batch)} == {0, 1, 2}


def test_every_training_batch_has_one_of_the_announced_shapes(make):
    task = make()
    shapes = {(bucket.rows, bucket.length, bucket.padded) for bucket in task.train_shapes()}
    for batch in islice(task.train_dataloader(), 30):
        assert (*batch["ids"].shape, batch["mask"] is not None) in shapes


@pytest.mark.parametrize("accumulate", [1, 4])
def test_a_resumed_run_begins_with_the_next_batch(make, accumulate):
    """The position follows from the optimizer steps that the checkpoint has counted."""
    fresh = list(islice(make().train_dataloader(), 20))
    task = make()
    task.trainer = SimpleNamespace(global_step=3, accumulate_grad_batches=accumulate)
    resumed = list(islice(task.train_dataloader(), 8))
    for actual, expected in zip(resumed, fresh[3 * accumulate :], strict=False):
        assert torch.equal(actual["ids"], expected["ids"])
        assert torch.equal(actual["index"], expected["index"])


@pytest.mark.parametrize("split", ["train", "test"])
def test_worker_processes_change_nothing(make, split):
    def batches(workers):
        task = make(workers=workers)
        return islice(task.train_dataloader() if split == "train" else task.test_dataloader(), 6)

    for actual, expected in zip(batches(2), batches(0), strict=True):
        assert torch.equal(actual["ids"], expected["ids"])
        assert torch.equal(actual["index"], expected["index"])


def test_majority_is_the_share_of_the_most_frequent_training_label(make):
    assert make().references() == {"chance": 1 / 3, "majority": 0.5}  # class 0: rows 0 and 3 of 4


def test_a_state_that_is_in_place_is_not_learned_again(make, monkeypatch):
    monkeypatch.setattr(Numbers, "learn", lambda *_: pytest.fail("learned"))
    task = make()
    task.state = {"classes": ["x", "y", "z"], "vocab_size": 1000}
    assert task.classes == ["x", "y", "z"]
    assert len(task.documents("test")) == 4


def test_all_splits_are_prepared(make, tmp_path):
    make().prepare_data()
    assert len([path for path in tmp_path.iterdir() if path.is_dir()]) == len(SPLITS)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"max_length": 0}, "task.max_length=0 must be at least 1"),
        ({"batch_tokens": 63}, "task.batch_tokens=63 must hold one row of task.max_length=64"),
        ({"batch_rows": 4}, "task.batch_tokens=256 and task.batch_rows=4: one must be a number, the other null"),
        ({"batch_tokens": None}, "task.batch_tokens=None and task.batch_rows=None: one must be a number"),
        ({"batch_tokens": None, "batch_rows": 0}, "task.batch_rows=0 must be at least 1"),
        ({"truncation": "tail"}, "task.truncation=tail must be one of head, head.tail, windows, none"),
    ],
)
def test_options_that_cannot_be_are_refused(make, options, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}"):
        make(**options)


def test_a_batch_of_rows_has_as_many_in_every_bucket(make):
    task = make(batch_tokens=None, batch_rows=3)
    assert {bucket.rows for bucket in task.train_shapes()} == {3}
    assert all(batch["ids"].shape[0] == 3 for batch in islice(task.train_dataloader(), 5))


def test_the_head_is_what_training_and_evaluation_see_of_a_long_document(make):
    task = make(max_length=20, batch_tokens=80, truncation="head")
    for split, batches in {"train": islice(task.train_dataloader(), 30), "test": task.test_dataloader()}.items():
        seen = {}
        for batch in batches:
            for i, row in enumerate(rows(batch)):
                length = batch["ids"].shape[1] if batch["mask"] is None else int(batch["mask"][i].sum())
                seen.setdefault(row, []).append(batch["ids"][i, :length].tolist())
        assert set(seen) == set(range(len(LENGTHS[split])))
        for row, pieces in seen.items():
            assert all(piece == list(range(1, min(LENGTHS[split][row], 20) + 1)) for piece in pieces)
            assert split == "train" or len(pieces) == 1
    report = task.describe()["train"]
    lengths = task.documents("train").lengths
    assert report["truncated_tokens"] == int((lengths - lengths.clip(max=20)).sum()) > 0


def pieces(task, split):
    """What is seen of each row, by row, in an epoch of training or in evaluation."""
    loader, seen = task.eval_dataloader(split), {}
    if split == "train":
        loader = islice(task.train_dataloader(), task.train_sampler().epoch_batches)
    for batch in loader:
        for i, row in enumerate(rows(batch)):
            length = batch["ids"].shape[1] if batch["mask"] is None else int(batch["mask"][i].sum())
            seen.setdefault(row, []).append(batch["ids"][i, :length].tolist())
    return seen


@pytest.mark.parametrize("max_length", [1, 20, 21])
@pytest.mark.parametrize("split", SPLITS)
def test_head_and_tail_are_half_each_of_a_long_document_in_one_row(make, split, max_length):
    task = make(max_length=max_length, batch_tokens=80, truncation="head+tail")
    seen, head, tail = pieces(task, split), -(-max_length // 2), max_length // 2
    assert set(seen) == set(range(len(LENGTHS[split])))
    for row, length in enumerate(LENGTHS[split]):
        whole = list(range(1, length + 1))
        assert seen[row] == [whole if length <= max_length else whole[:head] + whole[length - tail :]]
    lost = [max(0, length - max_length) for length in LENGTHS[split]]
    report = task.describe()[split]
    assert (report["truncated_rows"], report["truncated_tokens"]) == (sum(map(bool, lost)), sum(lost))
    assert report["tokens"] == sum(LENGTHS[split])


@pytest.mark.parametrize("split", SPLITS)
def test_whole_documents_are_one_row_each_and_a_long_one_is_a_batch_of_its_own(make, split):
    task = make(max_length=20, batch_tokens=100, truncation="none", buckets=3, validation_windows=1)
    seen = pieces(task, split)
    assert seen == {row: [list(range(1, length + 1))] for row, length in enumerate(LENGTHS[split])}
    assert all(bucket.rows == max(1, 100 // bucket.length) for bucket in task.train_shapes())
    for batch in task.eval_dataloader(split):
        rows, longest = batch["ids"].shape
        assert rows == 1 or rows * longest <= 100
    assert max(bucket.length for bucket in task.train_shapes()) == max(LENGTHS["train"])
    report = task.describe()[split]
    assert (report["truncated_rows"], report["truncated_tokens"]) == (0, 0)


def test_labels_of_tokens_are_cut_like_the_tokens(tmp_path):
    class Tokens(Numbers):
        token_labels = True

        def encode(self, split):
            ids = [np.arange(1, length + 1) for length in LENGTHS[split]]

            def build(folder):
                save_documents(folder / "documents", ids, [2 * row for row in ids], 1000)

            return cached(self.cache, {"labelled": split}, build) / "documents"

    options = {"max_length": 20, "batch_tokens": 80, "seed": 3, "cache": str(tmp_path), "truncation": "head+tail"}
    for batch in Tokens(**options).test_dataloader():
        known = batch["label"] >= 0
        assert torch.equal(batch["label"][known], 2 * batch["ids"][known])
        assert torch.equal(known & (batch["weight"] > 0)[:, None], (batch["ids"] > 0) & (batch["weight"] > 0)[:, None])


def test_majority_of_labels_of_tokens_leaves_out_tokens_without_one(tmp_path):
    class Tokens(Numbers):
        token_labels = True

        def encode(self, split):
            labels = {"train": [[-100, -100, -100, 1, 1, 0], [0, 0, 0]], "validation": [[0]], "test": [[1, 1, -100, 0]]}

            def build(folder):
                save_documents(
                    folder / "documents", [np.arange(len(row)) for row in labels[split]], labels[split], 1000
                )

            return cached(self.cache, {"tokens": split}, build) / "documents"

    options = {"max_length": 64, "batch_tokens": 256, "seed": 3, "cache": str(tmp_path)}
    assert Tokens(**options).references()["majority"] == pytest.approx(1 / 3)
    assert Tokens(train_rows=1, **options).references()["majority"] == pytest.approx(2 / 3)


class Topics(Task):
    """Rows of any number of three topics."""

    name = "topics"
    multi_label = True
    topics = ([[1, 0, 1], [1, 0, 1], [0, 0, 0], [0, 1, 0]], [[1, 0, 1], [0, 0, 0]], [[1, 0, 1], [0, 0, 0], [1, 0, 0]])

    def learn(self):
        return {"classes": ["x", "y", "z"], "vocab_size": 10}

    def encode(self, split):
        labels = np.array(self.topics[SPLITS.index(split)], bool)
        ids = [np.arange(row + 1) for row in range(len(labels))]
        return cached(self.cache, {"topics": split}, lambda f: save_documents(f / "d", ids, labels, 10, 3)) / "d"


def test_a_batch_of_documents_with_many_labels_has_a_row_of_zeros_and_ones_each(tmp_path):
    task = Topics(max_length=8, batch_rows=2, seed=0, cache=str(tmp_path))
    task.prepare_data()
    for batch in task.test_dataloader():
        assert batch["label"].dtype == torch.float32
        for row, label, weight in zip(batch["index"].tolist(), batch["label"].tolist(), batch["weight"], strict=True):
            assert not weight or label == Topics.topics[2][row]


def test_majority_of_many_labels_is_the_most_frequent_set(tmp_path):
    task = Topics(max_length=8, batch_rows=2, seed=0, cache=str(tmp_path))
    assert task.references() == {"majority": pytest.approx(1 / 3)}


def test_train_rows_that_have_all_the_same_set_of_labels_are_refused(tmp_path):
    options = {"max_length": 8, "batch_rows": 2, "seed": 0, "cache": str(tmp_path)}
    with pytest.raises(ValueError, match=r"^task.train_rows=2: the first 2 rows are all of one class"):
        Topics(train_rows=2, **options).prepare_data()
    Topics(train_rows=3, **options).prepare_data()
