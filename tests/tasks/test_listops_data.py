"""ListOps: notation, values, the generator against plain restatements of its rules, and reference lines."""

import random
from collections.abc import Iterator

import numpy as np
import pytest

from longdoc.tasks.listops_data import (
    PAD,
    SYMBOLS,
    Rows,
    decode,
    encode,
    evaluate,
    generate,
    references,
    to_lra,
)

# Values and expressions as published: the first 8 written by LRA's script, the others from Nangia & Bowman.
PUBLISHED = """
7  ( ( ( ( ( ( ( ( ( ( ( [MAX 4 ) ( ( ( ( ( ( ( [MIN 4 ) 4 ) 6 ) 9 ) 0 ) 0 ) ] ) ) 5 ) ( ( ( ( [MED 4 ) 3 )
   ( ( ( ( ( [MAX 7 ) 7 ) 3 ) 6 ) ] ) ) ] ) ) 2 ) 1 ) 0 ) 7 ) 2 ) 2 ) ] )

6  ( ( ( ( ( ( ( ( [MED 9 ) 6 ) ( ( ( ( ( ( ( ( [SM 2 ) 4 ) 2 ) 5 ) 2 ) 2 ) ( ( ( ( [MAX 9 ) 0 ) ( ( ( (
   [MAX 1 ) 9 ) 2 ) ] ) ) ] ) ) ] ) ) 1 ) ( ( ( ( ( ( ( ( ( [MAX 2 ) 4 ) 9 ) 7 ) ( ( ( ( [SM 5 ) 0 ) 5 ) ] )
   ) 8 ) 8 ) 2 ) ] ) ) 2 ) 7 ) ] )

7  ( ( ( ( ( ( ( ( ( [MAX 1 ) 0 ) 6 ) 3 ) 7 ) 6 ) ( ( ( ( ( ( ( [MAX 5 ) ( ( ( ( ( ( [MED 2 ) 3 ) 1 ) 0 ) 5
   ) ] ) ) 4 ) 2 ) 1 ) 4 ) ] ) ) 7 ) ] )

4  ( ( ( ( ( ( [MED 4 ) ( ( ( ( ( ( [MIN 0 ) 8 ) 9 ) ( ( ( ( ( ( ( ( [MED 3 ) 8 ) 3 ) 0 ) 3 ) 8 ) 3 ) ] ) )
   7 ) ] ) ) 9 ) 0 ) 5 ) ] )

1  ( ( ( ( [MIN 8 ) 1 ) ( ( ( ( ( ( ( ( [MAX 6 ) ( ( ( [MIN 9 ) 1 ) ] ) ) 1 ) 3 ) ( ( ( ( ( ( ( ( ( [MAX 5 )
   4 ) 6 ) 8 ) 6 ) 6 ) 4 ) 0 ) ] ) ) 3 ) 6 ) ] ) ) ] )

5  ( ( ( ( ( ( ( ( ( ( ( [SM 8 ) 2 ) 5 ) 2 ) 3 ) ( ( ( ( ( ( [SM 0 ) 0 ) 8 ) 8 ) 8 ) ] ) ) 8 ) 1 ) 3 ) ( ( (
   ( [MAX 9 ) 2 ) 8 ) ] ) ) ] )

3  ( ( ( ( [MED ( ( ( ( ( ( ( [SM ( ( ( [MED 6 ) 6 ) ] ) ) 7 ) 6 ) 0 ) ( ( ( [MIN 0 ) ( ( ( ( [MIN 8 ) 0 ) 7
   ) ] ) ) ] ) ) 4 ) ] ) ) 5 ) 2 ) ] )

2  ( ( ( ( ( [SM 1 ) 2 ) ( ( ( ( ( ( [MIN 1 ) 6 ) 9 ) 9 ) 7 ) ] ) ) ( ( ( ( ( ( ( [MAX ( ( ( ( ( ( ( [SM 8 )
   0 ) 3 ) ( ( ( ( [MED 4 ) 6 ) 5 ) ] ) ) 8 ) 4 ) ] ) ) 4 ) 5 ) 5 ) 5 ) 1 ) ] ) ) ] )

3  ( ( ( ( [MED ( ( ( ( ( ( [MED 9 ) 5 ) 5 ) 0 ) 3 ) ] ) ) 0 ) ( ( ( ( ( [MED 6 ) 3 ) 4 ) 1 ) ] ) ) ] )

9  ( ( ( ( [MED 9 ) 6 ) 9 ) ] )

4  ( ( ( [MED 1 ) ( ( ( ( [MAX 1 ) 7 ) 0 ) ] ) ) ] )

9  ( ( ( ( ( [MAX 9 ) ( ( ( [MAX 2 ) 8 ) ] ) ) 8 ) 9 ) ] )

1  ( ( ( ( ( [SM 0 ) ( ( ( [SM ( ( ( ( ( ( [MIN 1 ) 5 ) 4 ) 2 ) 7 ) ] ) ) 2 ) ] ) ) 8 ) 0 ) ] )

2  ( ( ( ( ( ( [MED 8 ) 2 ) 5 ) 2 ) 0 ) ] )

6  ( ( ( ( [MED 7 ) 6 ) ( ( ( [MED 2 ) ( ( ( ( [MED ( ( ( [MIN 6 ) 3 ) ] ) ) 3 ) 4 ) ] ) ) ] ) ) ] )
"""

