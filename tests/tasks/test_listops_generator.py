"""The ListOps generator against plain restatements of its rules."""

import random

import numpy as np
import pytest
from expressions import SMALL, each_row, small_splits

from longdoc.tasks.listops_generator import generate
from longdoc.tasks.listops_language import SYMBOLS, Rows, decode, encode, evaluate

OPERATORS = ("[MIN", "[MAX", "[MED", "[SM")


@pytest.fixture(scope="module")
def small() -> dict[str, Rows]:
    return small_splits()


def draw(rng: random.Random, depth: int = 1) -> tuple[str, int]:
    """LRA's own recursion, with the limits of SMALL: an expression and its length."""
    if depth == SMALL["max_depth"] or rng.random() > 0.25:
        return str(rng.randint(0, 9)), 1
    arguments = [draw(rng, depth + 1) for _ in range(rng.randint(2, 10))]
    expression = " ".join([rng.choice(OPERATORS), *(a for a, _ in arguments), "]"])
    return expression, 2 + sum(length for _, length in arguments)


def length_distribution(max_depth: int, max_args: int, max_length: int) -> np.ndarray:
    """Probability of each length below `max_length`, by convolution from the deepest level up."""
    digit = np.eye(max_length)[1]
    node = digit
    for _ in range(max_depth - 1):
        together, mixture = np.eye(max_length)[0], np.zeros(max_length)
        for arguments in range(1, max_args + 1):
            together = np.convolve(together, node)[:max_length]
            if arguments >= 2:
                mixture += together / (max_args - 1)
        node = 0.75 * digit + 0.25 * np.concatenate([[0, 0], mixture[:-2]])
    return node


def assert_same_shares(a: np.ndarray, b: np.ndarray, classes: int) -> None:
    """Two-sample chi-square test; the limit is passed by chance about once in 10,000 times."""
    counts = np.array([np.bincount(a, minlength=classes), np.bincount(b, minlength=classes)], dtype=float)
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / counts.sum()
    freedom = classes - 1
    assert ((counts - expected) ** 2 / expected).sum() < freedom + 4 * np.sqrt(2 * freedom) + 7


