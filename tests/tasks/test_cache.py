"""Built once, never half, and never taken for something else; with real processes."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
import pytest

from longdoc.tasks.cache import (
    PROJECT,
    TEXTS,
    UNLABELLED,
    Documents,
    cached,
    file_sha256,
    resolve,
    save_documents,
    save_pairs,
)

KEY = {"task": "t", "size": 3}

# Builds under the key; each build leaves a mark of its own beside the cache, and is as slow as told.
BUILDER = """
import os, sys, time
from pathlib import Path
from longdoc.tasks.cache import cached

folder, marks, seconds = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])

def build(place):
    (place / "first").write_text("half")
    (marks / str(os.getpid())).touch()
    time.sleep(seconds)
    (place / "second").write_text("whole")

print("ready", flush=True)
sys.stdin.readline()
print(cached(folder, {"task": "t", "size": 3}, build), flush=True)
"""


@pytest.fixture(name="marks")
def _marks(tmp_path):
    (tmp_path / "marks").mkdir()
    return tmp_path / "marks"


def start(tmp_path, marks, seconds):
    """A process that has imported everything and waits for a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", BUILDER, str(tmp_path / "cache"), str(marks), str(seconds)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "ready\n"
    return process


def go(process):
    process.stdin.write("\n")
    process.stdin.flush()


def wait_for(condition, seconds=30.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def whole(place):
    return sorted(path.name for path in place.iterdir()) == ["first", "key.json", "second"]


def fill(place):
    (place / "first").write_text("half")
    (place / "second").write_text("whole")


def test_two_processes_at_once_build_once(tmp_path, marks):
    processes = [start(tmp_path, marks, 0.5) for _ in range(2)]
    for process in processes:
        go(process)
    places = {process.communicate()[0].strip() for process in processes}
    assert [process.returncode for process in processes] == [0, 0]
    assert len(list(marks.iterdir())) == 1
    assert len(places) == 1
    assert whole(tmp_path / "cache" / places.pop())


def test_a_killed_build_leaves_nothing_that_is_taken_for_good(tmp_path, marks):
    process = start(tmp_path, marks, 60)
    go(process)
    wait_for(lambda: list(marks.iterdir()))
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdin.close()
    process.stdout.close()
    built = []
    place = cached(tmp_path / "cache", KEY, lambda folder: (built.append(1), fill(folder)))
    assert built == [1]
    assert whole(place)
    assert [path.name for path in (tmp_path / "cache").iterdir() if path.is_dir()] == [place.name]


def test_a_failed_build_is_tried_again(tmp_path):
    def fail(place):
        (place / "first").write_text("half")
        raise RuntimeError("disk full")

    with pytest.raises(RuntimeError, match="disk full"):
        cached(tmp_path, KEY, fail)
    assert whole(cached(tmp_path, KEY, fill))


def test_a_second_call_builds_nothing(tmp_path):
    def refuse(_):
        raise AssertionError("built again")

    place = cached(tmp_path, KEY, fill)
    before = sorted(path.name for path in tmp_path.iterdir())
    assert cached(tmp_path, KEY, refuse) == place
    assert cached(tmp_path, dict(reversed(KEY.items())), refuse) == place  # the order of keys says nothing
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.parametrize("other", [{"task": "t", "size": 4}, {"task": "u", "size": 3}, {**KEY, "lowercase": False}])
def test_another_key_is_another_place(tmp_path, other):
    assert cached(tmp_path, other, fill) != cached(tmp_path, KEY, fill)


def test_the_key_is_written_beside_what_it_decides(tmp_path):
    assert json.loads((cached(tmp_path, KEY, fill) / "key.json").read_text()) == KEY


def test_content_decides_not_name_and_time(tmp_path):
    file = tmp_path / "data.txt"
    file.write_text("one")
    times = (file.stat().st_atime_ns, file.stat().st_mtime_ns)
    before = file_sha256(file)
    file.write_text("two")
    os.utime(file, ns=times)
    assert file.stat().st_mtime_ns == times[1]
    assert file_sha256(file) != before
    file.write_text("one")
    assert file_sha256(file) == before == "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"


def test_paths_are_those_of_the_project_from_anywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert resolve("data/cache") == PROJECT / "data" / "cache"
    assert resolve(tmp_path / "x") == tmp_path / "x"
    assert (PROJECT / "pyproject.toml").is_file()


# ------------------------------------------------------------------------------------------- documents


@pytest.mark.parametrize(
    ("vocabulary", "dtype"),
    [(2, np.uint8), (256, np.uint8), (257, np.uint16), (65_536, np.uint16), (65_537, np.uint32)],
)
def test_ids_are_stored_in_the_smallest_type_that_holds_them(tmp_path, vocabulary, dtype):
    rows = [np.array([0, vocabulary - 1]), np.array([], dtype=int), np.array([1] * 50_000)]
    save_documents(tmp_path / "documents", rows, [3, 0, 1], vocabulary)
    found = Documents(tmp_path / "documents")
    assert [found.ids(row).dtype for row in range(3)] == [dtype] * 3
    assert [found.ids(row).tolist() for row in range(3)] == [row.tolist() for row in rows]
    stored = sum(path.stat().st_size for path in (tmp_path / "documents").glob("*.arrow"))
    assert stored < 50_002 * np.dtype(dtype).itemsize + 4_000


def test_rows_and_labels_are_those_that_were_saved(tmp_path):
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, 1000, length) for length in [0, 5, 1, 0, 300, 7, 0]]
    labels = [4, 0, 2, 2, 1, 3, 0]
    save_documents(tmp_path / "documents", rows, labels, 1000)
    found = Documents(tmp_path / "documents")
    assert len(found) == 7
    assert found.lengths.tolist() == [0, 5, 1, 0, 300, 7, 0]
    assert found.labels.tolist() == labels
    for row, expected in enumerate(rows):
        assert found.ids(row).tolist() == expected.tolist()


