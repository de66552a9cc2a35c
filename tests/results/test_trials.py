"""Of a grid of learning rates validation chooses, never test, and seeds of several rates are not taken together."""

from typing import Any

import pytest
from results.records import made

from longdoc.results.comparison import compare
from longdoc.results.table import rows_as_dicts


def trial(lr: float, loss: float | None, accuracy: float = 0.5, seed: int = 1, attention: str = "linear") -> Any:
    return made(attention, lr=lr, seed=seed, metrics={"val/loss": loss, "test/accuracy": accuracy})


def test_validation_chooses_one_rate_with_all_its_seeds() -> None:
    records = [
        trial(1e-3, 0.9, 0.5), trial(1e-3, 1.1, 0.6, seed=2), trial(3e-3, 1.05, 0.9), trial(1e-2, None, 0.8),
        *(trial(lr, 2.0 + lr, attention="softmax") for lr in (1e-2, 1e-3, 3e-3)),
    ]  # fmt: skip
    (group,), _ = compare(records)
    elu, softmax = group.rows
    assert (elu.variant, len(elu.records), elu.values["test/accuracy"].mean) == ("elu", 2, pytest.approx(0.55))
    assert {record["config"]["optimizer"]["lr"] for record in elu.records} == {1e-3}
    assert elu.notes == [
        "best of 3 trials by val/loss: optimizer.lr=0.001 1.0000, optimizer.lr=0.003 1.0500, optimizer.lr=0.01 nan"
    ]
    assert softmax.notes[0].startswith("best of 3 trials by val/loss: optimizer.lr=0.001 2.0010, ")
    assert group.notes == []
    assert [(row["variant"], row["trials"], row["n"]) for row in rows_as_dicts([group], []) if "trials" in row] == [
        ("elu", 3, 2), ("softmax", 3, 1),
    ]  # fmt: skip


def test_trials_that_failed_count_and_other_grids_are_said() -> None:
    failed = [
        made(lr=lr, run_id="failed", status="failed", error="the training loss is nan") for lr in (0.1, 0.1, 1e-3)
    ]
    others = [made(feature_map="relu", lr=0.1, status="failed"), made(lr=0.3, status="running")]
    (group,), unfinished = compare([trial(1e-3, 0.9, 0.7), *failed, *others, made("softmax")])
    assert group.rows[0].notes == ["best of 2 trials by val/loss: optimizer.lr=0.001 0.9000, optimizer.lr=0.1 failed"]
    assert group.notes == ["optimizer.lr tried differs: 0.001, 0.1 (elu); 0.001 (softmax)"]
    assert len(unfinished) == 5


def test_a_rate_at_which_seeds_fail_is_behind_those_at_which_none_does() -> None:
    def failed(lr: float, seed: int) -> Any:
        return made(lr=lr, seed=seed, run_id="lost", status="failed", error="the training loss is nan")

    records = [
        trial(1e-3, 0.9), trial(1e-3, 1.1, seed=2), failed(1e-3, 2),
        trial(3e-3, 0.5, 0.9), failed(3e-3, 2), failed(3e-3, 3), failed(3e-3, 3),
        trial(1e-2, 0.4, 0.9), trial(1e-2, None, 0.1, seed=2), trial(0.1, None),
    ]  # fmt: skip
    (group,), _ = compare(records)
    (row,) = group.rows
    assert [record["seed"] for record in row.records] == [1, 2]
    assert row.notes[-1] == (
        "best of 4 trials by val/loss: optimizer.lr=0.001 1.0000, optimizer.lr=0.01 0.4000 (1 of 2 seeds failed), "
        "optimizer.lr=0.003 0.5000 (2 of 3 seeds failed), optimizer.lr=0.1 nan"
    )
    (group,), _ = compare(records[3:])  # of all a seed is lost
    assert group.rows[0].values["val/loss"].mean == 0.4


def test_what_is_no_tuning_is_a_row_of_its_own() -> None:
    records = [made(lr=lr, accuracy=0.5, config_hash=f"{lr}{width}") for lr in (1e-3, 3e-3) for width in (64, 128)]
    for record, width in zip(records, (64, 128, 64, 128), strict=True):
        record["config"]["encoder"]["width"] = width
    (group,), _ = compare(records)
    assert sorted(row.settings["encoder.width"] for row in group.rows) == [64, 128]
    assert all(len(row.tried) == 2 and len(row.records) == 1 for row in group.rows)
