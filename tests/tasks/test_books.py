"""Books from parquet files: encoding, labels, what a checkpoint brings along, and messages."""

import os
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tokenizers import Tokenizer

from longdoc.tasks import tokenizers
from longdoc.tasks.books import Books
from longdoc.tasks.tokenizers import PAD

TEXTS = {
    "plain": "the cat sat on the mat, the dog sat on the log. " * 20,
    "accents": "Größe, naïve café, señor; ﬁn — “quoted” …",
    "scripts": "日本語の文章 Русский текст ελληνικά עברית العربية हिन्दी",
    "emoji": "👩‍👩‍👧‍👦 🎉🏳️‍🌈 e\u0301 vs \u00e9",
    "white": "  two  spaces\ttab\r\nCRLF\n\n\nend  ",
    "odd": "NUL \x00 BOM \ufeff private \ue000 last \U0010ffff",
    "special": f"{PAD} and {PAD}{PAD} stand here",
}
TRAIN = [(text, "b" if i % 2 else "a") for i, text in enumerate(TEXTS.values())] + [("", "c"), (None, "a")]
SPLITS = {
    "train": TRAIN,
    "validation": [("the dog", "a")],
    "test": [("", "c"), ("the cat", "b"), ("the mat", "c")],
}


def write(folder, split, rows):
    folder.mkdir(exist_ok=True)
    texts, labels = [row[0] for row in rows], [row[1] for row in rows]
    table = pa.table({"title": labels, "text": pa.array(texts, pa.string()), "label": labels})
    pq.write_table(table, folder / f"{split}.parquet")


@pytest.fixture(name="data")
def _data(tmp_path):
    for split, rows in SPLITS.items():
        write(tmp_path / "data", split, rows)
    return tmp_path / "data"


@pytest.fixture(name="books")
def _books(data):
    return task(data)


def task(data, **options):
    options = {
        "cache": str(data.parent / "cache"),
        "vocab_size": 320,
        "max_length": 16,
        "batch_tokens": 64,
        "seed": 0,
    } | options
    return Books(data=str(data), **options)


def texts(books, split):
    """The documents of a split, decoded."""
    documents = books.documents(split)
    tokenizer = Tokenizer.from_str(books.state["tokenizer"])
    return [tokenizer.decode(documents.ids(row).tolist(), skip_special_tokens=False) for row in range(len(documents))]


def test_every_text_comes_back_as_it_was(books):
    assert books.documents("train") is books.documents("train")
    assert texts(books, "train") == [text or "" for text, _ in TRAIN]
    assert texts(books, "test") == [text for text, _ in SPLITS["test"]]


def test_padding_is_an_id_of_its_own(books):
    """Also where a text spells it out."""
    documents = books.documents("train")
    assert all((documents.ids(row) > 0).all() for row in range(len(documents)))
    assert Tokenizer.from_str(books.state["tokenizer"]).token_to_id(PAD) == 0


def test_frequent_words_become_one_token(books):
    documents = books.documents("train")
    assert documents.lengths[0] < len(TEXTS["plain"]) / 2
    assert books.vocab_size <= 320
    assert max(documents.ids(row).max(initial=0) for row in range(len(documents))) < books.vocab_size


def test_empty_and_missing_texts_are_rows_like_others(books):
    documents = books.documents("train")
    assert documents.lengths[-2:].tolist() == [0, 0]
    assert len(documents) == len(TRAIN)
    assert books.describe()["train"]["empty_rows"] == 2
    assert books.describe()["test"] == {
        "rows": 3,
        "tokens": 4,
        "empty_rows": 1,
        "truncated_rows": 0,
        "truncated_tokens": 0,
    }


def test_classes_are_those_of_the_training_split(books):
    """A split without a class does not shift the others."""
    assert books.classes == ["a", "b", "c"]
    assert books.documents("train").labels.tolist() == ["abc".index(label) for _, label in TRAIN]
    assert books.documents("test").labels.tolist() == [2, 1, 2]


def test_numbers_as_labels_are_names(data):
    for split in SPLITS:
        write(data, split, [("x", 10), ("y", 9)])
    books = task(data)
    assert books.classes == ["9", "10"]
    assert books.documents("test").labels.tolist() == [1, 0]


def test_a_second_task_reads_the_cache(books, data, monkeypatch):
    books.prepare_data()
    before = sorted(path.relative_to(data.parent) for path in (data.parent / "cache").rglob("*"))
    monkeypatch.setattr(tokenizers, "train_bpe", lambda *_: pytest.fail("trained again"))
    monkeypatch.setattr(Books, "_encode", lambda *_: pytest.fail("encoded again"))
    again = task(data)
    again.prepare_data()
    assert again.state == books.state
    assert texts(again, "train") == texts(books, "train")
    assert sorted(path.relative_to(data.parent) for path in (data.parent / "cache").rglob("*")) == before


