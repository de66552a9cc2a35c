"""Rows in are rows out: every kind of input hands on the same documents, letter by letter."""

import csv
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from longdoc.inputs import StreamInput, TextInput, open_input

TEXTS = ["", " \t", "\r\n", "a", "two\r\nlines\n", "NUL \x00", "\ufeffmarked", "👩‍👩‍👧‍👦 🎉", "NA", "null", "None",
         "nan", "007", "1984", "true", '"quoted", and\ttabbed', "x" * 5_000_000]  # fmt: skip


def write(path, rows):
    """A table of dicts with the same keys."""
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix in (".csv", ".tsv"):
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
    else:
        lines = [json.dumps(row) for row in rows]
        path.write_text("[" + ",\n".join(lines) + "]" if path.suffix == ".json" else "\n".join(lines))
    return path


def read(path, column=None, lines=False, errors="strict"):
    return list(open_input(path, column and [column], lines, errors))


@pytest.mark.parametrize("suffix", ["parquet", "csv", "tsv", "jsonl", "json"])
def test_every_row_of_a_table_is_a_document(suffix, tmp_path):
    rows = [{"id": f"0{i}", "label": "x", "text": text} for i, text in enumerate(TEXTS)]
    assert read(write(tmp_path / f"new.{suffix}", rows)) == [(f"0{i}", text) for i, text in enumerate(TEXTS)]


def test_a_folder_of_texts(tmp_path):
    (tmp_path / "below").mkdir()
    (tmp_path / "b.txt").write_bytes("é\r\n".encode("utf-16"))
    (tmp_path / "below" / "a.txt").write_bytes(b"\xef\xbb\xbfmarked \x00")
    (tmp_path / "c.txt").write_bytes(b"")
    (tmp_path / "notes.md").write_text("not one of them")
    assert read(tmp_path) == [("b.txt", "é\r\n"), ("below/a.txt", "marked \x00"), ("c.txt", "")]


def test_what_is_not_in_its_encoding_is_named_or_counted(tmp_path):
    for i in range(100):
        (tmp_path / f"{i:03}.txt").write_text("fine")
    (tmp_path / "057.txt").write_bytes("déjà vu".encode("latin-1"))
    with pytest.raises(ValueError, match=r"057\.txt, byte 1: this is not UTF-8; --errors replace reads"):
        read(tmp_path)
    documents = open_input(tmp_path, None, False, "replace")
    assert dict(documents)["057.txt"] == "d\ufffdj\ufffd vu"
    assert documents.replaced == 1


def test_a_table_with_bytes_of_another_encoding(tmp_path):
    path = tmp_path / "new.csv"
    path.write_bytes("text\nfine\ndéjà\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"new\.csv, row 2, .*--errors replace"):
        read(path)
    assert read(path, errors="replace") == [(None, "fine"), (None, "d\ufffdj\ufffd")]


def test_missing_texts_are_empty_and_counted(tmp_path):
    documents = open_input(write(tmp_path / "new.jsonl", [{"text": None}, {"text": "a"}]), None, False, "strict")
    assert list(documents) == [(None, ""), (None, "a")]
    assert documents.missing == 1


def test_standard_input_is_one_document_or_one_a_line():
    text = "one \x0b one\r\n\r\nthree 🎉"
    data = text.encode()
    assert list(StreamInput(io.BytesIO(data), "standard input", lines=False)) == [(None, text)]
    lines = list(StreamInput(io.BytesIO(data), "standard input", lines=True))
    assert lines == [(None, "one \x0b one"), (None, ""), (None, "three 🎉")]
    assert list(StreamInput(io.BytesIO(b""), "standard input", lines=True)) == []


def test_texts_of_the_command_line():
    assert list(TextInput(["a", ""])) == [(None, "a"), (None, "")]
    with pytest.raises(ValueError, match="--text 1, character 0"):
        list(TextInput(["\udce9"]))


def test_the_column_is_guessed_or_named(tmp_path):
    path = write(tmp_path / "new.csv", [{"id": 1, "body": "a", "label": "x"}])
    assert read(path) == [("1", "a")]
    path = write(tmp_path / "two.csv", [{"title": "t", "body": "a"}])
    assert read(path, "body") == [(None, "a")]
    with pytest.raises(ValueError, match=r"two\.csv has the columns title, body: --text-column must say which"):
        read(path)
    with pytest.raises(ValueError, match=r"has the columns title, body; it lacks text"):
        read(path, "text")


@pytest.mark.parametrize(
    ("name", "lines", "why"),
    [
        ("gone.csv", False, "is not there; - reads standard input"),
        ("a.docx", False, "is none of .parquet, .csv"),
        ("empty", False, "has no .txt files"),
        ("a.csv", True, "has rows; it is for standard input"),
    ],
)
def test_what_is_no_input_is_refused(name, lines, why, tmp_path):
    (tmp_path / "a.docx").write_bytes(b"PK")
    (tmp_path / "a.csv").write_text("text\na\n")
    (tmp_path / "empty").mkdir()
    with pytest.raises((ValueError, FileNotFoundError), match=why):
        read(tmp_path / name, lines=lines)


def test_several_columns_are_one_text_and_numbers_stay_as_written(tmp_path):
    (tmp_path / "new.jsonl").write_text('{"id": 7, "title": 1.50, "body": "b"}\n{"id": 8, "title": "", "body": 1e3}\n')
    assert list(open_input(tmp_path / "new.jsonl", ["title", "body"], False, "strict")) == [
        ("7", "1.50\n\nb"),
        ("8", "\n\n1e3"),
    ]
