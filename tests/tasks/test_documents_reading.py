"""How task=documents reads: anew what has changed and only that, and few documents at a time."""

import os
import shutil
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from collections_ import KINDS, own_documents, write_kind
from hub import write_hub

from longdoc.tasks.base import SPLITS
from longdoc.tasks.columns import TextReader
from longdoc.tasks.documents import OwnDocuments
from longdoc.tasks.tokenizers import train_bpe


@pytest.fixture(name="make")
def _make(tmp_path, monkeypatch):
    """With its data prepared."""
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "hf")

    def make(path, **more):
        task = own_documents(tmp_path / "cache", path, **more)
        task.prepare_data()
        return task

    return make


def rows(task):
    """Texts and labels of all splits."""
    every = [(task.documents(split), row) for split in SPLITS for row in range(len(task.documents(split)))]
    return sorted((task.decode(found.ids(row)), task.classes[found.labels[row]]) for found, row in every)


def columns(seventh="document 7", label="b"):
    texts = [f"document {i}" if i != 7 else seventh for i in range(20)]
    return {"text": texts, "label": [label if i == 7 else "ab"[i % 2] for i in range(20)]}


CHANGED = columns("downwards!", "a")


def expected(found):
    return sorted(zip(*found.values(), strict=True))


def write(folder, kind, found):
    """Every file with the same times, so that only the content tells."""
    shutil.rmtree(folder, ignore_errors=True)
    path = write_kind(folder, kind, found)
    for file in folder.rglob("*"):
        os.utime(file, ns=(0, 0))
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_what_has_changed_is_read_anew_and_only_that(make, tmp_path, kind, monkeypatch):
    assert rows(make(write(tmp_path / "data", kind, columns()))) == expected(columns())
    there = sorted((tmp_path / "cache").rglob("*"))
    with monkeypatch.context() as patched:
        patched.setattr("longdoc.tasks.scan._read", lambda *_: pytest.fail("read again"))
        patched.setattr(OwnDocuments, "_encode", lambda *_: pytest.fail("encoded again"))
        assert rows(make(write(tmp_path / "data", kind, columns()))) == expected(columns())
    assert sorted((tmp_path / "cache").rglob("*")) == there
    for found in (CHANGED, columns(label="a")):
        assert rows(make(write(tmp_path / "data", kind, found))) == expected(found)


def test_a_changed_set_of_the_hub_is_read_anew(make, tmp_path):
    for found in (columns(), CHANGED):
        features = dict.fromkeys(found, datasets.Value("string"))
        task = make("hf:" + write_hub(tmp_path / "set", "default", features, {"train": found}))
        assert rows(task) == expected(found)


def test_another_tokenizer_under_the_same_name_encodes_anew(make, tmp_path):
    path, file = write(tmp_path / "data", "csv", columns()), tmp_path / "tokenizer.json"
    file.write_text(train_bpe(columns()["text"], 290))
    many = make(path, tokenizer=str(file))
    file.write_text(train_bpe(["xyz" * 100], 290))
    few = make(path, tokenizer=str(file))
    assert rows(few) == rows(many) == expected(columns())
    assert few.documents("test").lengths.sum() > many.documents("test").lengths.sum()


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="memory is read where Linux shows it")
@pytest.mark.parametrize("kind", ["parquet", "json"])
def test_few_documents_are_in_memory_at_a_time(make, tmp_path, kind, monkeypatch):
    """Of 60 MB; what is resident without a file behind it, while they are read, stays far below that."""

    def resident():
        text = Path("/proc/self/status").read_text()
        return int(text.split("RssAnon:")[1].split()[0]) * 1024

    long = {"text": [f"{i} {'word ' * 20_000}" for i in range(600)], "label": ["a", "b"] * 300}
    if kind == "json":
        path = write_kind(tmp_path, kind, long)
    else:  # in row groups, as its pages could otherwise be as large as the file
        path = tmp_path / "rows.parquet"
        pq.write_table(pa.table(long), path, row_group_size=20)
    del long
    pa.default_memory_pool().release_unused()
    before, found, read = resident(), [], TextReader._text

    def watched(*cell):
        found.append(resident() - before)
        return read(*cell)

    monkeypatch.setattr(TextReader, "_text", watched)
    task = make(path)
    assert len(found) >= 1200  # each text once for its labels, once for its tokens
    assert sum(task.documents(split).sides.sum() for split in SPLITS) > 60 * 10**6
    assert max(found) < 48 * 2**20