def test_places_of_ids_are_numbers_of_64_bits(tmp_path):
    """Those of 32 end at two billion tokens a split, a few gigabytes of text."""
    save_documents(tmp_path / "documents", [np.arange(3)], [0], 10)
    save_pairs(tmp_path / "pairs", [(np.arange(3), np.arange(2), 0)], 10)
    for found in (Documents(tmp_path / "documents").dataset, datasets.load_from_disk(str(tmp_path / "pairs" / TEXTS))):
        assert found.data.column("ids").type == pa.large_list(pa.uint8())


def test_rows_are_found_across_the_files_of_a_large_data_set(tmp_path):
    """Large data sets are saved in several files, which come back as chunks."""
    rows = [list(range(row, row + row % 5)) for row in range(23)]
    save_documents(tmp_path / "one", [np.array(row, dtype=int) for row in rows], list(range(23)), 100)
    datasets.load_from_disk(str(tmp_path / "one")).save_to_disk(str(tmp_path / "many"), num_shards=4)
    found = Documents(tmp_path / "many")
    assert [found.ids(row).tolist() for row in range(23)] == rows
    assert found.lengths.tolist() == [len(row) for row in rows]
    assert found.labels.tolist() == list(range(23))


def test_ids_are_views_of_the_file(tmp_path):
    save_documents(tmp_path / "documents", [np.arange(100)], [0], 100)
    ids = Documents(tmp_path / "documents").ids(0)
    assert ids.base is not None
    assert not ids.flags.owndata


