"""Folds: every document once in a test split, none in two splits of a fold."""

import numpy as np
import pytest
from collections_ import write_rows
from commands import write_books

from longdoc.tasks.base import SPLITS
from longdoc.tasks.books import Books
from longdoc.tasks.documents import OwnDocuments
from longdoc.tasks.folds import fold_rows
from longdoc.tasks.next_token import NextToken
from longdoc.tasks.tokenizers import train_bpe


def test_every_row_is_tested_once_and_no_unit_is_in_two_splits():
    labels = np.arange(60) % 3
    units = [str(row // 2 % 25) for row in range(60)]  # some come again
    tested = []
    for fold in range(4):
        rows = fold_rows(labels, units, 4, fold, 0)
        assert sorted(np.concatenate(list(rows.values()))) == list(range(60))
        of = {split: {units[row] for row in rows[split]} for split in SPLITS}
        assert len(set.union(*of.values())) == sum(map(len, of.values()))
        assert all(len(rows[split]) > 3 for split in SPLITS)
        assert set(labels[rows["test"]]) == {0, 1, 2}
        tested += rows["test"].tolist()
    assert sorted(tested) == list(range(60))


def test_a_task_deals_its_documents_out(tmp_path):
    data = write_books(tmp_path / "books")
    options = {"max_length": 32, "batch_tokens": 64, "seed": 0, "cache": str(tmp_path / "cache")}
    whole = Books(str(data), 300, **options)
    everything = sorted(
        whole.decode(whole.documents(s).ids(row)) for s in SPLITS for row in range(len(whole.documents(s)))
    )
    tested = []
    for fold in range(3):
        task = Books(str(data), 300, folds=3, fold=fold, **options)
        texts = {s: [task.decode(task.documents(s).ids(row)) for row in range(len(task.documents(s)))] for s in SPLITS}
        assert sorted(text for found in texts.values() for text in found) == everything
        assert not set(texts["train"]) & set(texts["test"])
        labels = task.documents("test").labels
        for text, label in zip(texts["test"], labels, strict=True):
            assert {"pride": "austen", "whale": "melville", "monster": "shelley"}[text.split()[3]] == task.classes[
                label
            ]
        for row, text in zip(task.fold_rows("test").tolist(), texts["test"], strict=True):
            split, index = task.pool.places[row]
            assert whole.decode(whole.documents(split).ids(index)) == text
        tested += texts["test"]
    assert sorted(tested) == everything


def split_texts(task, split):
    return [task.decode(task.documents(split).ids(row)) for row in range(len(task.documents(split)))]


@pytest.mark.parametrize("kind", ["books", "documents", "file"])
def test_a_tokenizer_has_seen_no_document_that_its_fold_keeps_back(tmp_path, kind):
    """Each document has a word of its own, which becomes one token if it is trained on; a tokenizer's file stays."""
    words = ["".join(chr(97 + i * (j + 3) % 26) for j in range(8)) for i in range(1, 13)]
    columns = {"text": [f"{word} " * 30 for word in words], "label": ["a", "b"] * 6}
    (tmp_path / "tokenizer.json").write_text(train_bpe(columns["text"], 600))
    options = {"max_length": 32, "batch_tokens": 64, "seed": 0, "cache": str(tmp_path / "cache"), "vocab_size": 600}
    for split, part in {"train": slice(0, 8), "validation": slice(8, 10), "test": slice(10, 12)}.items():
        write_rows(tmp_path / f"{split}.parquet", {name: values[part] for name, values in columns.items()})

    def make(fold):
        if kind == "books":
            return Books(str(tmp_path), folds=3, fold=fold, **options)
        tokenizer = str(tmp_path / "tokenizer.json") if kind == "file" else "bpe"
        return OwnDocuments(path=str(tmp_path), tokenizer=tokenizer, folds=3, fold=fold, **options)

    states = []
    for fold in range(3):
        task = make(fold)
        seen = {split: {text.split()[0] for text in split_texts(task, split)} for split in SPLITS}
        assert set.union(*seen.values()) == set(words)
        whole = {word for word, ids in zip(words, task.encode_texts(f" {word}" for word in words), strict=True)
                 if len(ids) == 1}  # fmt: skip
        assert whole == (set(words) if kind == "file" else seen["train"])
        states.append(str(task.state["tokenizer"]))
        again = make(fold)
        again.state = task.state
        assert {split: {text.split()[0] for text in split_texts(again, split)} for split in SPLITS} == seen
    assert len(set(states)) == (1 if kind == "file" else 3)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"folds": 1}, "^task.folds=1 must be at least 2, or null for the splits as they are$"),
        ({"folds": 3, "fold": 3}, "^task.fold=3 must be one of the task.folds=3, counted from 0$"),
        ({"fold": 0}, "^task.fold=0 must be one of the task.folds=None, counted from 0$"),
    ],
)
def test_folds_that_there_are_not_are_refused(options, why):
    with pytest.raises(ValueError, match=why):
        Books("data/books", max_length=32, batch_tokens=64, seed=0, **options)


def test_labels_of_tokens_are_not_dealt_out():
    with pytest.raises(ValueError, match=r"^task\.folds=3 deals out documents that have labels, not labels of tokens$"):
        NextToken("data/books", max_length=32, batch_tokens=64, seed=0, folds=3)
