"""What a run does otherwise than its protocol."""

from results.records import made

from longdoc.results.comparison import compare
from longdoc.results.departures import departures, departures_text

PRESCRIBED = {
    "scheduler": "linear", "encoder.width": 64, "optimizer.betas": [0.9, 0.999], "optimizer.lr": 1e-4,
    "trainer.max_steps": 50000, "task.train_rows": None,
    "scheduler._target_": "a schedule",
}  # fmt: skip


def config(**changed):
    values = PRESCRIBED | changed
    return {
        "choices": {"scheduler": values["scheduler"], "attention": "linear"},
        "encoder": {"width": values["encoder.width"], "convolution": 3},
        "optimizer": {"betas": values["optimizer.betas"], "lr": values["optimizer.lr"]},
        "trainer": {"max_steps": values["trainer.max_steps"]},
        "task": {"train_rows": values["task.train_rows"]},
        "scheduler": {"_target_": "a schedule"},
    }


def test_a_run_by_the_protocol_has_none_whatever_its_variant():
    assert departures(PRESCRIBED, config()) == {}
    assert departures(PRESCRIBED, config(), 50000) == {}
    assert departures({}, config(), 3) == {}  # the protocol longdoc


def test_each_is_the_protocols_value_and_the_runs():
    changed = {"scheduler": "cosine", "optimizer.betas": [0.9, 0.98], "task.train_rows": 100}
    assert departures(PRESCRIBED, config(**changed)) == {
        "scheduler": ["linear", "cosine"],
        "optimizer.betas": [[0.9, 0.999], [0.9, 0.98]],
        "task.train_rows": [None, 100],
    }


def test_a_value_that_the_task_does_not_have_is_none():
    assert departures(PRESCRIBED | {"task.difficulty": "hard"}, config()) == {"task.difficulty": ["hard", None]}


def test_rows_say_what_sizes_would():
    values = PRESCRIBED | {f"{key}.{split}": 9 for key in ("task.sizes", "rows") for split in ("train", "test")}
    run = config() | {"rows": {"train": 5, "test": 9}}
    run["task"]["sizes"] = {"train": 5, "test": 7}  # of the test split, not read
    assert departures(values, run) == {"rows.train": [9, 5], "task.sizes.test": [9, 7]}


def test_steps_done_say_more_than_the_limit():
    assert departures(PRESCRIBED, config(), 4700) == {"trainer.max_steps": [50000, 4700]}
    assert departures(PRESCRIBED, config(**{"trainer.max_steps": None}), 4700) == {"trainer.max_steps": [50000, 4700]}
    assert departures(PRESCRIBED, config(**{"trainer.max_steps": 100})) == {"trainer.max_steps": [50000, 100]}


def test_in_words():
    found = {
        "trainer.max_steps": [50000, 4700],
        "optimizer.lr": [1e-4, 0.01],
        "trainer.max_time": [None, "00:00:05:00"],
    }
    assert departures_text(found) == (
        "trainer.max_steps 4,700 for 50,000; optimizer.lr 0.01 for 0.0001; trainer.max_time 00:00:05:00 for None"
    )


def test_a_comparison_notes_them_once_a_row():
    departed = {"protocol": "skyformer", "departures": {"trainer.max_steps": [50000, 4700]}}
    (group,), _ = compare([made(seed=1, **departed), made(seed=2, **departed), made("softmax", protocol="skyformer")])
    notes = {row.variant: row.notes for row in group.rows}
    assert notes == {"elu": ["departs from skyformer: trainer.max_steps 4,700 for 50,000"], "softmax": []}