@pytest.mark.parametrize(("largest", "dtype"), [(5, np.int8), (127, np.int8), (128, np.int16), (40_000, np.int32)])
def test_labels_of_tokens_are_stored_in_the_smallest_type_that_holds_them(tmp_path, largest, dtype):
    ids = [np.arange(3), np.array([], dtype=int), np.arange(4)]
    labels = [np.array([largest, UNLABELLED, 2]), np.array([], dtype=int), np.array([UNLABELLED, 2, 0, 2])]
    save_documents(tmp_path / "documents", ids, labels, 10)
    found = Documents(tmp_path / "documents")
    assert [found.token_labels[row].tolist() for row in range(3)] == [row.tolist() for row in labels]
    assert found.token_labels[0].dtype == dtype
    assert found.every_label().tolist() == [largest, 2, 2, 0, 2]
    assert found.every_label(2).tolist() == [largest, 2]


def test_every_label_of_documents_is_theirs(tmp_path):
    save_documents(tmp_path / "documents", [np.arange(2)] * 3, [4, 0, 2], 10)
    found = Documents(tmp_path / "documents")
    assert found.token_labels is None
    assert found.every_label().tolist() == [4, 0, 2]
    assert found.every_label(2).tolist() == [4, 0]


@pytest.mark.parametrize("classes", [1, 3, 300])
def test_labels_of_many_classes_are_stored_as_bits(tmp_path, classes):
    labels = np.random.default_rng(0).random((23, classes)) < 0.3
    save_documents(tmp_path / "one", [np.arange(2)] * 23, labels, 10, classes)
    datasets.load_from_disk(str(tmp_path / "one")).save_to_disk(str(tmp_path / "many"), num_shards=4)
    for place in ("one", "many"):
        found = Documents(tmp_path / place)
        assert found.token_labels is None
        assert found.labels.dtype == bool
        assert (found.labels == labels).all()
    assert (Documents(tmp_path / "one").every_label(2) == labels[:2]).all()
    stored = sum(path.stat().st_size for path in (tmp_path / "one").glob("*.arrow"))
    assert stored < 23 * (classes / 8 + 2 + 8) + 4_000


def test_pairs_may_have_many_classes_too(tmp_path):
    a, b, c = np.arange(3), np.arange(5), np.arange(0)
    labels = [[True, False, True], [False, False, False]]
    save_pairs(tmp_path / "pairs", [(a, b, labels[0]), (c, a, labels[1])], 10, 3)
    found = Documents(tmp_path / "pairs")
    assert found.labels.tolist() == labels
    assert [len(found.ids(row, side)) for row in range(2) for side in range(2)] == [3, 5, 0, 3]


class TestContent:
    """The hash of what a model sees of a split."""

    IDS = (np.array([1, 2, 3]), np.array([4]), np.array([], int))

    def content(self, folder, ids=IDS, labels=(0, 1, 0), vocabulary=9):
        place = Path(tempfile.mkdtemp(dir=folder)) / "documents"
        save_documents(place, ids, list(labels), vocabulary)
        return Documents(place).content()

    def test_the_same_rows_have_the_same(self, tmp_path):
        assert self.content(tmp_path) == self.content(tmp_path)
        assert len(self.content(tmp_path)) == 16

    def test_a_change_of_any_id_border_label_or_place_changes_it(self, tmp_path):
        a, b, c = self.IDS
        changed = [
            self.content(tmp_path),
            self.content(tmp_path, (np.array([1, 2, 5]), b, c)),
            self.content(tmp_path, (a[:2], np.array([3, 4]), c)),
            self.content(tmp_path, (a, c, b)),
            self.content(tmp_path, labels=(0, 1, 1)),
            self.content(tmp_path, labels=[np.zeros(3, int), np.zeros(1, int), np.zeros(0, int)]),
            self.content(tmp_path, labels=[np.ones(3, int), np.zeros(1, int), np.zeros(0, int)]),
        ]
        assert len(set(changed)) == len(changed)

    def test_pairs_have_their_own(self, tmp_path):
        a, b, _ = self.IDS
        for name, rows in {"one": [(a, b, 1), (b, b, 0)], "other": [(a, b, 1), (b, a, 0)]}.items():
            save_pairs(tmp_path / name, iter(rows), 9)
        assert Documents(tmp_path / "one").content() != Documents(tmp_path / "other").content()
