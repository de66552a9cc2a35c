"""scripts/predict.py: a row out for each row in."""

import csv
import io
import json
import subprocess
import sys

import pyarrow.parquet as pq
import pytest
from checkpoints import write_checkpoint
from commands import PROJECT, run

from longdoc.prediction import Prediction
from longdoc.prediction_files import check_suffix, to_rows, write

TEXTS = ["", " \n", "007", "NA", "two\r\nlines", "🎉 " * 30]
FOUND = [
    Prediction("a", {"a": 0.75, "b, c": 0.25}, 9, 8, True),
    Prediction(["a", "b, c"], {"a": 1, "b, c": 1}, 0, 0, False),
]


@pytest.fixture(name="checkpoint")
def _checkpoint(tmp_path):
    words = (
        "task.max_length=32",
        "task.batch_tokens=64",
        "task.truncation=head",
        "encoder.positions=none",
        "attention.causal=true",
    )
    return write_checkpoint(tmp_path / "alone.ckpt", "text", *words, classes=["neg", "pos"])


def test_a_file_in_a_file_out_and_what_was_done(checkpoint, tmp_path):
    with (tmp_path / "new.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "text"), *((f"0{i}", text) for i, text in enumerate(TEXTS))])
    done = run(
        "scripts/predict.py",
        checkpoint.name,
        "new.csv",
        "--output",
        "deep/out.parquet",
        "--html",
        "why.html",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "6 explanations written to why.html",
        "1 of 6 documents: empty",
        "1 of 6 documents: read in part, 118 tokens left out",
        "6 rows written to deep/out.parquet",
    ]
    rows = pq.read_table(tmp_path / "deep" / "out.parquet").to_pylist()
    assert [(row["row"], row["id"]) for row in rows] == [(i, f"0{i}") for i in range(6)]
    assert [row["tokens"] for row in rows] == [len(text.encode()) for text in TEXTS]
    assert all(row["p_neg"] + row["p_pos"] == pytest.approx(1) for row in rows)
    assert [len(row["passages"]) for row in rows] == [0, 1, 1, 1, 2, 4]
    assert (tmp_path / "why.html").read_text().count("<h2>") == 6
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["out.parquet"]

    command = [sys.executable, str(PROJECT / "scripts" / "predict.py"), checkpoint.name, "-", "--lines"]
    piped = subprocess.run(command, input="007\nNA\n", capture_output=True, text=True, cwd=tmp_path, timeout=300)
    found = [json.loads(line)["probabilities"] for line in piped.stdout.splitlines()]
    assert [row["neg"] for row in found] == pytest.approx([rows[2]["p_neg"], rows[3]["p_neg"]], abs=1e-5)


def test_a_stream_is_classified_while_it_comes(checkpoint, tmp_path):
    command = [
        sys.executable,
        str(PROJECT / "scripts" / "predict.py"),
        checkpoint.name,
        "-",
        "--stream",
        "--every",
        "4",
    ]
    text = "\ufeffwords and words".encode("utf-16-le")
    done = subprocess.run(command, input=text, capture_output=True, cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["tokens"] for line in done.stdout.splitlines()] == [4, 8, 12, 15]


def test_a_class_may_be_called_anything(tmp_path):
    rows = to_rows(FOUND, id=["x", None])
    write(rows, tmp_path / "out.csv")
    first, second = csv.DictReader(io.StringIO((tmp_path / "out.csv").read_text()))
    assert (first["label"], first["p_b, c"], first["truncated"]) == ("a", "0.25", "True")
    assert json.loads(second["label"]) == ["a", "b, c"]
    write(rows, tmp_path / "out.jsonl")
    assert [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()] == rows


def test_a_file_is_whole_or_as_it_was(tmp_path):
    path = tmp_path / "out.jsonl"
    path.write_text("before")
    with pytest.raises(TypeError):
        write([*to_rows(FOUND), {"row": object()}], path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_the_name_says_which_kind_of_file(tmp_path):
    with pytest.raises(ValueError, match=r"out\.txt must end in \.jsonl, \.csv, \.parquet"):
        check_suffix(tmp_path / "out.txt")
