"""Rows in are rows out: every kind of input hands on the same documents, letter by letter."""

import csv
import json

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hub import write_hub

from longdoc.inputs import Input, Texts, find_table, split_lines
from longdoc.tasks.base import Task
from longdoc.tasks.encodings import decode

TEXTS = [
    *("", " \t", "\r\n", "a", "two\r\nlines\n", "NUL \x00", "\ufeffmarked", "👩‍👩‍👧‍👦 🎉", "NA", "null", "None", "nan"),
    *("007", "1984", "1e3", "true", '"quoted", and\ttabbed', "x" * 5_000_000),
]


class Single(Task):
    """Nothing but a task of texts."""

    name = "single"


class Pair(Single):
    """The same, of pairs."""

    pairs = True

    @property
    def text_columns(self):
        return ["text1", "text2"]


def task(kind=Single):
    return kind(max_length=8, seed=0, batch_rows=1, truncation="head")


def write(path, rows, encoding="utf-8"):
    """A table of dicts with the same keys."""
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix in (".csv", ".tsv"):
        with path.open("w", encoding=encoding, newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
    else:
        lines = [json.dumps(row) for row in rows]
        path.write_text("[" + ",\n".join(lines) + "]" if path.suffix == ".json" else "\n".join(lines), encoding)
    return path


def read(source, columns=None, errors="strict", **options):
    """Texts, and their ids."""
    documents = Input(find_table(str(source), **options), task(), columns, errors)
    return list(documents), documents.ids


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("suffix", ["parquet", "csv", "tsv", "jsonl", "json"])
def test_every_row_of_a_table_is_a_document(suffix, encoding, tmp_path):
    rows = [{"id": f"0{i}", "label": "x", "text": text} for i, text in enumerate(TEXTS)]
    path = write(tmp_path / f"new.{suffix}", rows, encoding)
    assert read(path) == (TEXTS, [f"0{i}" for i in range(len(TEXTS))])


def test_a_number_of_json_is_a_text_as_it_stands(tmp_path):
    (tmp_path / "new.jsonl").write_text('{"text": 1e3}\n{"text": 1.50}\n{"text": true}\n')
    assert read(tmp_path / "new.jsonl") == (["1e3", "1.50", "true"], [])


def test_several_columns_are_one_text(tmp_path):
    (tmp_path / "new.jsonl").write_text('{"id": 7, "title": 1.50, "body": "b"}\n{"id": 8, "title": "", "body": 1e3}\n')
    assert read(tmp_path / "new.jsonl", ["title", "body"]) == (["1.50\n\nb", "\n\n1e3"], ["7", "8"])


def test_a_folder_of_texts(tmp_path):
    (tmp_path / "below").mkdir()
    (tmp_path / "b.txt").write_bytes("é\r\n".encode("utf-16"))
    (tmp_path / "below" / "a.txt").write_bytes(b"\xef\xbb\xbfmarked \x00")
    (tmp_path / "c.txt").write_bytes(b"")
    (tmp_path / "notes.md").write_text("not one of them")
    (tmp_path / ".trash").mkdir()
    (tmp_path / ".trash" / "d.txt").write_text("hidden")
    assert find_table(str(tmp_path)).left_out == 1
    assert read(tmp_path) == (["é\r\n", "marked \x00", ""], ["b.txt", "below/a.txt", "c.txt"])


def test_every_file_of_a_folder_is_a_document(tmp_path):
    for i, text in enumerate(TEXTS):
        (tmp_path / f"{i:02}.txt").write_bytes(text.encode())
    assert read(tmp_path)[0] == [text.removeprefix("\ufeff") for text in TEXTS]


def test_every_row_of_a_set_of_the_hub_is_a_document(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    columns = {"id": [f"0{i}" for i in range(len(TEXTS))], "text": TEXTS}
    write_hub(tmp_path / "a", "default", dict.fromkeys(columns, datasets.Value("string")), {"test": columns})
    assert read(f"hf:{tmp_path / 'a'}") == (TEXTS, columns["id"])


def test_an_id_that_is_no_utf_8_can_be_written(tmp_path):
    (tmp_path / "new.csv").write_bytes(b"id,text\ncaf\xe9,a\n")
    assert read(tmp_path / "new.csv") == (["a"], ["caf\ufffd"])


def test_what_is_not_in_its_encoding_is_named_or_counted(tmp_path):
    for i in range(100):
        (tmp_path / f"{i:03}.txt").write_text("fine")
    (tmp_path / "057.txt").write_bytes("déjà vu".encode("latin-1"))
    with pytest.raises(ValueError, match=r"057\.txt, row 58: .* at byte 1 of the file; errors=replace puts"):
        read(tmp_path)
    documents = Input(find_table(str(tmp_path)), task(), errors="replace")
    assert list(documents)[57] == "d\ufffdj\ufffd vu"
    assert documents.replaced == 1


def test_missing_texts_are_empty_and_counted(tmp_path):
    path = write(tmp_path / "new.jsonl", [{"text": None}, {"text": "a"}])
    documents = Input(find_table(str(path)), task())
    assert list(documents) == ["", "a"]
    assert documents.missing == 1


def test_standard_input_is_one_document_or_one_a_line():
    text = "one \x0b one\r\n\r\nthree 🎉\n"
    assert decode(text.encode("utf-16")) == text
    assert split_lines(text) == ["one \x0b one", "", "three 🎉"]
    assert split_lines("") == []


def test_a_text_of_the_command_line_that_is_no_utf_8_is_named():
    with pytest.raises(ValueError, match="--text, row 2: text has bytes that are no UTF-8"):
        list(Input(Texts(["fine", "\udce9"], "--text"), task()))


def test_the_column_is_known_guessed_or_named(tmp_path):
    path = write(tmp_path / "new.csv", [{"id": 1, "body": "a", "label": "x", "more": "b"}])
    documents = Input(find_table(str(path)), task())
    assert (list(documents), documents.ids, documents.guessed) == (["a"], ["1"], "body")
    assert read(path, ["more"]) == (["b"], ["1"])
    assert read(path, ["body", "more"]) == (["a\n\nb"], ["1"])
    with pytest.raises(ValueError, match=r"new\.csv has the columns id, body, label, more; it lacks text"):
        read(path, ["text"])
    path = write(tmp_path / "two.csv", [{"a": "t", "b": "a"}])
    with pytest.raises(ValueError, match=r"two\.csv has the columns a, b: --text-column must name one"):
        read(path)


def test_a_task_of_pairs_gets_pairs(tmp_path):
    table = find_table(str(write(tmp_path / "new.jsonl", [{"text2": "b", "text1": "a"}])))
    assert list(Input(table, task(Pair))) == [("a", "b")]
    with pytest.raises(ValueError, match=r"^--text has the columns text; it lacks text1, text2: see --text-column$"):
        Input(Texts(["a"], "--text"), task(Pair))
    with pytest.raises(ValueError, match="task=single reads pairs of documents: --text-column A --text-column B"):
        Input(table, task(Pair), ["text1"])


def test_a_collection_of_splits_is_asked_for_one(tmp_path):
    for split in ("train", "test"):
        write(tmp_path / f"{split}.csv", [{"text": split}])
    assert read(tmp_path, split="test") == (["test"], [])
    with pytest.raises(ValueError, match="has the splits train, test: --split must say which"):
        read(tmp_path)
    with pytest.raises(ValueError, match=r"--split dev: .* has only train, test"):
        read(tmp_path, split="dev")
    (tmp_path / "README.txt").write_text("about the tables")  # no document
    assert read(tmp_path, split="test") == (["test"], [])
    with pytest.raises(ValueError, match="has the splits train, test: --split must say which"):
        read(tmp_path)
    with pytest.raises(ValueError, match=r"--split test: .*test\.csv is one file"):
        read(tmp_path / "test.csv", split="test")


def test_of_folders_of_texts_by_split_one_is_read(tmp_path):
    for name in ("train/a/1.txt", "test/a/1.txt", "test/b/2.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    assert read(tmp_path, split="test") == (["test/a/1.txt", "test/b/2.txt"], ["a/1.txt", "b/2.txt"])


def test_half_a_character_is_named_with_its_file(tmp_path):
    (tmp_path / "1.txt").write_bytes("é".encode("utf-16")[:-1])
    with pytest.raises(ValueError, match=r"1\.txt, row 1: text has bytes .* at byte 2 of the file"):
        read(tmp_path)
    documents = Input(find_table(str(tmp_path)), task(), errors="replace")
    assert (list(documents), documents.replaced) == (["\ufffd"], 1)


@pytest.mark.parametrize(
    ("name", "lines", "why"),
    [
        ("gone.csv", False, "is not there; - reads standard input"),
        ("a.docx", False, "is none of .parquet, .csv"),
        ("empty", False, "empty holds no files"),
        ("a.csv", True, "has rows of its own; it is for standard input"),
    ],
)
def test_what_is_no_input_is_refused(name, lines, why, tmp_path):
    (tmp_path / "a.docx").write_bytes(b"PK")
    (tmp_path / "a.csv").write_text("text\na\n")
    (tmp_path / "empty").mkdir()
    with pytest.raises((ValueError, FileNotFoundError), match=why):
        read(tmp_path / name, lines=lines)