def test_changed_data_under_the_same_name_and_time_are_encoded_anew(books, data):
    assert texts(books, "test")[1] == "the cat"
    file = data / "test.parquet"
    times = (file.stat().st_atime_ns, file.stat().st_mtime_ns)
    write(data, "test", [("", "c"), ("the car", "b"), ("the mat", "c")])
    os.utime(file, ns=times)
    assert texts(again := task(data), "test")[1] == "the car"
    assert again.state == books.state


def test_another_tokenizer_encodes_anew(books, data):
    other = task(data, vocab_size=265)
    assert other.documents("train").lengths[0] > books.documents("train").lengths[0]
    assert texts(other, "train") == texts(books, "train")


@pytest.mark.parametrize("kept", ["cache", "nothing"])
def test_what_a_checkpoint_holds_is_used_and_not_learned_again(books, data, monkeypatch, kept):
    """The test split alone is enough to evaluate, with or without the cache of the run."""
    books.prepare()
    state, expected = books.state, [books.documents("test").ids(row).tolist() for row in range(3)]
    (data / "train.parquet").unlink()
    (data / "validation.parquet").unlink()
    if kept == "nothing":
        shutil.rmtree(data.parent / "cache")
    monkeypatch.setattr(Books, "learn", lambda *_: pytest.fail("learned again"))
    restored = task(data, vocab_size=999)
    restored.state = state
    assert restored.classes == ["a", "b", "c"]
    assert restored.vocab_size == books.vocab_size
    assert [restored.documents("test").ids(row).tolist() for row in range(3)] == expected
    (batch,) = list(restored.eval_dataloader("test"))
    assert sorted(batch["label"][batch["weight"] > 0].tolist()) == [1, 2, 2]


def test_the_state_is_plain_data(books):
    books.prepare()
    assert {name: type(value) for name, value in books.state.items()} == {
        "classes": list,
        "vocab_size": int,
        "tokenizer": str,
    }


# -------------------------------------------------------------------------------------------- messages


def test_a_missing_file_is_named_with_what_should_be_there(data):
    (data / "train.parquet").unlink()
    message = r"train.parquet is missing: task.data must name a folder with train, validation, test as .parquet"
    with pytest.raises(FileNotFoundError, match=message):
        task(data).prepare()


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere/train.parquet is missing: task.data must name a folder"):
        task(tmp_path / "nowhere").prepare()


def test_a_missing_column_is_named_with_those_there_are(data):
    pq.write_table(pa.table({"body": ["x"], "label": ["a"]}), data / "train.parquet")
    with pytest.raises(ValueError, match=r"train.parquet has the columns body, label; it needs text and label"):
        task(data).prepare()


def test_texts_that_are_numbers_are_named(data):
    pq.write_table(pa.table({"text": [1984], "label": ["a"]}), data / "train.parquet")
    with pytest.raises(ValueError, match=r"train.parquet: the column text holds int64; it must hold strings"):
        task(data).prepare()


def test_a_split_without_rows_is_named(data):
    write(data, "validation", [])
    with pytest.raises(ValueError, match=r"validation.parquet has no rows"):
        task(data).prepare_data()


@pytest.mark.parametrize("split", ["validation", "test"])
def test_an_unknown_label_is_named_with_its_row(data, split):
    write(data, split, [("x", "a"), ("y", "d"), ("z", "e")])
    why = rf"^2 of 3 rows .*{split}\.parquet, row 2: the label 'd' is not among the training split's: a, b, c$"
    with pytest.raises(ValueError, match=why):
        task(data).prepare_data()


def test_the_classes_are_said_with_their_rows(books, capsys):
    books.prepare()
    assert "train.parquet: 3 classes, a (5 rows), b (3 rows), c (1 row); the class 'c' has 1 row: what is" in (
        capsys.readouterr().out
    )


def test_one_class_only_is_said(data):
    write(data, "train", [("x", "a"), ("y", "a")])
    with pytest.raises(ValueError, match=r"train\.parquet: label holds one class only, a; it takes two$"):
        task(data).prepare()


@pytest.mark.parametrize("split", ["train", "test"])
def test_a_missing_label_is_named_with_its_row(data, split):
    """It is no class called None."""
    write(data, split, [("x", "a"), ("y", None)])
    with pytest.raises(ValueError, match=rf"^1 of 2 rows .*{split}\.parquet, row 2: the label is missing$"):
        task(data).documents(split)
