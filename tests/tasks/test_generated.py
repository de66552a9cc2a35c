"""What tasks share that draw their documents from a seed."""

import numpy as np
import pytest

from longdoc.tasks.evidence import Evidence
from longdoc.tasks.recall import Recall

SIZES = {"train": 50, "validation": 20, "test": 30}
COMMON = {"sizes": SIZES, "max_length": 40, "batch_tokens": 160, "seed": 0}
TASKS = pytest.mark.parametrize("task_class", [Recall, Evidence])


@pytest.fixture(name="make")
def _make(tmp_path):
    return lambda task_class, **options: task_class(**(COMMON | {"cache": str(tmp_path)} | options))


def rows(task, split):
    documents = task.documents(split)
    return [tuple(documents.ids(row).tolist()) for row in range(len(documents))]


@TASKS
def test_documents_are_whole_and_as_many_as_asked_for(make, task_class):
    task = make(task_class)
    for split, report in task.describe().items():
        assert (report["rows"], report["tokens"]) == (SIZES[split], 40 * SIZES[split])
        assert report["empty_rows"] == report["truncated_rows"] == report["truncated_tokens"] == 0
        assert {len(row) for row in rows(task, split)} == {40}
        assert all(1 <= symbol < task.vocab_size for row in rows(task, split) for symbol in row)
        labels = task.documents(split).every_label()
        assert ((labels >= 0) & (labels < len(task.classes))).all()


@TASKS
def test_splits_share_no_document(make, task_class):
    task = make(task_class)
    assert len({row for split in SIZES for row in rows(task, split)}) == sum(SIZES.values())


@TASKS
def test_the_data_seed_decides_the_documents_and_the_run_seed_does_not(make, task_class, tmp_path):
    expected = rows(make(task_class), "test")
    assert rows(make(task_class, seed=7, cache=str(tmp_path / "other")), "test") == expected
    assert rows(make(task_class, data_seed=1), "test") != expected


@TASKS
def test_a_second_task_generates_nothing(make, task_class, monkeypatch):
    expected = rows(make(task_class), "train")
    monkeypatch.setattr(task_class, "draw", lambda *_: pytest.fail("generated again"))
    assert rows(make(task_class), "train") == expected


@pytest.mark.parametrize(
    ("task_class", "rule"),
    [
        (Recall, {"pairs": 3}), (Recall, {"vocab": 64}), (Recall, {"power": 1.0}), (Recall, {"noise": True}),
        (Recall, {"max_length": 41}), (Evidence, {"kind": "xor", "distance": 5}), (Evidence, {"position": "late"}),
        (Evidence, {"vocab": 64}), (Evidence, {"max_length": 41}), (Evidence, {"sizes": {**SIZES, "test": 31}}),
    ],
)  # fmt: skip
def test_every_rule_is_part_of_the_key(make, task_class, rule):
    assert make(task_class, **rule).encode("test") != make(task_class).encode("test")


@TASKS
def test_a_state_that_is_in_place_is_used(make, task_class):
    """As after loading a checkpoint."""
    task, restored = make(task_class), make(task_class)
    restored.state = task.learn()
    assert rows(restored, "test") == rows(task, "test")
    assert np.array_equal(restored.documents("test").every_label(), task.documents("test").every_label())


@pytest.mark.parametrize("sizes", [{"train": 5, "test": 5}, {**SIZES, "validation": 0}, {**SIZES, "dev": 1}])
def test_sizes_must_name_each_split(make, sizes):
    with pytest.raises(ValueError, match=r"task.sizes=.* must give train, validation and test at least one row each"):
        make(Recall, sizes=sizes)


def test_a_negative_data_seed_is_refused(make):
    with pytest.raises(ValueError, match=r"task.data_seed=-1 must not be negative"):
        make(Recall, data_seed=-1)
