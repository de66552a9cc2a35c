"""Associative recall: each label by reading the document, the law of the gaps, and a run from end to end."""

import json

import numpy as np
import pytest
from commands import record, run

from longdoc.tasks.recall import Recall, _distinct

SIZES = {"train": 400, "validation": 20, "test": 30}


@pytest.fixture(name="make")
def _make(tmp_path):
    options = {"sizes": SIZES, "max_length": 50, "batch_tokens": 200, "seed": 0, "pairs": 6, "vocab": 24}
    return lambda **others: Recall(**(options | {"cache": str(tmp_path)} | others))


def documents(task, split="train"):
    """(ids, labels) of each document, as lists."""
    found = task.documents(split)
    return [(found.ids(row).tolist(), found.token_labels[row].tolist()) for row in range(len(found))]


@pytest.mark.parametrize("noise", [False, True])
@pytest.mark.parametrize("pairs", [1, 6, 12])
def test_each_key_is_asked_for_once_and_its_label_is_its_value(make, noise, pairs):
    task = make(pairs=pairs, noise=noise, vocab=24)
    assert len(task.classes) == 12
    for ids, labels in documents(task):
        memory = dict(zip(ids[: 2 * pairs : 2], ids[1 : 2 * pairs : 2], strict=True))
        assert len(memory) == len(set(memory.values())) == pairs
        assert all(1 <= key <= 12 < value <= 24 for key, value in memory.items())
        assert labels[: 2 * pairs] == [-100] * 2 * pairs
        asked = [place for place, label in enumerate(labels) if label != -100]
        assert sorted(ids[place] for place in asked) == sorted(memory)
        for place in asked:
            assert place % 2 == 0
            assert labels[place] == memory[ids[place]] - 13  # classes count from 0, ids of values from 13
        rest = {ids[place] for place in range(2 * pairs, 50) if place not in asked}
        assert rest <= set(range(1, 25)) if noise else rest == {25}


@pytest.mark.parametrize("power", [0.01, 1.0])
def test_the_first_gap_follows_the_power_law(make, power):
    """One pair: its query's place is one draw. Bounds are four standard errors."""
    task = make(pairs=1, power=power, sizes=SIZES | {"train": 20_000})
    labels = [labels for _, labels in documents(task)]
    gaps = [next(place for place, label in enumerate(row) if label != -100) // 2 - 1 for row in labels]
    shares = np.bincount(gaps, minlength=24) / 20_000
    expected = np.arange(1, 25) ** (power - 1)
    expected /= expected.sum()
    assert (np.abs(shares - expected) < 4 * np.sqrt(expected / 20_000)).all()


@pytest.mark.parametrize(("size", "count"), [(5, 5), (6, 2), (1, 1)])
def test_distinct_numbers_are_uniform_in_every_place(size, count):
    drawn = _distinct(np.random.default_rng(0), 30_000, size, count)
    assert all(len(set(row)) == count for row in drawn[:200].tolist())
    for place in range(count):
        shares = np.bincount(drawn[:, place], minlength=size) / 30_000
        assert (np.abs(shares - 1 / size) < 4 * np.sqrt(1 / size / 30_000)).all()


def test_batches_hold_the_labels_of_their_tokens(make):
    task = make()
    for batch in task.eval_dataloader("test"):
        for i, row in enumerate(batch["index"].tolist()):
            if batch["weight"][i]:
                assert batch["label"][i].tolist() == task.documents("test").token_labels[row].tolist()
            else:
                assert (batch["label"][i] == -100).all()


def test_references_are_the_most_frequent_value_and_any_value_of_the_document(make):
    task = make(sizes=SIZES | {"test": 3000})
    references = task.references()
    assert references["a_value_of_the_document"] == 1 / 6
    assert references["majority"] == pytest.approx(1 / 12, abs=0.01)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"pairs": 0}, r"task.pairs=0 must be 1 to 12, half of task.vocab=24, an even number"),
        ({"pairs": 13}, r"task.pairs=13 must be 1 to 12"),
        ({"vocab": 25}, r"task.vocab=25, an even number"),
        ({"max_length": 23}, r"task.pairs=6 needs task.max_length of at least 24, not 23: two tokens a pair and two a"),
        ({"power": 0.0}, r"task.power=0.0 must be above 0 and at most 1"),
    ],
)
def test_options_that_cannot_be_met_are_named(make, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        make(**options)


def test_a_run_and_the_evaluation_of_its_checkpoint_agree(tmp_path):
    """Rows that fill up the last batch are not scored."""
    done = run(
        "train.py", "task=recall", f"task.cache={tmp_path}/cache", "task.sizes={train: 40, validation: 7, test: 13}",
        "task.max_length=20", "task.batch_tokens=100", "task.pairs=3", "encoder.width=16", "trainer.max_steps=2",
        "trainer.compile=false", "trainer.precision=32-true", "logger=csv", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = tmp_path.glob("outputs/recall/*")
    expected = record(folder)
    assert set(expected["references"]) == {"chance", "majority", "a_value_of_the_document"}
    assert expected["selection"]["value"] == pytest.approx(expected["metrics"]["val/loss"], abs=1e-6)

    done = run("scripts/evaluate.py", str(folder / "checkpoints" / "best.ckpt"), "--output", "out.json", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (result,) = json.loads((tmp_path / "out.json").read_text())
    assert result["rows"] == 13
    for name in ("loss", "accuracy", "f1_macro"):
        assert result["metrics"][f"test/{name}"] == pytest.approx(expected["metrics"][f"test/{name}"], abs=1e-6)
