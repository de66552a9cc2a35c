"""Language modelling: a token's label is the next one of its book, also across windows."""

import pytest
from commands import write_books

from longdoc.tasks.next_token import NextToken


@pytest.fixture(name="make")
def _make(tmp_path):
    data = write_books(tmp_path / "books")
    options = {"data": str(data), "vocab_size": 300, "max_length": 16, "batch_tokens": 64, "seed": 0}
    return lambda **others: NextToken(**(options | {"cache": str(tmp_path / "cache")} | others))


@pytest.mark.parametrize("windows", [None, 2])
@pytest.mark.parametrize("split", ["train", "test"])
def test_labels_of_a_batch_are_the_next_tokens_of_the_books(make, split, windows):
    task = make(test_windows=windows)
    batches = list(task.eval_dataloader(split))
    if split == "train":
        batches += [batch for batch, _ in zip(task.train_dataloader(), range(40), strict=False)]
    for batch in batches:
        for i, row in enumerate(batch["index"].tolist()):
            length = batch["ids"].shape[1] if batch["mask"] is None else int(batch["mask"][i].sum())
            labels, window = batch["label"][i].tolist(), batch["ids"][i, :length].tolist()
            assert labels[length:] == [-100] * (len(labels) - length)
            if not batch["weight"][i]:
                continue
            assert labels[: length - 1] == window[1:]
            book = task.documents(split).ids(row).tolist()
            starts = [s for s in range(len(book) - length + 1) if book[s : s + length] == window]
            ends = [book[s + length] if s + length < len(book) else -100 for s in starts]
            assert labels[length - 1] in ends


def test_every_token_but_the_last_of_a_book_is_scored_once(make):
    task = make()
    documents = task.documents("test")
    seen = sum(int((batch["label"] >= 0).sum()) for batch in task.eval_dataloader("test"))
    assert seen == documents.lengths.sum() - len(documents)


def test_classes_are_the_vocabulary(make):
    task = make()
    assert task.token_labels
    assert len(task.classes) == task.vocab_size
    assert task.classes[0] == "[PAD]"
    assert len(set(task.classes)) == task.vocab_size


def test_majority_is_the_most_frequent_token(make):
    task = make()
    assert 0.02 < task.references()["majority"] < 0.5