SMALL = {"max_depth": 6, "min_length": 20, "max_length": 200}
OPERATORS = ("[MIN", "[MAX", "[MED", "[SM")

published = pytest.mark.parametrize(
    ("value", "source"),
    [(int(entry.split()[0]), " ".join(entry.split()[1:])) for entry in PUBLISHED.split("\n\n")],
    ids=range(PUBLISHED.count("\n\n") + 1),
)


def each_row(rows: Rows) -> Iterator[np.ndarray]:
    for start, end in zip(rows.offsets[:-1], rows.offsets[1:], strict=True):
        yield rows.ids[start:end]


def rows_of(*sources: str) -> Rows:
    ids = [encode(source) for source in sources]
    offsets = np.cumsum([0, *map(len, ids)])
    return Rows(np.concatenate(ids), offsets, np.array([evaluate(i) for i in ids], dtype=np.uint8))


@pytest.fixture(scope="module")
def small() -> dict[str, Rows]:
    return generate({"train": 3000, "validation": 500, "test": 500}, seed=7, **SMALL)


class TestNotation:
    def test_ids_are_the_symbols_in_order_and_leave_out_the_padding(self):
        assert encode(" ".join(SYMBOLS)).tolist() == list(range(1, 16))
        assert encode("").dtype == np.uint8
        assert PAD == 0

    @published
    def test_published_strings_come_back_in_both_forms(self, value, source):
        ids = encode(source)
        plain = " ".join(token for token in source.split() if token not in "()")
        assert decode(ids) == plain
        assert to_lra(ids) == source
        assert np.array_equal(encode(plain), ids)

    def test_generated_rows_come_back(self, small):
        for ids in each_row(small["test"]):
            assert np.array_equal(encode(decode(ids)), ids)
            assert np.array_equal(encode(to_lra(ids)), ids)

    def test_simplest_forms(self):
        assert to_lra(encode("[MAX 4 3 ]")) == "( ( ( [MAX 4 ) 3 ) ] )"
        assert to_lra(encode("7")) == decode(encode("7")) == "7"

    def test_padding_at_the_end_is_dropped(self):
        ids = np.concatenate([encode("[MAX 4 [MIN 2 3 ] ]"), np.zeros(5, dtype=np.uint8)])
        assert decode(ids) == "[MAX 4 [MIN 2 3 ] ]"
        assert evaluate(ids) == 4

    @pytest.mark.parametrize(
        ("source", "token", "position"),
        [("( [MAX 4 ) 3]", "3]", 4), ("[AVG 1 2 ]", "[AVG", 0), ("10", "10", 0)],
    )
    def test_unknown_token_is_named(self, source, token, position):
        with pytest.raises(ValueError, match="unknown ListOps token") as error:
            encode(source)
        assert repr(token) in str(error.value)
        assert str(error.value).endswith(f"position {position}")

    @pytest.mark.parametrize("ids", [[12, 5, 0, 5, 15], [16], [-1], [[1, 2]]])
    def test_what_is_no_row_of_ids_is_refused(self, ids):
        with pytest.raises(ValueError, match="expected a row of ListOps ids"):
            decode(ids)


