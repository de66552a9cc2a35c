"""Accuracy by a value of the config."""

import pytest
from results.records import made

from longdoc.results.formats import grids_to_markdown
from longdoc.results.pivot import config_value, pivot


def run(pairs, accuracy, **options):
    record = made(accuracy=accuracy, **options)
    record["config"]["task"]["pairs"] = pairs
    return record


def test_means_over_seeds_stand_in_the_column_of_their_value():
    records = [
        run(4, 0.9, seed=1), run(4, 0.7, seed=2), run(32, 0.5), run(4, 1.0, attention="softmax"),
        run(8, 0.1, feature_map="relu", status="failed"),
    ]  # fmt: skip
    (grid,) = grids = pivot(records, "task.pairs")
    assert grids_to_markdown(grids).splitlines() == [
        "### listops · longdoc · test accuracy by task.pairs",
        "",
        "| variant, by task.pairs | 4 | 32 |",
        "| --- | ---: | ---: |",
        "| softmax | 1.000 | - |",
        "| elu | 0.800 | 0.500 |",
        "| *majority* | *0.171* | *0.171* |",
        "| *root_operator* | *0.350* | *0.350* |",
    ]
    assert grid.runs == 4
    assert [(row["variant"], row["task.pairs"], row["test/accuracy"], len(row["run_ids"])) for row in grid.dicts] == [
        ("softmax", 4, 1.0, 1), ("elu", 4, pytest.approx(0.8), 2), ("elu", 32, 0.5, 1),
    ]  # fmt: skip


def test_runs_that_differ_in_more_are_rows_of_their_own():
    (grid,) = pivot([run(4, 0.9), run(4, 0.7, lr=1e-2), run(8, 0.8)], "task.pairs")
    assert grid.rows == [["elu, lr=0.001", "0.900", "0.800"], ["elu, lr=0.01", "0.700", "-"]]
    assert grid.notes == []


def test_what_differs_between_columns_alone_is_said():
    (grid,) = pivot([run(4, 0.9), run(8, 0.7, lr=1e-2)], "task.pairs")
    assert grid.rows == [["elu", "0.900", "0.700"]]
    assert grid.notes == ["optimizer.lr differs with task.pairs"]


def test_what_differs_between_rows_of_several_variants_is_said():
    def trained(pairs, steps, **options):
        record = run(pairs, 0.5, **options)
        record["config"]["trainer"] = {"max_steps": steps}
        return record

    alike = [trained(4, 100), trained(8, 100), trained(4, 100, feature_map="relu")]
    assert pivot(alike, "task.pairs")[0].notes == []
    baseline = made(baseline="tfidf")
    baseline["config"] = {"baseline": {"_target_": "tfidf"}, "task": {"max_length": 2000, "pairs": 4}}
    assert pivot([*alike, baseline], "task.pairs")[0].notes == []
    (grid,) = pivot([*alike, trained(4, 300, attention="softmax")], "task.pairs")
    assert grid.notes == ["trainer.max_steps differs between rows"]
    (grid,) = pivot([*alike, trained(4, 300)], "task.pairs")
    assert [row[0] for row in grid.rows] == ["elu, max_steps=100", "elu, max_steps=300", "relu"]
    assert grid.notes == ["trainer.max_steps differs between rows"]  # which of the two relu has does not stand there


def test_nan_is_in_no_mean_and_said():
    (grid,) = pivot([run(4, 0.9), run(4, None, seed=2), run(8, None)], "task.pairs")
    assert grid.rows == [["elu", "0.900", "nan"]]
    assert grid.notes == [
        "elu, 4: nan in 1 of 2 runs, left out of the mean", "elu, 8: nan in 1 of 1 runs, left out of the mean",
    ]  # fmt: skip


def test_protocols_are_tables_of_their_own_and_references_on_other_documents_are_all_there():
    grids = pivot([run(4, 0.9), run(4, 0.8, protocol="skyformer")], "task.pairs")
    assert [grid.title.split(" · ")[1] for grid in grids] == ["longdoc", "skyformer"]
    (grid,) = pivot([run(4, 0.9, references={"guess": 0.2}), run(4, 0.8, seed=2, references={"guess": 0.3})], "seed")
    assert grid.references == [["guess", "0.200", "0.300"]]
    (grid,) = pivot([run(4, 0.9, references={"guess": 0.2}), run(4, 0.8, references={"guess": 0.3})], "task.pairs")
    assert grid.references == [["guess", "0.200 / 0.300"]]


def test_a_path_that_leads_nowhere_is_named():
    assert config_value(made(), "task.max_length") == 2000
    with pytest.raises(ValueError, match=r"no finished run has a number or a word at task.pears"):
        pivot([made()], "task.pears")
