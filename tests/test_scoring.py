"""The record of a checkpoint on a split: of whatever is given as one."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from checkpoints import write_checkpoint
from sklearn.metrics import confusion_matrix

from longdoc.export import load
from longdoc.scoring import Reading, score

WORDS = ("task.max_length=32", "task.batch_tokens=256", "encoder.positions=none")
CLASSES = ["neg", "neutral", "pos"]  # no document is neutral


@pytest.fixture(scope="module", name="folder")
def _folder(tmp_path_factory):
    """A test split of 40 documents of up to 90 bytes, nine of ten of them neg."""
    folder, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    texts = ["".join(map(chr, rng.integers(97, 123, rng.integers(1, 90)))) for _ in range(40)]
    labels = ["pos" if i % 10 == 3 else "neg" for i in range(40)]
    pq.write_table(pa.table({"text": texts, "label": labels}), folder / "test.parquet")
    return folder


def checkpoint(path, folder, *words, **state):
    words = (*WORDS, "task.source=local", f"task.data={folder}", f"task.cache={folder}/cache", *words)
    return write_checkpoint(path, "text", *words, classes=CLASSES, **state)


@pytest.fixture(scope="module", name="best")
def _best(folder):
    return checkpoint(folder / "best.ckpt", folder)


def test_all_that_is_said_of_a_checkpoint_fits_together(best, tmp_path):
    record, decided = score(best, "test", Reading(), predicted=tmp_path / "p.jsonl")
    assert (record["error"], record["rows"]) == (None, 40)
    rows = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    expected, given = ([row[key] for row in rows] for key in ("expected", "label"))
    assert record["confusion"] == confusion_matrix(expected, given, labels=CLASSES).tolist()
    assert decided.right.tolist() == [a == b for a, b in zip(expected, given, strict=True)]
    accuracy = record["metrics"]["test/accuracy"]
    assert accuracy == decided.right.mean() == np.trace(record["confusion"]) / 40
    for name, limits in record["intervals"].items():
        assert limits["low"] < record["metrics"][name] < limits["high"]
    assert record["intervals"].keys() == {"test/accuracy", "test/f1_macro"}
    bins = record["reliability"]
    assert sum(of["count"] for of in bins) == 40
    assert sum(of["count"] * of["accuracy"] for of in bins) == pytest.approx(40 * accuracy)
    error = sum(of["count"] * abs(of["confidence"] - of["accuracy"]) for of in bins) / 40
    assert record["metrics"]["test/ece"] == pytest.approx(error)


def test_of_any_number_of_classes_there_is_no_confusion(tmp_path):
    labels = [["pos", "neg"], ["neg"], [], ["pos"]] * 3
    pq.write_table(pa.table({"text": [f"text {i}" for i in range(12)], "label": labels}), tmp_path / "t.parquet")
    words = (f"task.path={tmp_path}/t.parquet", f"task.test={tmp_path}/t.parquet", f"task.cache={tmp_path}/cache")
    words = (*WORDS, *words, "task.tokenizer=bytes", "pooling=mean")
    state = {"multi_label": True, "tokenizer": {"kind": "bytes"}, "columns": {"text": ["text"], "label": "label"}}
    path = write_checkpoint(tmp_path / "a.ckpt", "documents", *words, classes=CLASSES, **state)
    record, decided = score(path, "test", Reading())
    assert record["error"] is None
    assert record["confusion"] is None
    assert record["intervals"].keys() == {"test/accuracy", "test/f1_micro", "test/f1_macro"}
    assert sum(of["count"] for of in record["reliability"]) == 12 * 3
    assert decided.right.shape == (12,)


@pytest.mark.parametrize(
    ("how", "read"),
    [
        (Reading(), "head 32"),
        (Reading(16, "head"), "head 16"),
        (Reading(16, "head+tail"), "head+tail 16"),
        (Reading(truncation="windows"), "windows 32"),
        (Reading(truncation="none"), "none None"),
    ],
)
def test_documents_are_read_otherwise_than_in_training(how, read, best):
    record, _ = score(best, "test", how)
    assert f"{record['truncation']} {record['max_length']}" == read
    lengths = load(best).task().documents("test").lengths
    seen = lengths if how.truncation in ("windows", "none") else np.minimum(lengths, how.max_length or 32)
    assert (record["tokens"], record["tokens_read"]) == (lengths.sum(), seen.sum())


@pytest.mark.parametrize("truncation", ["head", "head+tail", "windows"])
def test_a_model_of_whole_documents_reads_parts_of_them(truncation, folder, tmp_path):
    """In training no document needs to fit into the tokens of a batch."""
    path = checkpoint(tmp_path / "whole.ckpt", folder, "task.truncation=none", "task.batch_tokens=16")
    record, _ = score(path, "test", Reading(truncation=truncation))
    assert (record["error"], record["max_length"]) == (None, 32)


def test_ways_to_read_decide_on_the_same_documents(best):
    (_, head), (_, whole) = (score(best, "test", how) for how in (Reading(8, "head"), Reading(truncation="none")))
    assert head.content == whole.content
    assert head.right.tolist() != whole.right.tolist()


def broken(kind, path, good):
    """What is no checkpoint, in place of one."""
    if kind == "text":
        path.write_text("not a checkpoint")
    elif kind == "empty":
        path.touch()
    elif kind == "cut":
        path.write_bytes(good.read_bytes()[: good.stat().st_size // 2])
    elif kind == "folder":
        path.mkdir()
    elif kind == "foreign":
        torch.save({"state_dict": {}, "epoch": 3}, path)
    elif kind == "objects":
        torch.save({"longdoc": Reading(), "global_step": 1}, path)
    elif kind == "weights":
        held = torch.load(good, weights_only=True)
        held["state_dict"].popitem()
        torch.save(held, path)
    elif kind == "version":
        held = torch.load(good, weights_only=True)
        held["longdoc"]["version"] = 99
        torch.save(held, path)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("missing", "is not there"), ("folder", "holds no config.json"),
        ("version", "is a checkpoint of version 99; this longdoc reads 1"), ("weights", "the weights do not fit"),
        *((kind, "is not a checkpoint of longdoc") for kind in ("text", "empty", "cut", "foreign", "objects")),
    ],
)  # fmt: skip
def test_a_broken_checkpoint_is_told_of_in_one_sentence(kind, said, best, tmp_path):
    path = tmp_path / "runs" / "broken.ckpt"
    if kind != "missing":
        path.parent.mkdir()
        broken(kind, path, best)
    record, decided = score(path, "test", Reading())
    assert decided is None
    assert f"{path}" in record["error"]
    assert said in record["error"]
    assert len(record["error"].replace(str(path), "")) < 300
    assert "weights_only" not in record["error"]  # torch's advice to load what is not trusted
    assert path.parent.exists() == (kind != "missing")


def test_data_that_does_not_suit_is_told_of_too(best, tmp_path):
    record, decided = score(best, "test", Reading(), data=str(tmp_path / "nowhere"))
    assert decided is None
    assert "nowhere" in record["error"]
    shutil.copy(best, tmp_path / "best.ckpt")
    pq.write_table(pa.table({"text": ["a"], "label": ["mixed"]}), tmp_path / "test.parquet")
    record, _ = score(tmp_path / "best.ckpt", "test", Reading(), data=str(tmp_path))
    assert "mixed" in record["error"]
