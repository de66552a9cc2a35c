"""Scored checkpoints in the terminal."""

from rich.console import Console

from longdoc.results.summary import reading, short_names, summary_table


def test_names_are_what_tells_paths_apart():
    runs = [f"outputs/books/2026-11-2{i}/checkpoints/best.ckpt" for i in (8, 9)]
    assert short_names(runs) == ["2026-11-28", "2026-11-29"]
    assert short_names([runs[0], runs[0]]) == ["best.ckpt", "best.ckpt"]
    assert short_names([runs[0], runs[0].replace("best", "last")]) == ["best.ckpt", "last.ckpt"]
    assert short_names([*runs, "outputs/books/gone.ckpt"]) == ["2026-11-28", "2026-11-29", "gone.ckpt"]
    both = [*runs, runs[0].replace("best", "last")]
    assert short_names(both)[1:] == ["2026-11-29", "2026-11-28/checkpoints/last.ckpt"]
    assert short_names(["a/b", "a/b/c"]) == ["b", "b/c"]
    assert short_names(["a.ckpt"]) == ["a.ckpt"]


def test_a_reading_in_words():
    assert reading({"truncation": "none", "max_length": None}) == "whole"
    assert reading({"truncation": "head+tail", "max_length": 4096}) == "head+tail 4,096"
    assert reading({"truncation": "windows", "max_length": None}) == "windows"  # as in training, of one that failed


def test_each_checkpoint_is_a_line_also_one_that_failed():
    good = {
        "error": None, "variant": "elu+selective", "tokens_per_second": 1234.5,
        "metrics": {"val/accuracy": 0.5, "val/f1_macro": 0.25},
        "intervals": {"val/accuracy": {"low": 0.4, "high": 0.6, "method": "Wilson"}},
    }  # fmt: skip
    tokens = good | {"intervals": {}, "metrics": {"val/accuracy": 0.75, "val/f1_macro": float("nan")}}
    records = [good, {"error": "broken.ckpt is not a checkpoint of longdoc (EOFError)"}, tokens]
    console = Console(width=80, record=True)
    console.print(summary_table(records, ["one", "two", "three"], "val"))
    lines = [line.split() for line in console.export_text().splitlines()]
    assert lines[1:] == [
        ["one", "elu+selective", "0.500", "0.400", "to", "0.600", "0.250", "1,234"],
        ["two", "failed"],
        ["three", "elu+selective", "0.750", "nan", "1,234"],
        ["two:", "broken.ckpt", "is", "not", "a", "checkpoint", "of", "longdoc", "(EOFError)"],
    ]