class TestGenerate:
    def test_result_has_the_sizes_and_types_asked_for(self, small):
        assert {name: len(rows.labels) for name, rows in small.items()} == {
            "train": 3000,
            "validation": 500,
            "test": 500,
        }
        for rows in small.values():
            assert (rows.ids.dtype, rows.offsets.dtype, rows.labels.dtype) == (np.uint8, np.int64, np.uint8)
            assert len(rows.offsets) == len(rows.labels) + 1
            assert (rows.offsets[0], rows.offsets[-1]) == (0, len(rows.ids))

    def test_labels_are_the_values(self, small):
        for rows in small.values():
            assert [evaluate(ids) for ids in each_row(rows)] == rows.labels.tolist()

    def test_length_bounds_are_strict_and_reached(self):
        rows = generate({"all": 2000}, seed=0, min_length=20, max_length=30)["all"]
        assert set(np.diff(rows.offsets).tolist()) == set(range(21, 30))

    def test_rows_are_distinct_over_all_splits(self, small):
        texts = [ids.tobytes() for rows in small.values() for ids in each_row(rows)]
        assert len(set(texts)) == len(texts) == 4000

    def test_depth_and_arguments_are_limited(self):
        rows = generate({"all": 500}, seed=0, max_depth=3, max_args=4, min_length=5, max_length=500)["all"]
        depths, most = set(), 0
        for ids in each_row(rows):
            arguments: list[int] = []
            deepest = 0
            for symbol in decode(ids).split():
                if symbol == "]":
                    most = max(most, arguments.pop())
                    continue
                if arguments:
                    arguments[-1] += 1
                deepest = max(deepest, len(arguments) + 1)
                if symbol in OPERATORS:
                    arguments.append(0)
            depths.add(deepest)
        assert depths == {2, 3}
        assert most == 4

    def test_result_depends_on_the_seed_and_not_on_the_processes(self):
        def flat(**options):
            splits = generate({"train": 1500, "test": 100}, **(SMALL | {"seed": 3} | options))
            return [array.tolist() for rows in splits.values() for array in rows]

        alone = flat()
        assert flat(processes=1) == alone
        assert flat(processes=2) == alone
        assert flat(seed=4) != alone

    def test_all_of_a_finite_set_is_found_and_not_more(self):
        short = {"seed": 0, "min_length": 1, "max_length": 5}  # an operator with two digits: 4 * 10 * 10
        splits = generate({"train": 300, "test": 100}, **short)
        assert {decode(ids) for rows in splits.values() for ids in each_row(rows)} == {
            f"{operator} {a} {b} ]" for operator in OPERATORS for a in range(10) for b in range(10)
        }
        with pytest.raises(ValueError, match="found only 400 of 401"):
            generate({"train": 401}, **short)

    def test_distribution_is_that_of_the_plain_recursion(self, small):
        rng = random.Random(1)
        plain = [row for row in (draw(rng) for _ in range(25_000)) if 20 < row[1] < 200]
        assert len(plain) > 2000
        train = small["train"]
        lengths, expected = np.diff(train.offsets), np.array([length for _, length in plain])
        error = np.sqrt(lengths.var() / len(lengths) + expected.var() / len(expected))
        assert abs(lengths.mean() - expected.mean()) < 4 * error
        encoded = [encode(text) for text, _ in plain]
        assert_same_shares(train.labels, np.array([evaluate(ids) for ids in encoded]), 10)
        roots = np.array([ids[0] for ids in encoded])
        assert_same_shares(train.ids[train.offsets[:-1]] - 11, roots - 11, len(OPERATORS))
        seconds = np.array([ids[1] for ids in encoded])
        assert_same_shares(train.ids[train.offsets[:-1] + 1] - 1, seconds - 1, len(SYMBOLS) - 1)

    def test_lengths_at_the_default_rules_follow_their_exact_distribution(self):
        lengths = np.diff(generate({"train": 3000}, seed=5)["train"].offsets)
        kept = length_distribution(10, 10, 2000)[501:]
        assert kept.sum() == pytest.approx(0.0828, abs=1e-4)  # LRA's share of trees that are kept
        kept /= kept.sum()
        cumulated = np.cumsum(np.bincount(lengths - 501, minlength=len(kept))) / len(lengths)
        assert np.abs(cumulated - np.cumsum(kept)).max() < 2 / np.sqrt(len(lengths))  # Kolmogorov-Smirnov

    def test_progress_ends_with_all_rows(self):
        calls = []
        generate({"a": 900, "b": 700}, seed=0, progress=lambda done, total: calls.append((done, total)))
        assert len(calls) > 1
        assert calls == sorted(calls)
        assert calls[-1] == (1600, 1600)

    def test_empty_splits(self):
        splits = generate({"train": 0, "test": 3}, seed=0, **SMALL)
        assert (len(splits["train"].ids), splits["train"].offsets.tolist()) == (0, [0])
        assert len(splits["test"].labels) == 3
        assert generate({}, seed=0) == {}

    @pytest.mark.parametrize(
        ("options", "complaint"),
        [
            ({"sizes": {"train": 5, "test": -1}}, "sizes\\['test'\\] must be at least 0"),
            ({"seed": -1}, "seed must be"),
            ({"max_depth": 1}, "max_depth must be at least 2"),
            ({"max_args": 1}, "max_args must be at least 2"),
            ({"min_length": 0}, "min_length must be at least 1"),
            ({"min_length": 50, "max_length": 50}, "min_length 50 must be less than max_length 50"),
            ({"processes": 0}, "processes must be"),
            ({"min_length": 50, "max_length": 51}, "no ListOps expression"),
            ({"min_length": 2, "max_length": 4}, "no ListOps expression"),
            ({"max_depth": 3, "max_args": 3}, "no ListOps expression"),
            (
                {"max_args": 2, "min_length": 4, "max_length": 7},
                "found only 0 of 5",
            ),  # lengths are 1, 4, 7, ...
        ],
    )
    def test_impossible_requests_are_refused(self, options, complaint):
        with pytest.raises(ValueError, match=complaint):
            generate(**({"sizes": {"train": 5}, "seed": 0} | options))