class TestEvaluate:
    @published
    def test_published_values(self, value, source):
        assert evaluate(encode(source)) == value

    @pytest.mark.parametrize(
        ("source", "value"),
        [
            ("5", 5),
            ("[MED 1 2 ]", 1),
            ("[MED 0 9 ]", 4),
            ("[MED 9 0 5 ]", 5),
            ("[MED 1 8 4 6 ]", 5),
            ("[SM 9 9 9 ]", 7),
            ("[SM 5 5 ]", 0),
            ("[MIN 3 [MAX 0 9 ] ]", 3),
            ("[MAX [MIN [SM 8 8 ] 7 ] [MED 2 3 ] ]", 6),
        ],
    )
    def test_values_by_hand(self, source, value):
        assert evaluate(encode(source)) == value

    @pytest.mark.parametrize(
        ("source", "complaint"),
        [
            ("", "ends with 0 lists open"),
            ("[MAX 1 2", "ends with 1 lists open"),
            ("[MAX 1 [MIN 2 ]", "ends with 1 lists open"),
            ("]", "position 0 was never opened"),
            ("1 2", "ended before position 1"),
            ("[MAX 1 2 ] ]", "ended before position 4"),
            ("[MAX 1 2 ] 3", "ended before position 4"),
            ("[MAX 1 [MIN ] ]", "position 3 has no arguments"),
        ],
    )
    def test_malformed_expressions_are_refused(self, source, complaint):
        for function in (evaluate, to_lra):
            with pytest.raises(ValueError, match=complaint):
                function(encode(source))


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


class TestReferences:
    def test_values_by_hand(self):
        train = rows_of("[MAX 9 1 ]", "[MAX 9 2 ]", "[MAX 5 5 ]", "[MIN 3 4 ]", "[MIN 3 5 ]", "[MIN 3 7 ]")
        test = rows_of(
            "[MAX 9 [MIN 2 3 ] ]",  # 9: all but the majority, 3
            "[MAX 2 [MAX 4 [MIN 6 7 ] ] ]",  # 6: none
            "[MIN 3 8 ]",  # 3: all
            "[MIN [SM 1 [MAX 1 2 ] ] 5 ]",  # 3: majority and root
            "[MAX [MAX 8 1 ] [MIN 8 2 ] ]",  # 8: two levels; the root has no digits, so one level says 9
            "[MIN [MAX [SM 2 2 ] [SM 1 1 ] ] [SM [SM 1 2 ] [SM 1 2 ] ] ]",  # 4: none; no digits in two levels
            "[SM 1 1 ]",  # 2: both levels; the root was never seen, so its line says 3
            "[SM [MAX 1 2 ] [SM 1 0 ] ]",  # 3: all, since the root has no digits and one level falls back
        )
        assert test.labels.tolist() == [9, 6, 3, 3, 8, 4, 2, 3]
        assert references(train, test) == {
            "majority": 3 / 8,
            "root_operator": 4 / 8,
            "one_level": 4 / 8,
            "two_levels": 5 / 8,
        }

    def test_lines_on_lra_rows(self):
        splits = generate({"train": 4000, "test": 2000}, seed=2)
        lines = references(splits["train"], splits["test"])
        # Known values, from far more rows; 0.045 is four standard errors of 2,000.
        known = {"majority": 0.170, "root_operator": 0.363, "one_level": 0.480, "two_levels": 0.674}
        assert lines == pytest.approx(known, abs=0.045)

    def test_splits_without_rows_are_refused(self, small):
        empty = generate({"none": 0}, seed=0)["none"]
        with pytest.raises(ValueError, match="train has none"):
            references(empty, small["test"])
        with pytest.raises(ValueError, match="test has none"):
            references(small["train"], empty)
