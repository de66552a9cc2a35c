"""Accuracy by length: every document in one bin, bins alike in all runs."""

import io

import numpy as np
import pytest
from results.records import made
from rich.console import Console

from longdoc.results.formats import grids_to_markdown
from longdoc.results.lengths import by_length, compare_lengths, length_table
from longdoc.results.terminal import grids_to_rich

TOKENS = np.array([0, 1, 511, 512, 513, 1023, 1024, 5000])


def test_bins_are_powers_of_two_and_hold_every_document():
    right = np.array([1, 1, 0, 1, 0, 1, 0, 1], bool)
    bins = by_length(TOKENS, np.minimum(TOKENS, 512), right)
    assert [(found["from"], found["to"], found["documents"], found["accuracy"]) for found in bins] == [
        (0, 0, 1, 1.0), (1, 1, 1, 1.0), (256, 511, 1, 0.0), (512, 1023, 3, pytest.approx(2 / 3)),
        (1024, 2047, 1, 0.0), (4096, 8191, 1, 1.0),
    ]  # fmt: skip
    assert [found["read"] for found in bins] == [1, 1, 1, pytest.approx(1536 / 2048), 0.5, 512 / 5000]
    assert sum(found["accuracy"] * found["documents"] for found in bins) == pytest.approx(right.sum())
    table = length_table(bins)
    assert table is not None
    assert table.row_count == 6
    assert length_table(by_length(TOKENS[3:5], TOKENS[3:5], right[3:5])) is None  # of one length


def test_variants_stand_beside_one_another_by_length():
    def run(variant, accuracies, read, **others):
        bins = [
            {"from": 512, "to": 1023, "documents": 3, "accuracy": accuracies[0], "read": 1.0},
            {"from": 1024, "to": 2047, "documents": 7, "accuracy": accuracies[1], "read": read},
        ]
        test = {"rows": 10, "tokens": 1000, "truncated_tokens": 1000 - round(1000 * read)}
        splits = made()["splits"] | {"test": made()["splits"]["test"] | test}
        return made(variant, splits=splits, by_length=bins, accuracy=sum(accuracies) / 2, **others)

    at_once = {"task": {"truncation": "none"}}
    records = [
        run("linear", (0.5, 0.75), 1.0, max_length=None), run("linear", (0.7, 0.85), 1.0, seed=2, max_length=None),
        run("softmax", (0.5, 0.25), 0.5, max_length=512), made(task="old"),
        run("linear", (0.9, 0.9), 1.0, decay="fixed", config=at_once),
        run("linear", (0.8, 0.4), 0.5, baseline="tfidf 512", max_length=512, config=at_once),
        run("linear", (0.8, 0.5), 1.0, baseline="tfidf", max_length=None, config_hash="t"),
    ]  # fmt: skip
    (grid,) = grids = compare_lengths(records)
    assert grids_to_markdown(grids).splitlines() == [
        "### listops · longdoc · test accuracy by tokens of a document (documents)",
        "",
        "| variant | at once | read | all | 512–1,023 (3) | 1,024–2,047 (7) |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        "| elu+fixed | whole | 100% | 0.900 | 0.900 | 0.900 |",
        "| elu | whole | 100% | 0.700 | 0.600 | 0.800 |",
        "| tfidf | whole | 100% | 0.650 | 0.800 | 0.500 |",
        "| tfidf 512 | 512 | 50% | 0.600 | 0.800 | 0.400 |",
        "| softmax | 512 | 50% | 0.375 | 0.500 | 0.250 |",
    ]
    assert grid.runs == 6
    assert grid.dicts[-1] == {
        "task": "listops", "protocol": "longdoc", "variant": "softmax", "max_length": 512, "n": 1,
        "from": 1024, "to": 2047, "documents": 7, "accuracy": 0.25, "read": 0.5,
    }  # fmt: skip
    with pytest.raises(ValueError, match=r"^no finished run says how accurate it is by length$"):
        compare_lengths([made()])


def test_rows_of_one_variant_say_in_what_they_differ():
    def run(accuracy, length=2000, **options):
        bins = [{"from": 512, "to": 1023, "documents": 3, "accuracy": accuracy, "read": 1.0}]
        record = made(accuracy=accuracy, by_length=bins, max_length=length, **options)
        record["config"]["task"]["max_length"] = length
        record["config_hash"] += str(length)
        record["splits"]["test"] |= {"tokens": 1000, "truncated_tokens": 0}
        return record

    records = [run(0.9, lr=1e-2), run(0.7, lr=1e-2, seed=2), run(0.5), run(0.4, 512), run(0.3, feature_map="relu")]
    (grid,) = compare_lengths(records)
    assert [row[:4] for row in grid.rows] == [
        ["elu, lr=0.01", "2,000", "100%", "0.800"], ["elu, lr=0.001", "2,000", "100%", "0.500"],
        ["elu, lr=0.001", "512", "100%", "0.400"], ["relu", "2,000", "100%", "0.300"],
    ]  # fmt: skip
    assert [row["variant"] for row in grid.dicts] == [row[0] for row in grid.rows]


def test_a_table_that_is_too_wide_for_the_terminal_goes_on_below_itself():
    bins = [
        {"from": 2**p, "to": 2 ** (p + 1) - 1, "documents": 1000 * p, "accuracy": p / 32, "read": 1.0}
        for p in range(7, 17)
    ]
    run = made(feature_map="favor_hyperbolic", decay="selective", by_length=bins)
    run["splits"]["test"] |= {"tokens": 1000, "truncated_tokens": 0}
    grids = compare_lengths([run])
    out = io.StringIO()
    Console(file=out, width=80).print(grids_to_rich(grids, 80))
    lines = [line.split() for line in out.getvalue().splitlines()]
    assert max(map(len, out.getvalue().splitlines())) <= 80
    cells = [cell for line in lines if line[:1] == ["favor_hyperbolic+selective"] for cell in line[1:]]
    assert cells == grids[0].rows[0][1:]
    assert [line[0] for line in lines if line].count("variant") == 3
