"""Accuracy by a value of the config."""

import pytest
from results.records import made

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
    assert pivot(records, "task.pairs").splitlines() == [
        "| task | variant, by task.pairs | 4 | 32 |",
        "| --- | --- | ---: | ---: |",
        "| listops | softmax | 1.000 | - |",
        "| listops | elu | 0.800 | 0.500 |",
    ]


def test_runs_that_differ_in_more_are_not_averaged():
    records = [run(4, 0.9), run(4, 0.7, lr=1e-2)]
    assert "0.900 / 0.700" in pivot(records, "task.pairs")


def test_a_path_that_leads_nowhere_is_named():
    assert config_value(made(), "task.max_length") == 2000
    with pytest.raises(ValueError, match=r"no finished run has a number or a word at task.pears"):
        pivot([made()], "task.pears")
