"""The task ListOps at small sizes: its labels, its cache, its shortcuts."""

import numpy as np
import pytest

from longdoc.tasks.listops import ListOps
from longdoc.tasks.listops_language import decode, encode, evaluate

SIZES = {"train": 60, "validation": 20, "test": 30}
OPTIONS = {"max_length": 60, "batch_tokens": 240, "seed": 0, "min_length": 10, "expression_length": 60}


@pytest.fixture(name="task")
def _task(tmp_path):
    return make(tmp_path)


def make(folder, **options):
    return ListOps(**({"sizes": SIZES, "cache": str(folder)} | OPTIONS | options))


def rows(task, split):
    documents = task.documents(split)
    return [documents.ids(row).tolist() for row in range(len(documents))]


@pytest.mark.parametrize("split", list(SIZES))
def test_labels_are_the_values_of_the_expressions(task, split):
    documents = task.documents(split)
    assert len(documents) == SIZES[split]
    for row, label in zip(rows(task, split), documents.labels, strict=True):
        assert 10 < len(row) < 60
        assert evaluate(row) == label
        assert encode(decode(row)).tolist() == row


def test_no_expression_is_cut(task):
    """Training and evaluation read each from its root operator to its end."""
    for split, report in task.describe().items():
        assert report["rows"] == SIZES[split]
        assert report["empty_rows"] == report["truncated_rows"] == report["truncated_tokens"] == 0
    sampler = task.train_sampler()
    for batch in sampler.epoch(0):
        for row, start, length in batch:
            assert (start, length) == (0, task.documents("train").lengths[row])


def test_splits_share_no_expression(task):
    every = [tuple(row) for split in SIZES for row in rows(task, split)]
    assert len(set(every)) == sum(SIZES.values())


def test_classes_and_vocabulary(task):
    assert task.classes == [str(digit) for digit in range(10)]
    assert task.vocab_size == 16
    assert all(1 <= symbol < 16 for row in rows(task, "train") for symbol in row)


def test_the_data_seed_decides_the_expressions_and_the_run_seed_does_not(tmp_path, task):
    assert rows(make(tmp_path, seed=7), "test") == rows(task, "test")
    assert rows(make(tmp_path, data_seed=1), "test") != rows(task, "test")


@pytest.mark.parametrize("rule", [{"min_length": 12}, {"expression_length": 59}, {"sizes": {**SIZES, "test": 31}}])
def test_every_rule_is_part_of_the_key(tmp_path, task, rule):
    assert make(tmp_path, **rule).encode("test") != task.encode("test")


def test_a_second_task_generates_nothing(tmp_path, task, monkeypatch):
    expected = rows(task, "train")
    monkeypatch.setattr("longdoc.tasks.listops.generate", lambda **_: pytest.fail("generated again"))
    assert rows(make(tmp_path), "train") == expected


def test_references_are_what_the_shortcuts_reach_on_this_test_split(task):
    train, test = task.documents("train"), task.documents("test")
    found = task.references()
    assert set(found) == {"chance", "majority", "root_operator", "one_level", "two_levels"}
    assert found["chance"] == 0.1
    most = np.bincount(train.labels, minlength=10).argmax()
    assert found["majority"] == pytest.approx((test.labels == most).mean())
    right = []
    for row, label in zip(rows(task, "test"), test.labels, strict=True):
        same = [y for other, y in zip(rows(task, "train"), train.labels, strict=True) if other[0] == row[0]]
        right.append(label == (np.bincount(same, minlength=10).argmax() if same else most))
    assert found["root_operator"] == pytest.approx(np.mean(right))


@pytest.mark.parametrize("sizes", [{"train": 5, "test": 5}, {**SIZES, "validation": 0}, {**SIZES, "dev": 1}])
def test_sizes_must_name_each_split(tmp_path, sizes):
    with pytest.raises(ValueError, match=r"task.sizes=.* must give train, validation and test at least one row each"):
        make(tmp_path, sizes=sizes)
